"""The rules of mandates and subscriptions see what is wrong: a sound history of each, and one change at a time."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest

from tests.payments.history import mandate_rules, subscription_rules
from tests.payments.history.checker import Json
from tests.payments.history.rules import check

LATER = "2027-01-15T10:00:00Z"


class Given:
    """A mandate of 20.00 a charge and 30.00 in all: a charge that was made, one that the bank refused, and its end."""

    def __init__(self) -> None:
        limits = {"per_charge": 2000, "per_day": None, "per_month": None, "total": 3000}
        self.asked: Json = {
            "id": "el_1", "status": "completed", "seq": 4, "subject": {"iss": "i", "sub": "alice"},
            "params": {"amount": None, "currency": "eur", "mode": "mandate", "description": "a", "mandate": limits},
            "result": {"payment": "pa_1", "amount": 0, "currency": "eur", "livemode": False},
        }  # fmt: skip
        self.mandate: Json = {"id": "ma_1", "payment": "pa_1", "status": "ended", **limits, "used": {"total": 2000}}
        self.made, self.refused = self.charge(1, "paid"), self.charge(2, "failed")
        self.first = payment("pa_1", "el_1", mode="mandate", amount=0, status="removed")
        self.paid = payment("pa_c1", None, mode="charge", amount=2000, status="paid")
        self.closed = payment("pa_c2", None, mode="charge", amount=2000, status="closed", paid_at=None)
        self.taken = captured("ch_1", "Ticket 1", 2000)
        self.order: Json = {"op": "ordered", "at": 2.0, "began": 1.5, "mandate": "ma_1", "key": "k1", "charge": "mc_1"}
        self.other: Json = {**self.order, "at": 3.0, "began": 2.5, "key": "k2", "charge": "mc_2"}
        self.stopped: Json = {"op": "stopped", "at": 4.0, "mandate": "ma_1"}
        self.events = [
            event("ev_0", "elicitation.completed", id="el_1", status="completed", seq=4),
            event("ev_1", "mandate.created", mandate=self.mandate),
            event("ev_2", "mandate.charged", mandate=self.mandate, charge=self.made),
            event("ev_3", "mandate.charge_failed", mandate=self.mandate, charge=self.refused),
            event("ev_4", "mandate.ended", mandate=self.mandate),
        ]
        self.more: list[Json] = []

    def charge(self, number: int, status: str) -> Json:
        return {
            "id": f"mc_{number}", "mandate": "ma_1", "payment": f"pa_c{number}", "amount": 2000, "currency": "eur",
            "description": f"Ticket {number}", "status": status,
        }  # fmt: skip

    def lines(self) -> list[Json]:
        return [
            *({"op": "charge", "charge": one} for one in (self.made, self.refused)),
            *({"op": "payment", "payment": one, "refunds": []} for one in (self.first, self.paid, self.closed)),
            {"op": "ended", "elicitation": self.asked}, {"op": "mandate", "mandate": self.mandate},
            self.taken, self.order, self.other, self.stopped, *self.events, *self.more,
        ]  # fmt: skip

    def lowered(self, at: float, **limits: int) -> None:
        self.more.append({"op": "lowered", "at": at, "mandate": "ma_1", "limits": limits})
        self.mandate |= limits
        self.events.append(event("ev_5", "mandate.changed", mandate=self.mandate))


class Bought:
    """A subscription that was renewed once, refused once and ended."""

    def __init__(self) -> None:
        self.asked: Json = {
            "id": "el_1", "status": "completed", "seq": 4, "subject": {"iss": "i", "sub": "alice"},
            "params": {"amount": 500, "currency": "eur", "mode": "subscribe", "description": "a", "item": "news"},
            "result": {"payment": "pa_1", "amount": 500, "currency": "eur", "livemode": False},
        }  # fmt: skip
        self.payment = payment("pa_1", "el_1", mode="subscribe", amount=500, status="ended", item="news")
        self.subscription: Json = {
            "id": "su_1", "payment": "pa_1", "description": "a", "status": "ended", "ends_at": None,
            "period_end": LATER, "grace_until": None,
        }  # fmt: skip
        self.renewed: Json = {"id": "rn_1", "amount": 500, "status": "paid", "period_end": LATER}
        self.refused: Json = {"id": "rn_2", "amount": 500, "status": "failed", "period_end": LATER}
        self.granted: Json = {"id": "en_1", "payment": "pa_1", "item": "news", "livemode": False, "status": "ended"}
        self.granted["valid_until"] = LATER
        self.there: Json = {"op": "subscribed", "about": "a", "status": "canceled", "cancelled": False}
        self.taken = {**captured("ch_2", "a", 500), "op": "renewed"}
        self.events = [
            event("ev_0", "elicitation.completed", id="el_1", status="completed", seq=4),
            event("ev_1", "subscription.renewed", renewal=self.renewed),
            event("ev_2", "subscription.past_due", renewal=self.refused),
            event("ev_3", "payment.ended"),
        ]
        self.more: list[Json] = []

    def lines(self) -> list[Json]:
        renewals = [self.renewed, self.refused]
        return [
            {"op": "ended", "elicitation": self.asked}, {"op": "payment", "payment": self.payment, "refunds": []},
            {"op": "subscription", "subscription": self.subscription, "renewals": renewals},
            {"op": "entitlement", "entitlement": self.granted},
            captured("ch_1", "a", 500), self.taken, self.there, *self.events, *self.more,
        ]  # fmt: skip

    def goes_on(self, **changed: object) -> None:
        self.subscription |= {"status": "past_due", "grace_until": LATER}
        self.there["status"] = "past_due"
        self.payment["status"] = self.granted["status"] = "active"
        self.events.pop()
        self.subscription |= changed


def payment(name: str, asked: str | None, **known: object) -> Json:
    usual = {"id": name, "elicitation": asked, "amount_refunded": 0, "dispute": None, "item": None, "livemode": False}
    return usual | {"paid_at": "2026-11-22T10:00:00Z"} | known


def captured(name: str, about: str, amount: int) -> Json:
    return {"op": "captured", "charge": name, "about": about, "amount": amount, "currency": "eur", "livemode": False}


def event(name: str, kind: str, **data: object) -> Json:
    told = {"id": name, "type": kind, "elicitation": "el_1", "seq": 4, "data": data}
    return {"op": "told", "by": "feed", "agent": "bot", "event": told}


def test_a_mandate_that_was_charged_and_ended_is_sound() -> None:
    assert check(Given().lines()) == []


def test_a_limit_that_was_lowered_after_a_charge_is_sound() -> None:
    tale = Given()
    tale.lowered(3.5, per_charge=100, total=100)
    assert check(tale.lines()) == []


def test_a_subscription_that_was_renewed_refused_and_ended_is_sound() -> None:
    assert check(Bought().lines()) == []


def test_a_subscription_that_is_past_due_is_sound() -> None:
    tale = Bought()
    tale.goes_on()
    assert check(tale.lines()) == []


OF_MANDATES: list[tuple[str, Callable[[Given], object]]] = [
    ("within_limits", lambda tale: tale.taken.update(amount=2001)),
    ("within_limits", lambda tale: tale.more.append(captured("ch_2", "Ticket 2", 1001))),
    ("within_limits", lambda tale: tale.asked["params"]["mandate"].update(per_day=1999)),
    ("within_limits", lambda tale: tale.lowered(1.0, per_charge=1999)),
    ("within_limits", lambda tale: tale.lowered(1.0, total=1999)),
    ("charged_once", lambda tale: tale.other.update(key="k1")),
    ("charged_once", lambda tale: tale.order.update(charge="mc_gone")),
    ("charged_once", lambda tale: tale.refused.update(description="Ticket 1")),
    ("charged_once", lambda tale: tale.more.append({**tale.taken, "charge": "ch_2"})),
    ("charged_once", lambda tale: tale.taken.update(about="a")),
    ("charged_once", lambda tale: tale.taken.update(amount=1999)),
    ("charged_once", lambda tale: tale.refused.update(status="processing")),
    ("charged_once", lambda tale: tale.made.update(status="failed")),
    ("charges_told", lambda tale: tale.events.pop(2)),
    ("charges_told", lambda tale: tale.events.pop(3)),
    ("charges_told", lambda tale: tale.events.append(event("ev_9", "mandate.charged", charge=tale.made))),
    ("charges_told", lambda tale: tale.events.append(event("ev_9", "mandate.charge_failed", charge=tale.made))),
    ("charges_told", lambda tale: tale.events.pop(1)),
    ("charges_told", lambda tale: tale.events.pop()),
    ("charges_told", lambda tale: (tale.lowered(3.5, total=2500), tale.events.pop())),
    ("room_agrees", lambda tale: tale.mandate["used"].update(total=0)),
    ("stopped_for_good", lambda tale: tale.stopped.update(at=1.0)),
    ("stopped_for_good", lambda tale: tale.mandate.update(status="active")),
    ("charges_of_the_ledger", lambda tale: tale.paid.update(amount=1999)),
    ("charges_of_the_ledger", lambda tale: tale.paid.update(amount_refunded=1)),
    ("charges_of_the_ledger", lambda tale: tale.paid.update(dispute="open")),
    ("charges_of_the_ledger", lambda tale: tale.made.update(payment="pa_gone")),
    ("nothing_in_silence", lambda tale: tale.taken.update(about="Ticket 9")),
]
OF_SUBSCRIPTIONS: list[tuple[str, Callable[[Bought], object]]] = [
    ("goes_on_as_there", lambda tale: tale.there.update(status="active")),
    ("goes_on_as_there", lambda tale: tale.there.update(about="b")),
    ("goes_on_as_there", lambda tale: tale.more.append({**tale.there, "about": "b", "status": "active"})),
    ("goes_on_as_there", lambda tale: tale.goes_on(ends_at=LATER)),
    ("renewed_once", lambda tale: tale.taken.update(op="other")),
    ("renewed_once", lambda tale: tale.more.append({**tale.taken, "charge": "ch_3"})),
    ("renewed_once", lambda tale: tale.renewed.update(amount=501)),
    ("renewed_once", lambda tale: tale.events.pop(1)),
    ("renewed_once", lambda tale: tale.events.pop(2)),
    ("renewed_once", lambda tale: tale.events.append(event("ev_9", "subscription.renewed", renewal=tale.renewed))),
    ("renewed_once", lambda tale: tale.events.append(event("ev_9", "subscription.past_due", renewal=tale.refused))),
    ("ended_once", lambda tale: tale.events.pop()),
    ("ended_once", lambda tale: tale.events.append(event("ev_9", "payment.ended"))),
    ("ended_once", lambda tale: tale.goes_on(ends_at=LATER)),
    ("ended_once", lambda tale: (tale.goes_on(), tale.events.append(event("ev_9", "payment.unsubscribed")))),
    ("usable_while_paid", lambda tale: tale.granted.update(payment="pa_2")),
    ("usable_while_paid", lambda tale: (tale.goes_on(), tale.granted.update(valid_until="2027-01-14T10:00:00Z"))),
    ("usable_while_paid", lambda tale: tale.goes_on(grace_until="2027-01-18T10:00:00Z")),
    ("entitlements_match", lambda tale: tale.granted.update(status="active")),
    ("paid_for", lambda tale: tale.asked["params"].update(amount=499)),
]


@pytest.mark.parametrize(("rule", "change"), OF_MANDATES)
def test_what_is_wrong_with_a_mandate_is_found(rule: str, change: Callable[[Given], object]) -> None:
    tale = Given()
    change(tale)
    assert rule in {found.rule for found in check(copy.deepcopy(tale.lines()))}


@pytest.mark.parametrize(("rule", "change"), OF_SUBSCRIPTIONS)
def test_what_is_wrong_with_a_subscription_is_found(rule: str, change: Callable[[Bought], object]) -> None:
    tale = Bought()
    change(tale)
    assert rule in {found.rule for found in check(copy.deepcopy(tale.lines()))}


def test_every_rule_is_shown_to_find_something() -> None:
    rules = {rule.__name__ for rule in [*mandate_rules.RULES, *subscription_rules.RULES]}
    assert rules <= {rule for rule, _ in [*OF_MANDATES, *OF_SUBSCRIPTIONS]}
