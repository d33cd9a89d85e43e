"""The pages where a payment may be paid: written down before the provider is asked, and never two at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta

from elicit_flows.kinds.payment.values import Snapshot, Started
from elicit_flows.lib import clock
from elicit_flows.models import Checkout, Elicitation, Payment, PaymentAccount
from elicit_flows.values import Json

Status = Checkout.Status
PAYABLE = (Status.STARTING, Status.OPEN, Status.PROCESSING)
SHORTEST, LONGEST = timedelta(minutes=31), timedelta(hours=23)  # Stripe's window is 30 minutes to 24 hours
LOOK_EVERY = timedelta(seconds=60)
KNOWN_FOR = {Status.OPEN: timedelta(days=1), Status.PROCESSING: timedelta(days=30)}
LOOK_WHILE_ACTIVE = timedelta(days=1)
# When money came. Payers may dispute for about four months.
LOOKS_AFTER = (timedelta(hours=1), *(timedelta(days=days) for days in (1, 7, 30, 90, 120)))


def expect(row: Elicitation, account: PaymentAccount) -> Payment:
    """The money that this elicitation is to bring in; in the transaction that makes the elicitation."""
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
    )


def payable(payment: Payment) -> Checkout | None:
    """The checkout that may still bring money."""
    return payment.checkouts.filter(status__in=PAYABLE).select_related("account").first()


def awaited(row: Elicitation) -> bool:
    """Whether money may still come for this elicitation."""
    return Checkout.objects.filter(payment__elicitation=row, status__in=PAYABLE).exists()


def reserve(payment: Payment, until: datetime) -> Checkout:
    """A checkout of which the provider knows nothing yet. Raises IntegrityError when there is one already."""
    now = clock.now()
    return Checkout.objects.create(
        payment=payment,
        account=payment.account,
        expires_at=min(max(until, now + SHORTEST), now + LONGEST),
        created_at=now,
        look_at=now + LOOK_EVERY,
    )


def opened(checkout: Checkout, started: Started, sealed_url: str) -> bool:
    """The provider's answer, before anybody sees the page. False when somebody else wrote it, or closed it, first."""
    change = {"status": Status.OPEN, "ref": started.ref, "url": sealed_url, "expires_at": started.expires_at}
    mine = Checkout.objects.filter(pk=checkout.pk, status=Status.STARTING).update(**change)
    checkout.refresh_from_db()
    return mine == 1


def another_key(checkout: Checkout) -> None:
    """The provider keeps a useless answer under the present key."""
    Checkout.objects.filter(pk=checkout.pk, key_number=checkout.key_number).update(key_number=checkout.key_number + 1)


def give_up(checkout: Checkout) -> None:
    """A checkout that nobody ever saw, or that the provider knows nothing of: it brings no money."""
    mine = Checkout.objects.filter(pk=checkout.pk, status=checkout.status)
    if mine.update(status=Status.OVER, look_at=None, url=""):
        Payment.objects.filter(pk=checkout.payment_id, status=Payment.Status.PROCESSING).update(
            status=Payment.Status.OPEN
        )


def lapsed(checkout: Checkout) -> bool:
    """So long after its end a provider that refuses to speak of it will not do so any more."""
    known_for = KNOWN_FOR.get(Status(checkout.status))
    return known_for is not None and checkout.expires_at + known_for < clock.now()


def due(limit: int, without: Collection[int] = ()) -> Iterable[Checkout]:
    """Those that the sweep should ask the provider about, oldest first; not those of the accounts ``without``."""
    rows = Checkout.objects.filter(look_at__lte=clock.now()).select_related("payment__elicitation__agent", "account")
    return rows.exclude(account__in=without).order_by("look_at")[:limit]


def look_again(checkout: Checkout, *, soon: bool = False) -> bool:
    """Claim the next look: one of several workers gets it. Later and later, as such a checkout grows older."""
    now = clock.now()
    pause = LOOK_EVERY if soon else max(LOOK_EVERY, (now - checkout.created_at) / 8)
    return Checkout.objects.filter(pk=checkout.pk, look_at=checkout.look_at).update(look_at=now + pause) == 1


def hold(row: Elicitation) -> None:
    """Lock the payment, before anything else is written, as whoever brings news of it does; in a transaction.

    Else the one who ends the elicitation and the news that it is paid wait for each other.
    """
    Payment.objects.select_for_update().filter(elicitation=row).first()


def close(row: Elicitation) -> None:
    """The elicitation is over. Unless some page can still be paid, nothing comes any more, and nothing is held."""
    waiting = Payment.objects.filter(elicitation=row, status=Payment.Status.OPEN)
    waiting.exclude(checkouts__status__in=PAYABLE).update(status=Payment.Status.CLOSED)


def rest(payment: Payment, checkout: Checkout, said: Snapshot) -> None:
    """Money came: from now on it is looked at for what no webhook told of: a refund, a dispute, a subscription's end.

    In the transaction that applied the snapshot.
    """
    checkout.look_at = _next_look(payment, checkout, said)
    checkout.save(update_fields=["look_at"])


def _next_look(payment: Payment, checkout: Checkout, said: Snapshot) -> datetime | None:
    now, since = clock.now(), payment.paid_at or checkout.created_at
    if payment.status == Payment.Status.ACTIVE or payment.disputed == "open":
        return now + LOOK_WHILE_ACTIVE
    if payment.status == Payment.Status.ENDED and said.period_end:
        since = said.period_end
    return next((since + after for after in LOOKS_AFTER if since + after > now), None)


def look_now(row: Elicitation) -> bool:
    """What became of the elicitation makes the provider's page moot: the sweep is to close it. Whether there is one."""
    payable = Checkout.objects.filter(payment__elicitation=row, status__in=PAYABLE)
    return payable.update(look_at=clock.now()) > 0
