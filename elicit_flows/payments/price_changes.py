"""Another price for the later periods of a subscription: asked for by its agent, agreed to by its person, and told to
the provider until it confirms. Nothing is changed at the provider before the person has agreed.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db.models import Q

from elicit_flows import events
from elicit_flows.domain.errors import Invalid
from elicit_flows.domain.values import Claim, Json
from elicit_flows.job_table import PAYMENTS
from elicit_flows.kinds.payment.values import SUCCESSES, Snapshot
from elicit_flows.lib import clock
from elicit_flows.lib.backoff import RetrySchedule
from elicit_flows.models import Agent, Checkout, Elicitation, Payment, PriceChange, Subscription, leases
from elicit_flows.payments import queries

RETRIES = RetrySchedule.doubling(timedelta(seconds=1), timedelta(hours=6))
_AGREED = Q(try_at__isnull=False) | Q(done_at__isnull=False)


def fill(agent: Agent, claim: Claim, asked: Json) -> None:
    """Complete the parameters of a change with what stays as it is. Raises Invalid if the price cannot be changed."""
    row = queries.subscriptions_of(agent).filter(pk=asked["changes"], iss=claim.iss, sub=claim.sub).first()
    if row is None:
        raise Invalid.at("params.changes", "This person has no such subscription for this agent.")
    obstacle, bought = _obstacle(row), row.payment
    if obstacle:
        raise Invalid.at("params.changes", obstacle)
    if asked["currency"] != bought.currency:
        raise Invalid.at("params.currency", f"It is charged in {bought.currency}, and a change keeps the currency.")
    if asked["account"] not in (None, row.account.slug):
        raise Invalid.at(
            "params.account", f"It is charged by account {row.account.slug!r}; name that, or leave it out."
        )
    if asked["amount"] == row.amount:
        raise Invalid.at("params.amount", "It costs that already.")
    asked |= {
        "account": row.account.slug,
        "description": bought.description,
        "interval": bought.interval,
        "item": bought.item or None,
        "uses": bought.uses,
        "previous_amount": row.amount,
    }


def _obstacle(row: Subscription) -> str:
    """Why its price cannot be changed now, in one sentence; "" if it can."""
    if row.status == Subscription.Status.ENDED:
        return "This subscription has ended."
    if row.ends_at or hasattr(row.payment, "cancellation"):
        return "This subscription is cancelled, and is not charged any more."
    if row.status == Subscription.Status.PAST_DUE:
        return "A renewal of this subscription is not paid. Ask again once it is."
    if row.price_changes.filter(try_at__isnull=False).exists():
        return "Another change of its price is under way. Ask again once it is made."
    return ""


def expect(row: Elicitation) -> None:
    """Record what is asked for, in the transaction that creates the elicitation."""
    asked = row.params
    PriceChange.objects.create(
        subscription_id=asked["changes"], elicitation=row, was=asked["previous_amount"], amount=asked["amount"]
    )


def agree(row: Elicitation) -> PriceChange:
    """Record that the person has agreed, in a transaction. ``problem`` says why it cannot be changed any more.

    It is locked with the payment, so that only one change of a subscription is under way.
    """
    change = PriceChange.objects.select_related("subscription").get(elicitation=row)
    Payment.objects.select_for_update().get(pk=change.subscription.payment_id)
    change = PriceChange.objects.select_related("subscription__account", "subscription__payment").get(pk=change.pk)
    if change.agreed_at:
        return change
    change.problem = _obstacle(change.subscription)
    if not change.problem and change.subscription.amount != change.was:
        change.problem = "The price of this subscription was changed meanwhile."
    if not change.problem:
        change.agreed_at = change.try_at = clock.now()
    change.save()
    return change


def due(account: int, limit: int) -> Iterable[PriceChange]:
    """The changes of this account that the provider has to be told of, oldest first."""
    rows = PriceChange.objects.filter(subscription__account=account, try_at__lte=clock.now())
    return rows.select_related("subscription__account", "subscription__payment").order_by("try_at")[:limit]


def claim(change: PriceChange) -> bool:
    """Claim the next attempt. One of several workers gets it, and nobody who asks again meanwhile."""
    now = clock.now()
    if change.try_at is None or change.try_at > now:
        return False
    return leases.claim(change, "try_at", tries=change.tries + 1, try_at=now + PAYMENTS.lease)


def checkout_of(change: PriceChange) -> Checkout:
    """The checkout that began the subscription."""
    paid = change.subscription.payment.checkouts.filter(status=Checkout.Status.PAID, surplus=False, replaces=None)
    return paid.select_related("account").earliest("created_at")


def later(change: PriceChange, problem: str) -> None:
    """Schedule the next attempt. There is no last one: the person has agreed, and the provider may have done it."""
    leases.held(change, "try_at").update(try_at=clock.now() + RETRIES.pause(change.tries), problem=problem[:500])


def refused(change: PriceChange, problem: str) -> bool:
    """The provider changes nothing. Returns whether this call has recorded it."""
    return leases.held(change, "try_at").update(try_at=None, problem=problem[:500]) > 0


def made(change: PriceChange, said: Snapshot) -> bool:
    """Record the new price, once, if the provider says that it is so. The payment must be locked."""
    if said.state not in SUCCESSES or said.price != change.amount:
        return False
    now = clock.now()
    if PriceChange.objects.filter(pk=change.pk, done_at=None).update(done_at=now, try_at=None, problem=""):
        change.refresh_from_db()
        row = Subscription.objects.select_related("agent", "account", "payment__elicitation").get(
            pk=change.subscription_id
        )
        row.amount = change.amount
        row.save(update_fields=["amount"])
        data = {"subscription": row.summary(), "change": change.summary()}
        events.publish(row.agent, "subscription.price_changed", data, row.payment.elicitation)
    return True


def agreed_prices(row: Subscription, at: datetime) -> set[int]:
    """What a period that begins then may cost: what its person had agreed to. Two prices while a change is made."""
    later = row.price_changes.filter(_AGREED).filter(Q(done_at=None) | Q(done_at__gte=at)).order_by("agreed_at").first()
    if later is None or later.agreed_at is None:
        return {row.amount}
    return {later.was, later.amount} if later.agreed_at <= at else {later.was}
