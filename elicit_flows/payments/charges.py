"""Charges under a mandate: reserved against every limit, made at the provider, and settled like every payment.

A charge is a payment with a checkout that has no page. Only ``settlement`` writes that money arrived.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction

from elicit_flows.domain.errors import Conflict, IdempotencyMismatch, OverLimit
from elicit_flows.domain.values import Json
from elicit_flows.kinds.payment.mandate import NOTICE
from elicit_flows.kinds.payment.values import Charge
from elicit_flows.lib import amounts, clock
from elicit_flows.models import Checkout, Mandate, MandateCharge, Payment
from elicit_flows.payments import checkouts, mandates, spend_limits

MODE = "charge"  # of the payment
# How long a charge that may not have reached the provider is attempted. Its idempotency key lives for a day there.
ATTEMPTED_FOR = timedelta(hours=1)
_WORDS = {"per_day": "in 24 hours", "per_month": "in 30 days", "total": "in all"}


def earlier(mandate: Mandate, key: str, fingerprint: str) -> MandateCharge | None:
    """The charge that an earlier request with this Idempotency-Key made. Raises IdempotencyMismatch."""
    row = MandateCharge.objects.select_related("payment").filter(mandate=mandate, idempotency_key=key).first()
    if row and row.fingerprint != fingerprint:
        raise IdempotencyMismatch(detail="This Idempotency-Key was used for another charge; use a new key.")
    return row


def reserve(mandate: Mandate, asked: Json, key: str, fingerprint: str) -> tuple[MandateCharge, bool]:
    """Reserve the amount against every limit. Returns the charge, and whether an earlier request made it.

    ``asked``: ``{amount, description, item, uses, metadata}``. The mandate is locked, so that requests at the same time
    are counted one after the other, in as many processes as there are. Raises Conflict, OverLimit and
    IdempotencyMismatch.
    """
    with transaction.atomic():
        row = Mandate.objects.select_for_update().get(pk=mandate.pk)
        known = earlier(row, key, fingerprint)
        if known:
            return known, True
        now = clock.now()
        at = now + NOTICE if row.notice else now
        check(row, asked["amount"], at)
        spend_limits.check_limits(row.agent, row.claim, asked["amount"], row.currency)
        payment = Payment.objects.create(
            agent=row.agent,
            account=row.account,
            iss=row.iss,
            sub=row.sub,
            mode=MODE,
            amount=asked["amount"],
            currency=row.currency,
            description=asked["description"],
            item=asked["item"] or "",
            uses=asked["uses"],
        )
        checkouts.reserve_charge(payment, at)
        made = MandateCharge.objects.create(
            mandate=row,
            payment=payment,
            idempotency_key=key,
            fingerprint=fingerprint,
            metadata=asked["metadata"],
            at=at,
            created_at=now,
        )
    return made, False


def check(mandate: Mandate, amount: int, at: datetime, without: MandateCharge | None = None) -> None:
    """Whether the mandate, which must be locked, allows ``amount`` at that time. ``without``: a charge that is counted
    already. Raises Conflict and OverLimit.
    """
    if mandate.status != Mandate.Status.ACTIVE:
        raise Conflict("This mandate has ended: ask the person for a new one.")
    if at >= mandate.until:
        raise Conflict("This mandate is over by the time of this charge: ask the person for a new one.")
    # The operator may have taken the account from the agent, or switched it off.
    usable = mandate.agent.payment_accounts.filter(pk=mandate.account_id, enabled=True, allow_mandates=True)
    if not usable.exists():
        raise Conflict("Your operator does not allow charges on this mandate's payment account now.")
    asked = {"amount": amount, "currency": mandate.currency}
    if amount > mandate.per_charge:
        raise OverLimit(f"This mandate allows at most {_shown(mandate, mandate.per_charge)} per charge.", asked)
    used = mandates.used(mandate, at, without)
    for name, words in _WORDS.items():
        limit = mandate.limits[name]
        if limit is not None and amount > limit - used[name]:
            left = _shown(mandate, max(0, limit - used[name]))
            raise OverLimit(f"This mandate allows at most {_shown(mandate, limit)} {words}; {left} is left.", asked)


def _shown(mandate: Mandate, amount: int) -> str:
    return amounts.show(amount, mandate.currency, "en")


def to_make(charge: MandateCharge, checkout: Checkout) -> Charge:
    """What the provider is asked. It is the same at every attempt, as the idempotency key demands."""
    mandate, payment = charge.mandate, charge.payment
    return Charge(
        our_id=checkout.pk,
        amount=payment.amount,
        currency=payment.currency,
        description=payment.description,
        customer=mandate.customer_ref,
        method=mandate.method_ref,
        since=checkout.created_at,
    )


def of(payment: Payment) -> MandateCharge:
    return MandateCharge.objects.select_related("mandate__agent", "mandate__account", "mandate__payment").get(
        payment=payment
    )


def still_allowed(charge: MandateCharge, checkout: Checkout) -> bool:
    """Whether it may be made now for the first time; if so, the limits count it at this time.

    The person may have ended or lowered the mandate since it was reserved, or refused this charge.
    """
    now = clock.now()
    with transaction.atomic():
        mandate = Mandate.objects.select_for_update().get(pk=charge.mandate_id)
        waits = Payment.objects.filter(pk=charge.payment_id, status=Payment.Status.OPEN).exists()
        if not waits or now > checkouts.begun_at(checkout) + ATTEMPTED_FOR:
            return False
        try:
            check(mandate, charge.payment.amount, now, without=charge)
        except (Conflict, OverLimit):
            return False
        MandateCharge.objects.filter(pk=charge.pk).update(at=now)
    return True


def give_up(checkout: Checkout, failure: str) -> None:
    """End a charge that was not made, unless somebody has recorded otherwise by now: its room is free again."""
    with transaction.atomic():
        row = Payment.objects.select_for_update().get(pk=checkout.payment_id)
        if Checkout.objects.get(pk=checkout.pk).status == checkout.status:
            checkouts.give_up(checkout)
            failed(row, failure)


def end_announced(saved: Payment) -> None:
    """Give up the charges that wait for their time, because the method that ``saved`` is removed."""
    waiting = Checkout.objects.filter(off_session=True, status=Checkout.Status.STARTING)
    waiting = waiting.filter(payment__charge__mandate__payment=saved, payment__charge__at__gt=clock.now())
    for checkout in waiting.order_by("created_at", "pk"):
        give_up(checkout, "mandate_ended")


def paid(payment: Payment) -> MandateCharge:
    """Tell the agent, in the transaction that marks the payment as paid. Returns the charge.

    What went wrong before, such as that the bank wanted the person first, is over.
    """
    MandateCharge.objects.filter(payment=payment).exclude(failure="").update(failure="")
    return _tell(payment, "charged")


def failed(payment: Payment, failure: str) -> None:
    """Close the payment, which gives its room back, and tell the agent. The payment must be locked."""
    open_ = Payment.objects.filter(pk=payment.pk, status__in=(Payment.Status.OPEN, Payment.Status.PROCESSING))
    if open_.update(status=Payment.Status.CLOSED):
        MandateCharge.objects.filter(payment=payment).update(failure=failure)
        _tell(payment, "charge_failed")


def closed(payment: Payment, failure: str) -> None:
    """The payment was closed with the page of its charge, which gave its room back: tell the agent."""
    MandateCharge.objects.filter(payment=payment).update(failure=failure)
    _tell(payment, "charge_failed")


def _tell(payment: Payment, what: str) -> MandateCharge:
    charge = of(payment)
    charge.payment.refresh_from_db()
    mandates.tell(charge.mandate, what, {"charge": charge.summary()})
    return charge
