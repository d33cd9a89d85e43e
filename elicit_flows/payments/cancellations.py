"""Ends subscriptions and removes saved payment methods. The provider is told until it confirms."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from functools import partial

from django.db import transaction

from elicit_flows import events
from elicit_flows.domain.errors import Conflict
from elicit_flows.job_table import PAYMENTS
from elicit_flows.lib import clock
from elicit_flows.lib.backoff import RetrySchedule
from elicit_flows.models import Cancellation, Checkout, Mandate, Payment, leases
from elicit_flows.payments import charges, entitlements, mandates

Status = Payment.Status
RETRIES = RetrySchedule.doubling(timedelta(seconds=1), timedelta(hours=6))


def ask(payment: Payment, by: Mandate.By = Mandate.By.PERSON, *, at_once: bool = False) -> Cancellation:
    """Record the cancellation; a second request is the same one. Raises Conflict if there is nothing to cancel.

    The agent can no longer use a saved method from now on, and its mandate ends with it. A subscription continues until
    its provider says when it ends. ``at_once``: it is to end now, also if it is cancelled for a later day, or is
    a trial that is not what the person agreed to.
    """
    with transaction.atomic():
        payment = Payment.objects.select_for_update().get(pk=payment.pk)
        known = Cancellation.objects.filter(payment=payment).first()
        disagreed = payment.status == Status.MISMATCH and payment.trial_days is not None
        sooner = at_once and (payment.status == Status.ACTIVE or disagreed)
        if known and (payment.status == Status.REMOVED or (known.try_at and (known.at_once or not sooner))):
            return known
        if payment.status == Status.SAVED:
            payment.status = Status.REMOVED
            payment.save(update_fields=["status"])
            entitlements.revoke(payment)
            mandates.ended(payment, by)
            # Each in a transaction of its own; what is missed is given up when its time has come.
            transaction.on_commit(partial(charges.end_announced, payment))
            events.publish(payment.agent, "payment.removed", {"payment": payment.summary()}, payment.elicitation)
        elif not sooner and (payment.status != Status.ACTIVE or payment.ends_at):
            raise Conflict("There is nothing to cancel: it has ended, or has been cancelled already.")
        now = clock.now()
        who = known.by if known and payment.ends_at else by.value  # whoever cancelled it first
        anew = {
            "by": who,
            "at_once": sooner,
            "asked_at": now,
            "try_at": now,
            "done_at": None,
            "tries": 0,
            "problem": "",
        }
        return Cancellation.objects.update_or_create(payment=payment, defaults=anew)[0]


def withdraw(payment: Payment) -> None:
    """The person keeps the subscription: a cancellation that the provider has yet to hear of is not told any more."""
    Cancellation.objects.filter(payment=payment).delete()


def due(account: int, limit: int) -> Iterable[Cancellation]:
    """The cancellations of this account that the provider has to be told of, oldest first."""
    rows = Cancellation.objects.filter(payment__account=account, try_at__lte=clock.now())
    return rows.select_related("payment__account").order_by("try_at")[:limit]


def claim(row: Cancellation) -> bool:
    """Claim the next attempt. One of several workers gets it, and nobody who asks again meanwhile."""
    now = clock.now()
    if row.try_at is None or row.try_at > now:
        return False
    return leases.claim(row, "try_at", tries=row.tries + 1, try_at=now + PAYMENTS.lease)


def checkouts_of(row: Cancellation) -> Iterable[Checkout]:
    """The checkouts to cancel; more than one if the person paid twice, or replaced what they saved."""
    paid = Checkout.objects.filter(payment_id=row.payment_id, status=Checkout.Status.PAID)
    if row.payment.mode == "subscribe":
        paid = paid.filter(replaces=None)  # the others have no subscription
    return paid.select_related("payment__elicitation__agent", "account")


def done(row: Cancellation) -> None:
    leases.held(row, "try_at").update(try_at=None, done_at=clock.now(), problem="")


def later(row: Cancellation, problem: str) -> None:
    """Schedule the next attempt. There is no last one: the person would be charged although they have cancelled."""
    leases.held(row, "try_at").update(try_at=clock.now() + RETRIES.pause(row.tries), problem=problem[:500])
