"""Money that goes back: by the agent, at the provider, by policy; and disputes (payments.md, section 5)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

from tests.payments.test_hints import DONE
from tests.payments.till import Json, Till
from tests.support.http_user import HttpUser
from tests.support.process import until

pytestmark = pytest.mark.slow


def paid(till: Till, user: HttpUser, **params: Any) -> Json:
    asked = till.ask(**params)
    till.pay(user, asked)
    return till.becomes(asked, "completed")


def session_of(till: Till, asked: Json) -> str:
    payment = asked["result"]["payment"]
    (ref,) = till.sql("SELECT ref FROM elicit_flows_checkout WHERE payment_id = %s", payment)[0]
    return str(ref)


def refund(till: Till, asked: Json, *, key: str | None = None, **body: object) -> httpx2.Response:
    return till.agent.post(refunds_path(asked), json=body, headers={"idempotency-key": key} if key else {})


def refunds_path(asked: Json) -> str:
    return f"/v1/payments/{asked['result']['payment']}/refunds"


def given_back(till: Till, asked: Json) -> list[int]:
    """Stripe's own view: the refunds of this payment."""
    (session,) = till.paid_at_stripe(asked)
    made = [one for one in till.stripe.state()["refunds"] if one["payment_intent"] == session["payment_intent"]]
    return [one["amount"] for one in made if one["status"] == "succeeded"]


def refunded(till: Till, asked: Json, amount: int) -> None:
    until(lambda: till.payment(asked)["amount_refunded"] == amount, f"{amount} went back", timeout=15)


def test_case_29_the_agent_gives_back_a_part_and_then_the_rest(each_till: Till, http_user: HttpUser) -> None:
    till = each_till
    asked = paid(till, http_user, item="report")
    assert refund(till, asked, amount=500, reason="A page was missing.").status_code == 201
    refunded(till, asked, 500)
    assert till.payment(asked)["status"] == "paid"
    assert entitlement(till)["status"] == "active"
    assert refund(till, asked).json()["amount"] == 1499
    refunded(till, asked, 1999)
    assert entitlement(till)["status"] == "revoked"
    # completed: what was told is not untold
    assert till.stands(asked) == ("completed", "refunded", [*DONE, "payment.refunded", "payment.refunded"])
    assert sorted(given_back(till, asked)) == [500, 1499]


def entitlement(till: Till) -> Json:
    (found,) = till.agent.get("/v1/entitlements", params={"sub": "alice", "item": "report"}).json()["data"]
    return dict(found)


def test_case_29_more_than_was_paid_does_not_go_back(till: Till, http_user: HttpUser) -> None:
    asked = paid(till, http_user)
    assert refund(till, asked, amount=2000).status_code == 422
    assert refund(till, asked, amount=0).status_code == 422
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: refund(till, asked, amount=1500), range(8)))
    assert sorted(answer.status_code for answer in answers) == [201, *[422] * 7]
    refunded(till, asked, 1500)
    assert till.stands(asked) == ("completed", "paid", [*DONE, "payment.refunded"])
    assert given_back(till, asked) == [1500]


def test_case_29_a_refund_asked_twice_under_one_key_is_one(till: Till, http_user: HttpUser) -> None:
    asked = paid(till, http_user)
    first, second = (refund(till, asked, key="once", amount=300).json() for _ in range(2))
    assert first["id"] == second["id"]
    refunded(till, asked, 300)
    assert refund(till, asked, key="once", amount=301).status_code == 422
    assert refund(till, asked, key="once").status_code == 422, "what is left is another amount"
    assert till.stands(asked) == ("completed", "paid", [*DONE, "payment.refunded"])
    assert given_back(till, asked) == [300]
    first, second = (refund(till, asked, key="rest").json() for _ in range(2))
    assert first["id"] == second["id"]
    assert refund(till, asked, key="rest", amount=first["amount"]).status_code == 422, "the same amount, but named"


def test_case_29_a_refund_at_the_dashboard_is_seen_and_told(till: Till, http_user: HttpUser) -> None:
    asked = paid(till, http_user)
    till.stripe.order("refund", of=session_of(till, asked), amount=700)
    refunded(till, asked, 700)
    assert till.events(asked)[-1] == "payment.refunded"
    till.stripe.order("refund", of=session_of(till, asked))
    refunded(till, asked, 1999)
    assert till.stands(asked) == ("completed", "refunded", [*DONE, "payment.refunded", "payment.refunded"])


@pytest.mark.slow
@pytest.mark.parametrize(("outcome", "back"), [("done", 700), ("failed", 0)])
def test_case_29_a_refund_that_the_bank_decides_later_counts_when_it_has(
    till: Till, http_user: HttpUser, outcome: str, back: int
) -> None:
    asked = paid(till, http_user)
    made = till.stripe.order("refund", of=session_of(till, asked), amount=700, pending=True)
    until(lambda: len(till.agent.get(refunds_path(asked)).json()["data"]) == 1, "it is seen")
    assert till.stands(asked) == ("completed", "paid", DONE), "nothing has gone back yet"
    till.stripe.order("refund_outcome", refund=made["id"], outcome=outcome)
    told = "payment.refunded" if outcome == "done" else "payment.refund_failed"
    until(lambda: till.events(asked)[-1] == told, "it is told")
    assert till.stands(asked) == ("completed", "paid", [*DONE, told])
    assert till.payment(asked)["amount_refunded"] == back


def test_case_29_a_refund_that_the_provider_refuses_is_told(till: Till, http_user: HttpUser) -> None:
    asked = paid(till, http_user, item="report")
    till.stripe.order("dispute", of=session_of(till, asked), outcome="open")
    until(lambda: till.payment(asked)["dispute"] == "open", "it is disputed")
    assert refund(till, asked).status_code == 201
    until(lambda: till.events(asked)[-1] == "payment.refund_failed", "it is told")
    assert till.stands(asked) == ("completed", "paid", [*DONE, "payment.disputed", "payment.refund_failed"])
    assert till.payment(asked)["amount_refunded"] == 0


def test_case_29_a_refund_whose_answer_is_lost_is_made_once(till: Till, http_user: HttpUser) -> None:
    asked = paid(till, http_user)
    till.stripe.order("fault", name="lose_reply", on="POST /v1/refunds", times=3)
    refund(till, asked)
    refunded(till, asked, 1999)
    assert given_back(till, asked) == [1999]
    assert till.stands(asked) == ("completed", "refunded", [*DONE, "payment.refunded"])


@pytest.mark.slow
@pytest.mark.parametrize(("outcome", "then"), [("won", "active"), ("lost", "revoked")])
def test_case_29_a_dispute_suspends_what_was_paid_for(till: Till, http_user: HttpUser, outcome: str, then: str) -> None:
    asked = paid(till, http_user, item="report")
    till.stripe.order("dispute", of=session_of(till, asked), outcome="open")
    until(lambda: entitlement(till)["status"] == "suspended", "it is suspended")
    assert till.payment(asked)["dispute"] == "open"
    till.stripe.order("dispute", of=session_of(till, asked), outcome=outcome)
    until(lambda: entitlement(till)["status"] == then, f"it is {then}")
    assert till.payment(asked)["dispute"] == outcome
    assert till.stands(asked) == ("completed", "paid", [*DONE, "payment.disputed", "payment.disputed"])


def test_case_25_who_pays_what_was_just_taken_back_gets_it_back(till: Till, http_user: HttpUser) -> None:
    till.stripe.order("fault", name="503", on="POST /v1/checkout/sessions/*/expire", times=20)
    asked = till.ask()
    page = till.at_stripe(http_user, asked)
    assert till.agent.post(f"/v1/elicitations/{asked['id']}/cancel").json()["status"] == "cancelled"
    http_user.press("pay")
    intent = till.session_of(page)["payment_intent"]

    def back() -> bool:
        made = [one for one in till.stripe.state()["refunds"] if one["payment_intent"] == intent]
        return [(one["amount"], one["status"]) for one in made] == [(1999, "succeeded")]

    until(back, "the money went back", timeout=20)
    until(lambda: "payment.refunded" in till.events(asked), "the agent was told")
    told = ["created", "started", "cancelled", "payment.mismatch", "payment.refunded"]
    assert till.stands(asked) == ("cancelled", "refunded", told)


def test_an_item_that_was_paid_for_is_not_asked_for_again(till: Till, http_user: HttpUser) -> None:
    first = paid(till, http_user, item="report", uses=1)
    second = till.ask(item="report", uses=1)
    assert (second["status"], second["reused"], second["result"]) == ("completed", True, first["result"])
    path = f"/v1/entitlements/{first['result']['entitlement']}/consume"
    assert [till.agent.post(path, json={"key": key}).status_code for key in ("a", "a", "b")] == [200, 200, 409]
    assert till.ask(item="report", uses=1)["status"] == "pending"
