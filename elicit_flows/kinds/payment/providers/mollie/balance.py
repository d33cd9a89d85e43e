"""What moved money at Mollie, by its lists of payments, refunds and chargebacks.

An account's API key reads these. It does not read the balance itself, which takes an organization's token
(docs.mollie.com/reference/list-balance-transactions). The lists have the newest first, and no filter by date.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from urllib.parse import parse_qs, urlsplit

from mollie.api.client import Client

from elicit_flows.kinds.payment.providers.mollie import reading
from elicit_flows.kinds.payment.providers.mollie.client import plain
from elicit_flows.kinds.payment.providers.parts import Thing, moment, text
from elicit_flows.kinds.payment.values import BalanceLine, BalancePage, Movement

PAGE = 250
# The lists, and how long after its creation one of them may still move money. A bank transfer can be paid for a hundred
# days (docs.mollie.com/reference/create-payment, dueDate); a chargeback can be reversed months later.
LISTS = {"payments": timedelta(days=100), "refunds": timedelta(0), "chargebacks": timedelta(days=365)}
_NOT_MADE = ("failed", "canceled")


def page(client: Client, since: datetime, until: datetime, after: str) -> BalancePage:
    """``after`` names the list, and the id that the page begins with."""
    names = list(LISTS)
    name, _, first = (after or names[0]).partition(" ")
    listed = plain(getattr(client, name).list(limit=PAGE, **({"from": first} if first else {})), "_embedded")
    found = reading.embedded(listed, name)
    lines = tuple(one for thing in found for one in _lines(name, thing) if since <= one.at < until)
    following = parse_qs(urlsplit(reading.link(listed, "next")).query).get("from", [""])[0]
    oldest = moment(found[0], "createdAt") if found else None
    if following and (oldest is None or oldest >= since - LISTS[name]):
        return BalancePage(lines, f"{name} {following}")
    return BalancePage(lines, next(iter(names[names.index(name) + 1 :]), ""))


def _lines(name: str, thing: Thing) -> Iterable[BalanceLine]:
    if name == "payments" and thing.get("status") == "paid":
        yield from _line(thing, Movement.CHARGE, "paidAt", 1, thing["id"])
    elif name == "refunds" and thing.get("status") not in _NOT_MADE:
        yield from _line(thing, Movement.REFUND, "createdAt", -1, text(thing.get("paymentId")))
    elif name == "chargebacks":
        yield from _line(thing, Movement.DISPUTE, "createdAt", -1, text(thing.get("paymentId")))
        yield from _line(thing, Movement.DISPUTE, "reversedAt", 1, text(thing.get("paymentId")))


def _line(thing: Thing, movement: Movement, when: str, sign: int, payment: str) -> Iterable[BalanceLine]:
    """Nothing if it has not happened."""
    at = moment(thing, when)
    if at is not None:
        yield BalanceLine(
            ref=thing["id"],
            movement=movement,
            at=at,
            amount=sign * reading.amount(thing),
            currency=reading.currency(thing),
            payment_ref=payment or None,
            our_id=reading.our_id(thing),
            refund_ref=thing["id"] if movement is Movement.REFUND else None,
        )
