"""The checker of histories sees what is wrong: a sound history, and what each rule says once something is changed."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest

from tests.payments.history import checker
from tests.payments.history.checker import Json
from tests.payments.history.rules import check

Change = Callable[["Tale"], object]


class Tale:
    """One elicitation that was paid, completed and given back in part by its agent, told to feed and webhook alike."""

    def __init__(self) -> None:
        self.elicitation: Json = {
            "id": "el_1", "status": "completed", "seq": 4,
            "params": {"amount": 500, "currency": "eur", "description": "a"},
            "result": {"payment": "pa_1", "amount": 500, "currency": "eur", "livemode": False},
            "subject": {"iss": "i", "sub": "alice"},
        }  # fmt: skip
        self.refund: Json = {"id": "re_1", "amount": 200, "status": "done", "by": "agent"}
        self.payment: Json = {
            "id": "pa_1", "elicitation": "el_1", "status": "paid", "amount_refunded": 200, "dispute": None,
            "item": None, "livemode": False, "paid_at": "2026-11-22T10:00:00Z", "mode": "pay", "amount": 500,
        }  # fmt: skip
        self.charge: Json = {
            "op": "captured", "charge": "ch_1", "about": "a", "amount": 500, "currency": "eur", "livemode": False,
        }  # fmt: skip
        self.returned: Json = {
            "op": "returned", "refund": "rf_1", "charge": "ch_1", "amount": 200, "status": "succeeded",
            "our_id": "re_1",
        }  # fmt: skip
        self.events: list[Json] = [
            self.event(1, "created", status="pending"),
            self.event(4, "completed"),
            {
                "id": "ev_r",
                "type": "payment.refunded",
                "elicitation": "el_1",
                "seq": 4,
                "data": {"refund": self.refund},
            },
        ]
        self.asked: Json = {"op": "asked", "agent": "bot", "key": "k", "outcome": "ok", "elicitation": "el_1"}
        self.gave_back: Json = {"op": "gave_back", "agent": "bot", "key": "r", "payment": "pa_1", "refund": "re_1"}
        self.more: list[Json] = []
        self.unsent: set[str] = set()

    def event(self, seq: int, kind: str, **changed: object) -> Json:
        data = {"id": "el_1", "status": "completed", "seq": seq} | changed
        return {
            "id": f"ev_{seq}", "type": f"elicitation.{kind}", "elicitation": "el_1", "seq": seq, "data": data,
        }  # fmt: skip

    def lines(self) -> list[Json]:
        told = [("feed", one) for one in self.events]
        told += [("webhook", one) for one in self.events if one["id"] not in self.unsent] * 2
        return [
            self.asked, self.charge, self.returned, self.gave_back, *self.more,
            {"op": "ended", "elicitation": self.elicitation},
            {"op": "seen", "elicitation": {"id": "el_1", "status": "started", "seq": 2}},
            {"op": "payment", "payment": self.payment, "refunds": [self.refund]},
            *({"op": "told", "by": by, "agent": "bot", "event": one} for by, one in told),
        ]  # fmt: skip

    def end(self, status: str) -> None:
        """It ended otherwise, and its agent was told so."""
        self.elicitation |= {"status": status, "result": None}
        self.events[1] = self.event(4, status, status=status)

    def back_by_policy(self) -> None:
        """All of it, after it was told that it came too late."""
        self.returned["amount"] = self.refund["amount"] = self.payment["amount_refunded"] = 500
        self.refund["by"], self.payment["status"] = "policy", "refunded"
        self.events.append({"id": "ev_m", "type": "payment.mismatch", "elicitation": "el_1", "seq": 4, "data": {}})

    def granted(self, **changed: object) -> None:
        """An item was paid for."""
        self.payment["item"] = self.elicitation["params"]["item"] = "pro"
        usual = {"id": "en_1", "payment": "pa_1", "item": "pro", "livemode": False, "status": "active"}
        self.more.append({"op": "entitlement", "entitlement": usual | changed})

    def asked_again(self, **changed: object) -> None:
        """And answered by what was paid."""
        self.granted()
        params = self.elicitation["params"] | {"description": "b"} | changed
        self.more.append(
            {"op": "ended", "elicitation": self.elicitation | {"id": "el_2", "params": params, "reused": True}}
        )
        done = {**self.events[1], "id": "ev_2", "elicitation": "el_2"}
        self.events.append(done | {"data": done["data"] | {"id": "el_2"}})

    def twice(self, **changed: object) -> Json:
        """Another charge for the same, with an alert."""
        self.events.append({"id": "ev_m", "type": "payment.mismatch", "elicitation": "el_1", "seq": 4, "data": {}})
        other = {**self.charge, "charge": "ch_2"} | changed
        self.more.append(other)
        return other


def test_a_sound_history_has_nothing_wrong() -> None:
    assert check(Tale().lines()) == []


def test_a_question_that_what_was_paid_answers_is_sound() -> None:
    tale = Tale()
    tale.asked_again()
    assert check(tale.lines()) == []


def test_money_that_came_too_late_and_went_back_is_sound() -> None:
    tale = Tale()
    tale.end("cancelled")
    tale.back_by_policy()
    assert check(tale.lines()) == []


def test_a_payment_of_another_amount_that_was_told_is_sound() -> None:
    tale = Tale()
    tale.end("failed")
    tale.charge["amount"] = 1
    tale.payment |= {"status": "mismatch"}
    tale.events.append({"id": "ev_m", "type": "payment.mismatch", "elicitation": "el_1", "seq": 4, "data": {}})
    tale.returned["amount"] = tale.refund["amount"] = 1
    assert check(tale.lines()) == []


def left(tale: Tale) -> None:
    tale.more.append({"op": "seen", "elicitation": {"id": "el_1", "status": "started", "seq": 5}})


def told_late_without_refund(tale: Tale) -> None:
    tale.end("cancelled")
    tale.twice()
    tale.more.clear()


def doubled(tale: Tale) -> None:
    tale.more.append({**tale.returned, "refund": "rf_2"})


def dashboard(tale: Tale) -> None:
    tale.more.append({**tale.returned, "refund": "rf_2", "our_id": None, "amount": 1})


BAD: list[tuple[str, Change]] = [
    ("one_end", left),
    ("one_end", lambda tale: tale.end("settling")),
    ("one_end", lambda tale: tale.events.append(tale.event(4, "failed", status="failed"))),
    ("asked_once", lambda tale: tale.asked.update(elicitation="el_gone")),
    ("asked_once", lambda tale: tale.more.append({**tale.asked, "elicitation": "el_2"})),
    ("asked_once", lambda tale: tale.more.append({"op": "ended", "elicitation": {**tale.elicitation, "id": "el_2"}})),
    ("told_once", lambda tale: tale.events.pop(1)),
    ("told_once", lambda tale: tale.events.append({**tale.events[1], "id": "ev_again"})),
    ("told_once", lambda tale: tale.events.append(tale.events[1])),
    ("told_once", lambda tale: tale.elicitation.update(status="declined", result=None)),
    ("webhooks_agree", lambda tale: tale.unsent.add("ev_4")),
    (
        "webhooks_agree",
        lambda tale: tale.more.append({"op": "told", "by": "webhook", "agent": "bot", "event": tale.event(9, "x")}),
    ),
    (
        "webhooks_agree",
        lambda tale: tale.more.append(
            {"op": "told", "by": "webhook", "agent": "bot", "event": tale.event(4, "declined")}
        ),
    ),
    ("paid_for", lambda tale: tale.charge.update(amount=499)),
    ("paid_for", lambda tale: tale.charge.update(currency="usd")),
    ("paid_for", lambda tale: tale.charge.update(livemode=True)),
    ("paid_for", lambda tale: tale.charge.update(about="another")),
    ("paid_for", lambda tale: tale.end("expired")),
    ("paid_for", lambda tale: tale.back_by_policy()),
    ("paid_for", told_late_without_refund),
    ("nothing_in_silence", lambda tale: tale.charge.update(about="nobody asked")),
    ("nothing_in_silence", lambda tale: tale.end("cancelled")),
    ("nothing_in_silence", lambda tale: (tale.twice(), tale.events.pop())),
    ("one_charge_kept", lambda tale: tale.twice()),
    ("one_charge_kept", lambda tale: tale.twice(amount=1)),
    ("refunds_add_up", doubled),
    ("refunds_add_up", lambda tale: tale.returned.update(amount=501)),
    ("refunds_add_up", lambda tale: tale.returned.update(status="failed")),
    ("refunds_add_up", lambda tale: tale.returned.update(our_id="re_unknown")),
    ("refunds_add_up", lambda tale: tale.returned.update(our_id=None)),
    ("ledger_agrees", dashboard),
    ("ledger_agrees", lambda tale: tale.payment.update(amount_refunded=0)),
    ("ledger_agrees", lambda tale: tale.payment.update(status="refunded")),
    ("ledger_agrees", lambda tale: tale.payment.update(status="open")),
    ("ledger_agrees", lambda tale: tale.payment.update(dispute="open")),
    ("ledger_agrees", lambda tale: tale.payment.update(elicitation="el_other")),
    ("ledger_agrees", lambda tale: tale.more.append({"op": "disputed", "charge": "ch_1", "state": "open"})),
    ("results_agree", lambda tale: tale.elicitation.update(result=None)),
    ("results_agree", lambda tale: tale.elicitation["result"].update(amount=501)),
    ("results_agree", lambda tale: tale.elicitation["result"].update(livemode=True)),
    ("answered_on_its_own_terms", lambda tale: tale.asked_again(amount=501)),
    ("answered_on_its_own_terms", lambda tale: tale.asked_again(currency="usd")),
    ("answered_on_its_own_terms", lambda tale: tale.asked_again(mode="save")),
    ("answered_on_its_own_terms", lambda tale: tale.asked_again(account="live")),
    ("answered_on_its_own_terms", lambda tale: (tale.asked_again(), tale.payment.update(elicitation="el_2"))),
    ("entitlements_match", lambda tale: tale.granted(livemode=True)),
    ("entitlements_match", lambda tale: tale.granted(item="gold")),
    ("entitlements_match", lambda tale: tale.granted(status="revoked")),
    ("entitlements_match", lambda tale: tale.granted(payment="pa_2")),
    ("entitlements_match", lambda tale: (tale.granted(), tale.more.pop())),
    ("entitlements_match", lambda tale: (tale.granted(), tale.payment.update(status="refunded"))),
    ("entitlements_match", lambda tale: (tale.granted(), tale.payment.update(paid_at=None))),
    ("what_came_of_it_is_told", lambda tale: tale.events.pop()),
    ("what_came_of_it_is_told", lambda tale: tale.events.append({**tale.events[2], "id": "ev_again"})),
    ("what_came_of_it_is_told", lambda tale: tale.gave_back.update(refund="re_gone")),
    ("what_came_of_it_is_told", lambda tale: tale.more.append({**tale.gave_back, "refund": "re_2"})),
    ("what_came_of_it_is_told", lambda tale: tale.more.append({**tale.gave_back, "refund": None})),
    ("what_came_of_it_is_told", lambda tale: tale.more.append({"op": "disputed", "charge": "ch_1", "state": "open"})),
]


@pytest.mark.parametrize(("rule", "change"), BAD, ids=[f"{number}-{rule}" for number, (rule, _) in enumerate(BAD)])
def test_what_is_wrong_is_found_by_its_rule(rule: str, change: Change) -> None:
    tale = Tale()
    change(tale)
    assert rule in {found.rule for found in check(copy.deepcopy(tale.lines()))}


def test_every_rule_is_shown_to_find_something() -> None:
    assert {rule.__name__ for rule in checker.RULES} == {rule for rule, _ in BAD}
