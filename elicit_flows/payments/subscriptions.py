"""A subscription after its first payment: its renewals, its state, and the entitlement that follows it.

Everything is derived from what the provider says when it is asked, in whatever order the answers arrive. A paid
renewal stays paid, and an ended subscription stays ended. What can go both ways, a cancellation, is taken from the
answer to the latest question.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from elicit_flows import events
from elicit_flows.domain.values import Json
from elicit_flows.kinds.payment.values import ENDS, SUCCESSES, InvoiceSeen, Snapshot
from elicit_flows.lib import clock
from elicit_flows.models import Cancellation, Payment, Renewal, Subscription
from elicit_flows.payments import entitlements, invoices, price_changes

Status = Subscription.Status
_UNPAID = (Renewal.Status.OPEN, Renewal.Status.FAILED)


def begin(payment: Payment, said: Snapshot) -> Subscription:
    """The first period is paid, or the trial has begun. Call it in the transaction that marks the payment as active."""
    return Subscription.objects.create(
        agent=payment.agent,
        account=payment.account,
        payment=payment,
        iss=payment.iss,
        sub=payment.sub,
        ref=said.payment_ref or "",
        amount=payment.amount,
        period_end=said.period_end,
        trial_ends_at=said.period_end if payment.trial_days else None,
        created_at=payment.paid_at or clock.now(),
    )


def sync(payment: Payment, said: Snapshot) -> Iterator[tuple[str, str]]:
    """Apply what the provider says of the subscription, and tell each change once. The payment must be locked.

    Yields what a person has to look at, as a code and a sentence: consume it.
    """
    if payment.status != Payment.Status.ACTIVE:
        return
    row = Subscription.objects.select_for_update().filter(payment=payment).first() or begin(payment, said)
    row.payment, row.account, row.agent = payment, payment.account, payment.agent
    told = row.ends_at is not None
    if said.state in SUCCESSES:
        # The period is never shortened: a snapshot with an earlier end is older.
        if said.period_end and (row.period_end is None or said.period_end > row.period_end):
            row.period_end = said.period_end
        yield from _priced(row, said)
        _take_cancellation(row, said)
    for one in said.invoices:
        if not one.first:
            yield from _renewed(row, one)
    _take_state(row)
    row.save()
    payment.period_end, payment.ends_at = row.period_end, row.ends_at
    payment.save(update_fields=["period_end", "ends_at"])
    if said.state in ENDS - SUCCESSES:
        row.status, row.past_due_since, row.ended_at = Status.ENDED, None, said.period_end or clock.now()
        row.cancelled_by = row.cancelled_by or _canceller(row)
        row.save(update_fields=["status", "past_due_since", "ended_at", "cancelled_by"])
        payment.status = Payment.Status.ENDED
        payment.save(update_fields=["status"])
        entitlements.end(payment, said.period_end)
        _tell(row, "payment.ended")
    elif row.ends_at and not told:
        _tell(row, "payment.unsubscribed")
    elif told and row.ends_at is None:
        events.publish(row.agent, "subscription.resumed", {"subscription": row.summary()}, payment.elicitation)


def _priced(row: Subscription, said: Snapshot) -> Iterator[tuple[str, str]]:
    """Tell once that it costs something else at the provider than its person agreed to, or for another period.

    Only the answer to the latest question counts: an earlier one may have the price from before a change.
    """
    seen, bought = f"{said.price} {said.interval}", row.payment
    latest = said.asked_at is not None and (row.seen_at is None or said.asked_at > row.seen_at)
    if said.price is None or not latest or seen == row.price_seen:
        return
    row.price_seen = seen
    agreed = price_changes.agreed_prices(row, clock.now())
    if said.price not in agreed or said.interval not in (None, bought.interval):
        there = f"{said.price} {bought.currency} for each {said.interval or 'period'}"
        yield (
            "price",
            f"The subscription costs {there} at the provider, agreed was {row.amount} for each {bought.interval}.",
        )


def _take_cancellation(row: Subscription, said: Snapshot) -> None:
    """Whether it is cancelled, whoever did it. An answer to an earlier question says nothing new.

    A snapshot without a time may be older, so it does not take a cancellation back. A renewal after the planned end
    does.
    """
    if said.asked_at is None:
        row.ends_at = said.ends_at or row.ends_at
        if said.ends_at is None and row.ends_at and row.period_end and row.period_end > row.ends_at:
            row.ends_at = None
    elif row.seen_at is None or said.asked_at > row.seen_at:
        row.seen_at, row.ends_at = said.asked_at, said.ends_at
    if row.ends_at is None:
        row.cancelled_by = ""
    elif not row.cancelled_by:
        row.cancelled_by = _canceller(row)


def _canceller(row: Subscription) -> str:
    """Who asked for it here; otherwise it was done at the provider."""
    asked = Cancellation.objects.filter(payment=row.payment).first()
    return asked.by if asked else Subscription.By.PROVIDER.value


def _renewed(row: Subscription, seen: InvoiceSeen) -> Iterator[tuple[str, str]]:
    """Record a renewal once, and tell once that it was refused and once that it is paid."""
    renewal = Renewal.objects.filter(subscription=row, ref=seen.ref).first()
    if renewal is not None and (renewal.status == Renewal.Status.PAID or seen.state == "open"):
        return
    if renewal is not None and renewal.status == Renewal.Status.VOID and seen.state != "paid":
        return  # an older answer
    refused = renewal is not None and renewal.status == Renewal.Status.FAILED
    renewal = renewal or Renewal(subscription=row, ref=seen.ref)
    renewal.amount, renewal.currency, renewal.status = seen.amount, seen.currency, Renewal.Status(seen.state)
    renewal.period_start, renewal.period_end = seen.starts_at, seen.ends_at
    renewal.tries, renewal.receipt_url = max(renewal.tries, seen.tries), seen.url or ""
    if seen.pdf and invoices.is_providers(row.account, seen.pdf):
        renewal.invoice_pdf = seen.pdf
    if renewal.status == Renewal.Status.PAID:
        renewal.paid_at = clock.now()
        if row.period_end is None or seen.ends_at > row.period_end:
            row.period_end = seen.ends_at
    renewal.save()
    _take_state(row)
    data = {"subscription": row.summary(), "renewal": renewal.summary()}
    if renewal.status == Renewal.Status.PAID:
        events.publish(row.agent, "subscription.renewed", data, row.payment.elicitation)
        agreed = max(price_changes.agreed_prices(row, seen.starts_at))
        if seen.currency != row.payment.currency or seen.amount > agreed:
            told = f"The renewal {seen.ref} was charged as {seen.amount} {seen.currency}"
            yield "renewal", f"{told}, agreed was {agreed} {row.payment.currency}."
    elif renewal.status == Renewal.Status.FAILED and not refused:
        events.publish(row.agent, "subscription.past_due", data, row.payment.elicitation)


def _take_state(row: Subscription) -> None:
    """Active or past due, by its renewals; and how long what was bought may be used."""
    due = [
        one for one in row.renewals.filter(status__in=_UNPAID) if not row.period_end or one.period_end > row.period_end
    ]
    refused = any(one.status == Renewal.Status.FAILED for one in due)
    row.status = Status.PAST_DUE if refused else Status.ACTIVE
    row.past_due_since = (row.past_due_since or clock.now()) if refused else None
    until: datetime | None = row.period_end
    if until and due and row.ends_at is None:
        until += timedelta(days=row.account.renewal_grace)
    entitlements.extend(row.payment, until)


def _tell(row: Subscription, type: str) -> None:
    data: Json = {"payment": row.payment.summary(), "subscription": row.summary()}
    events.publish(row.agent, type, data, row.payment.elicitation)
