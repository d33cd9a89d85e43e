"""Applies what the provider says. Only this module decides whether a payment is paid."""

from __future__ import annotations

import logging
from enum import StrEnum

from elicit_flows import events
from elicit_flows.kinds.payment import order
from elicit_flows.kinds.payment.values import ENDS, SUCCESSES, Snapshot, State
from elicit_flows.lib import clock
from elicit_flows.models import Checkout, Mandate, Payment
from elicit_flows.payments import (
    cancellations,
    checkouts,
    customers,
    disputes,
    entitlements,
    invoices,
    refunds,
    subscriptions,
)

log = logging.getLogger(__name__)
Status = Payment.Status
_UNPAID = (Status.OPEN, Status.PROCESSING, Status.CLOSED)
WON = {State.PAID: Status.PAID, State.SAVED: Status.SAVED, State.ACTIVE: Status.ACTIVE}
OF_MODE = {
    "pay": State.PAID,
    "save": State.SAVED,
    "subscribe": State.ACTIVE,
    "mandate": State.SAVED,
    "charge": State.PAID,
}


class Verdict(StrEnum):
    """What the snapshot means for the elicitation."""

    NOTHING = "nothing"
    PROCESSING = "processing"
    PAID = "paid"  # as requested, and for the first time
    OVER = "over"  # this checkout was not paid; the user may try again
    MISMATCH = "mismatch"


def locked(checkout: Checkout) -> tuple[Payment, Checkout]:
    """Both rows, locked in the caller's transaction, so that one snapshot is applied at a time."""
    payment = Payment.objects.select_for_update().get(pk=checkout.payment_id)
    return payment, Checkout.objects.select_related("account").get(pk=checkout.pk)


def apply(payment: Payment, checkout: Checkout, said: Snapshot) -> Verdict:
    """Record what the snapshot says about this checkout. Both rows must be locked. Safe to repeat.

    Snapshots may arrive in any order: each is a state at its time, and an older one never takes back a success.
    """
    if checkout.status in (Checkout.Status.PAID, Checkout.Status.OVER) and said.state not in SUCCESSES:
        return Verdict.NOTHING
    if said.state in SUCCESSES:
        return _won(payment, checkout, said)
    if said.state is State.PROCESSING:
        _put(checkout, Checkout.Status.PROCESSING)
        changed = Payment.objects.filter(pk=payment.pk, status=Status.OPEN).update(status=Status.PROCESSING)
        return Verdict.PROCESSING if changed else Verdict.NOTHING
    if said.state in ENDS:
        _put(checkout, Checkout.Status.OVER)
        Payment.objects.filter(pk=payment.pk, status=Status.PROCESSING).update(status=Status.OPEN)
        return Verdict.OVER
    return Verdict.NOTHING


def follow(payment: Payment, checkout: Checkout, said: Snapshot) -> None:
    """Record what happened to money after it arrived. Call it after the elicitation was told of the payment."""
    if checkout.status != Checkout.Status.PAID:
        return
    refunds.sync(payment, said)
    if (said.payment_ref or "") == payment.payment_ref:  # otherwise it is a second payment, which is refunded
        disputes.sync(payment, said)
        invoices.sync(payment, said)
        for code, problem in subscriptions.sync(payment, said):
            alert(payment, code, problem)
    checkouts.schedule_next_check(payment, checkout, said)


def _won(payment: Payment, checkout: Checkout, said: Snapshot) -> Verdict:
    if checkout.status == Checkout.Status.PAID:
        return Verdict.NOTHING
    _put(checkout, Checkout.Status.PAID)
    problem = difference(payment, checkout, said)
    if problem:
        # Record a payment that differs from the request. It is never a success and always reported. A person or the
        # account's policy decides about the money. Another currency is always left to a person, because refunds are
        # counted in the requested currency.
        unpaid = Payment.objects.filter(pk=payment.pk, status__in=_UNPAID)
        first = unpaid.update(status=Status.MISMATCH, payment_ref=said.payment_ref or "")
        alert(payment, "mismatch", f"A payment arrived, but {problem}.")
        if not first and payment.mode == "subscribe":  # the first subscription goes on, and this one is ended
            checkout.surplus = True
            checkout.save(update_fields=["surplus"])
        elif payment.trial_days and said.payment_ref:
            # Nothing came that a person could decide about, and after the trial another price would be charged.
            cancellations.ask(payment, Mandate.By.POLICY, at_once=True)
        by_itself = payment.account.refund_mismatch and said.currency == payment.currency
        if by_itself and said.payment_ref and said.amount:
            refunds.give_back(payment, said.payment_ref, said.amount, "The payment differs from the request.")
        return Verdict.MISMATCH
    if payment.status not in _UNPAID:
        return _again(payment, checkout, said)
    payment.status, payment.paid_at = WON[said.state], clock.now()
    payment.payment_ref, payment.receipt_url = said.payment_ref or "", said.receipt_url or ""
    if payment.max_amount is not None:
        payment.amount, payment.tax = said.amount, said.tax
    payment.save(update_fields=["status", "paid_at", "payment_ref", "receipt_url", "amount", "tax"])
    entitlements.grant(payment, said)
    if payment.mode == "subscribe":
        subscriptions.begin(payment, said)
    customers.remember(payment, said)
    return Verdict.PAID


def difference(payment: Payment, checkout: Checkout, said: Snapshot) -> str:
    """The differences between the snapshot and what was requested; "" if there are none."""
    due = payment.due_at_once
    amounts = [(said.amount == due, f"the amount is {said.amount}, asked was {due}")]
    if payment.max_amount is not None:
        # The provider computes the tax: the lines and a tax, and no more than the person agreed to.
        net, untaxed = order.subtotal(payment.order or {"lines": []}), said.amount - (said.tax or 0)
        amounts = [
            (said.tax is not None and said.tax >= 0, f"the tax is {said.tax}"),
            (untaxed == net, f"without tax the amount is {untaxed}, not {net}"),
            (not above_maximum(payment, said), f"the amount is {said.amount}, agreed was at most {payment.max_amount}"),
        ]
    differing = [
        (said.our_id == checkout.id, f"the provider's page names {said.our_id!r}, not this checkout"),
        (said.livemode == checkout.account.livemode, f"livemode is {said.livemode}, not as the account's"),
        (said.currency == payment.currency, f"the currency is {said.currency}, asked was {payment.currency}"),
        *amounts,
        (
            not payment.trial_days or said.price == payment.amount,
            f"after the trial it costs {said.price}, asked was {payment.amount}",
        ),
        (said.state is OF_MODE[payment.mode], f"the outcome is {said.state}, asked was to {payment.mode}"),
    ]
    return "; ".join(problem for same, problem in differing if not same)


def above_maximum(payment: Payment, said: Snapshot) -> bool:
    """Whether the provider's tax makes it more than the person agreed to."""
    return payment.max_amount is not None and said.amount > payment.max_amount


def _again(payment: Payment, checkout: Checkout, said: Snapshot) -> Verdict:
    """The same thing was paid twice: refund the second payment, and end the second subscription."""
    if payment.mode == "subscribe":
        checkout.surplus = True
        checkout.save(update_fields=["surplus"])
    if payment.trial_days:
        alert(payment, "twice", f"A second trial has begun ({said.payment_ref}): it is ended before it is charged.")
        return Verdict.NOTHING
    alert(payment, "twice", f"Paid a second time ({said.payment_ref}): the second payment is refunded.")
    if said.payment_ref and said.amount:
        refunds.give_back(payment, said.payment_ref, said.amount, "Paid twice.")
    return Verdict.NOTHING


def paid_late(payment: Payment, said: Snapshot) -> None:
    """It was paid after its elicitation was over: refund what is left, unless the account keeps late payments. A method
    that was saved for a mandate is removed.
    """
    if payment.mode == "mandate":
        alert(payment, "late", "Agreed to after the elicitation was over: the saved method is removed.")
        cancellations.ask(payment, Mandate.By.POLICY)
        return
    if payment.account.keep_late:
        alert(
            payment, "late", "Paid after the elicitation was over: the payment is kept, as its account is configured."
        )
        return
    if payment.trial_days:
        alert(payment, "late", "Begun after the elicitation was over: the subscription is ended within its trial.")
        entitlements.revoke(payment)
        cancellations.ask(payment, Mandate.By.POLICY, at_once=True)
        return
    entitlements.revoke(payment)
    if payment.mode == "save":
        alert(payment, "late", "Saved after the elicitation was over: nothing was paid, and its payer may remove it.")
        return
    alert(payment, "late", "Paid after the elicitation was over: the payment is refunded.")
    left = payment.amount - sum(one.amount for one in said.refunds if one.state != "failed")
    if payment.payment_ref and left > 0:
        refunds.give_back(payment, payment.payment_ref, left, "Paid after the elicitation was over.")


def alert(payment: Payment, code: str, problem: str) -> None:
    """Tell the agent and the operator that a payment differs from the request."""
    Payment.objects.filter(pk=payment.pk).update(problem=problem[:500])
    payment.refresh_from_db()
    log.error("payment %s: %s", payment.pk, problem)
    data = {"payment": payment.summary(), "problem": {"code": code, "message": problem}}
    events.publish(payment.agent, "payment.mismatch", data, payment.elicitation)


def _put(checkout: Checkout, status: Checkout.Status) -> None:
    checkout.status = status
    if status in (Checkout.Status.PAID, Checkout.Status.OVER):
        checkout.look_at, checkout.url = None, ""
    checkout.save(update_fields=["status", "look_at", "url"])
