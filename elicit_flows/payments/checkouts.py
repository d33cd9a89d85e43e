"""The provider's payment pages. Each is recorded before the provider is asked, and a payment has at most one
open page.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, Q

from elicit_flows.domain.values import Json
from elicit_flows.kinds.payment import order
from elicit_flows.kinds.payment.values import SUCCESSES, Snapshot, Started
from elicit_flows.lib import clock
from elicit_flows.models import Checkout, Elicitation, Payment, PaymentAccount, leases

Status = Checkout.Status
PAYABLE = (Status.STARTING, Status.OPEN, Status.PROCESSING)
SHORTEST, LONGEST = timedelta(minutes=31), timedelta(hours=23)  # Stripe's window is 30 minutes to 24 hours
LOOK_EVERY = timedelta(seconds=60)
KNOWN_FOR = {Status.OPEN: timedelta(days=1), Status.PROCESSING: timedelta(days=30)}
LOOK_WHILE_ACTIVE = timedelta(days=1)
# After a payment. Payers may dispute it for about four months.
LOOKS_AFTER = (timedelta(hours=1), *(timedelta(days=days) for days in (1, 7, 30, 90, 120)))


def expect_payment(row: Elicitation, account: PaymentAccount) -> Payment:
    """The payment that an elicitation asks for, created in the transaction that creates the elicitation."""
    asked: Json = row.params
    return Payment.objects.create(
        agent=row.agent,
        account=account,
        elicitation=row,
        iss=row.iss,
        sub=row.sub,
        mode=asked["mode"],
        amount=asked["amount"],
        currency=asked["currency"],
        description=asked["description"],
        item=asked["item"] or "",
        interval=asked["interval"] or "",
        trial_days=asked.get("trial_days"),
        uses=asked["uses"],
        order=asked.get("order"),
        max_amount=asked["amount"] if order.by_provider(asked.get("order")) else None,
    )


def payable(payment: Payment) -> Checkout | None:
    """The checkout that may still be paid."""
    return payment.checkouts.filter(status__in=PAYABLE).select_related("account").first()


def awaited(row: Elicitation) -> bool:
    """Whether a payment may still arrive for this elicitation."""
    return Checkout.objects.filter(payment__elicitation=row, status__in=PAYABLE).exists()


def awaited_for_any() -> Q:
    """``awaited`` as a condition on elicitations, also on those that have steps. An index finds either."""
    payable = Checkout.objects.filter(status__in=PAYABLE)
    own = Exists(payable.filter(payment__elicitation=OuterRef("pk")))
    return own | Exists(payable.filter(payment__elicitation__parent=OuterRef("pk")))


def reserve(payment: Payment, until: datetime, language: str = "", replaces: str | None = None) -> Checkout:
    """A checkout that the provider does not know yet, in the ``language`` of the page that leads to it. ``replaces``:
    see the model.

    Raises IntegrityError if there is one already.
    """
    now = clock.now()
    return Checkout.objects.create(
        payment=payment,
        account=payment.account,
        expires_at=min(max(until, now + SHORTEST), now + LONGEST),
        created_at=now,
        look_at=now + LOOK_EVERY,
        language=language,
        replaces=replaces,
    )


def reserve_charge(payment: Payment, at: datetime) -> Checkout:
    """The same for a charge without a page, to be made at that time. The sweep makes it if the request dies."""
    now = clock.now()
    return Checkout.objects.create(
        payment=payment,
        account=payment.account,
        off_session=True,
        expires_at=at + LONGEST,
        created_at=now,
        look_at=at if at > now else now + LOOK_EVERY,
    )


def opened(checkout: Checkout, started: Started, sealed_url: str) -> bool:
    """Store the provider's answer, before anybody sees the page. False if somebody else stored it, or closed the
    checkout.
    """
    change = {"status": Status.OPEN, "ref": started.ref, "url": sealed_url, "expires_at": started.expires_at}
    mine = Checkout.objects.filter(pk=checkout.pk, status=Status.STARTING).update(**change)
    checkout.refresh_from_db()
    return mine == 1


def another_key(checkout: Checkout) -> None:
    """Use another idempotency key, because the provider stores a useless answer under this one."""
    Checkout.objects.filter(pk=checkout.pk, key_number=checkout.key_number).update(key_number=checkout.key_number + 1)


def give_up(checkout: Checkout) -> None:
    """Close a checkout that nobody ever saw, or that the provider does not know: it will not be paid."""
    mine = Checkout.objects.filter(pk=checkout.pk, status=checkout.status)
    if mine.update(status=Status.OVER, look_at=None, url=""):
        Payment.objects.filter(pk=checkout.payment_id, status=Payment.Status.PROCESSING).update(
            status=Payment.Status.OPEN
        )


def lapsed(checkout: Checkout) -> bool:
    """Whether it ended so long ago that a provider that refuses to report on it will not do so any more."""
    known_for = KNOWN_FOR.get(Status(checkout.status))
    return known_for is not None and checkout.expires_at + known_for < clock.now()


def due(account: int, limit: int) -> Iterable[Checkout]:
    """The checkouts of this account that the sweep should ask the provider about, oldest first."""
    rows = Checkout.objects.filter(account=account, look_at__lte=clock.now())
    return rows.select_related("payment__elicitation__agent", "account").order_by("look_at")[:limit]


def begun_at(checkout: Checkout) -> datetime:
    """Since when the provider may have been asked for it: a charge that is announced waits for its time first."""
    return checkout.expires_at - LONGEST if checkout.off_session else checkout.created_at


def look_again(checkout: Checkout, *, soon: bool = False) -> bool:
    """Claim the next look; one of several workers gets it. The older the checkout, the longer the pause, in which the
    next attempt waits if this one fails.
    """
    now = clock.now()
    pause = LOOK_EVERY if soon else max(LOOK_EVERY, (now - begun_at(checkout)) / 8)
    if is_looked_at_daily(checkout.payment):
        pause = min(pause, LOOK_WHILE_ACTIVE)
    return leases.claim(checkout, "look_at", look_at=now + pause)


def is_looked_at_daily(payment: Payment) -> bool:
    return payment.status == Payment.Status.ACTIVE or payment.disputed == "open"


def lock_payment(row: Elicitation) -> None:
    """Lock the payment before anything else is written, in a transaction, as everybody does who brings news of it.

    Otherwise ending the elicitation and the news that it is paid could wait for each other.
    """
    Payment.objects.select_for_update().filter(elicitation=row).first()


def close(row: Elicitation) -> bool:
    """Close the payment because its elicitation is over, unless a page can still be paid. Returns whether it did."""
    waiting = Payment.objects.filter(elicitation=row, status=Payment.Status.OPEN)
    return waiting.exclude(checkouts__status__in=PAYABLE).update(status=Payment.Status.CLOSED) > 0


def schedule_next_check(payment: Payment, checkout: Checkout, said: Snapshot) -> None:
    """Schedule the next look at a paid checkout: no webhook may report a refund, a dispute or a subscription's end.

    Call it in the transaction that applied the snapshot.
    """
    now, since = clock.now(), payment.paid_at or checkout.created_at
    if checkout.surplus and said.state in SUCCESSES:
        checkout.look_at = now
    elif is_looked_at_daily(payment):
        checkout.look_at = now + LOOK_WHILE_ACTIVE
    else:
        if payment.status == Payment.Status.ENDED and said.period_end:
            since = said.period_end
        checkout.look_at = next((since + after for after in LOOKS_AFTER if since + after > now), None)
    checkout.save(update_fields=["look_at"])


def start(row: Elicitation) -> bool:
    """Let the sweep close the provider's page, because the elicitation is over. Returns whether there is one."""
    payable = Checkout.objects.filter(payment__elicitation=row, status__in=PAYABLE)
    return payable.update(look_at=clock.now()) > 0
