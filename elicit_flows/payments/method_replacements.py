"""Another payment method for a mandate, a subscription or a saved method. Its person saves it at a checkout of the
payment's own, for the same customer.
"""

from __future__ import annotations

from functools import partial

from django.db import transaction
from django.db.models import QuerySet

from elicit_flows.events import wakeups
from elicit_flows.job_table import PAYMENTS
from elicit_flows.kinds.payment.values import ENDS, Snapshot, State
from elicit_flows.lib import clock
from elicit_flows.models import Checkout, Mandate, Payment, PaymentAccount
from elicit_flows.payments import checkouts, mandates, settlement

Status = Payment.Status


def goes_on(payment: Payment) -> bool:
    """Whether its payment method may be charged again."""
    return payment.status in (Status.SAVED, Status.ACTIVE) and not payment.ends_at


def standing(payment: Payment) -> Checkout | None:
    """The checkout that has what goes on now, which may be an earlier replacement; None if nothing goes on, or ends."""
    payment = Payment.objects.get(pk=payment.pk)
    if not goes_on(payment):
        return None
    paid = payment.checkouts.filter(status=Checkout.Status.PAID, surplus=False).select_related("account")
    if payment.status == Status.ACTIVE:
        paid = paid.filter(replaces=None)
    return paid.order_by("created_at").last()


def mismatch(checkout: Checkout, said: Snapshot, now: Snapshot) -> str:
    """Why what the checkout has saved may not take the place of ``now``; "" if it may."""
    differing = [
        (said.our_id == checkout.id, f"the provider's page names {said.our_id!r}, not this checkout"),
        (said.livemode == checkout.account.livemode, f"livemode is {said.livemode}, not as the account's"),
        (bool(said.customer) and said.customer == now.customer, f"it is of {said.customer}, not of {now.customer}"),
        (bool(said.method), "the provider's page names no method"),
    ]
    return "; ".join(problem for same, problem in differing if not same)


def record(checkout: Checkout, said: Snapshot, now: Snapshot | None) -> None:
    """Record what the checkout says, once. ``now``: what is replaced, as the provider says; None if nothing went on
    when it was looked at.

    The sweep then removes the former method at the provider, or the new one if what it is for has ended meanwhile.
    """
    with transaction.atomic():
        payment, fresh = settlement.locked(checkout)
        if fresh.status not in checkouts.PAYABLE:
            return
        if said.state is State.PROCESSING:
            Checkout.objects.filter(pk=fresh.pk).update(status=Checkout.Status.PROCESSING)
        elif said.state is State.SAVED:
            problem = mismatch(fresh, said, now) if now else ""
            change = {"status": Checkout.Status.OVER, "look_at": clock.now(), "url": ""}
            if problem:
                change["replaces"] = ""  # whoever's it is, it is not ours to remove
                settlement.alert(payment, "mismatch", f"A payment method was to replace another, but {problem}.")
            elif now is None or standing(payment) is None:
                change["replaces"] = said.method or ""
            else:
                change["status"] = Checkout.Status.PAID
                mandate = Mandate.objects.select_for_update().filter(payment=payment).first()
                if mandate:
                    mandates.replaced(mandate, said)
            Checkout.objects.filter(pk=fresh.pk).update(**change)
            transaction.on_commit(partial(wakeups.wake_workers, PAYMENTS))
        elif said.state in ENDS:
            Checkout.objects.filter(pk=fresh.pk).update(status=Checkout.Status.OVER, look_at=None, url="")


def is_charged(account: PaymentAccount, method: str) -> bool:
    """Whether a mandate that has not ended charges this method."""
    return Mandate.objects.filter(account=account, method_ref=method, status=Mandate.Status.ACTIVE).exists()


def saved_by_payer(payment: Payment) -> QuerySet[Payment]:
    """What its payer has saved at its account, for whichever agent."""
    return Payment.objects.filter(account_id=payment.account_id, iss=payment.iss, sub=payment.sub, status=Status.SAVED)


def removed(checkout: Checkout) -> None:
    """The provider has removed what was to be removed."""
    Checkout.objects.filter(pk=checkout.pk).update(replaces="", look_at=None)
