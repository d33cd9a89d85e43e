"""Mandates: a person says yes once, and the agent charges within what they said."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import httpx2
import pytest

from tests.payments.till import Json, Till
from tests.support.http_user import HttpUser
from tests.support.process import until

CREATE, LIST = "POST /v1/payment_intents", "GET /v1/payment_intents"


def limits(**more: object) -> Json:
    last = datetime.now(UTC) + timedelta(days=90)
    return {"per_charge": 2000, "total": 5000, "until": last.isoformat()} | more


def given(till: Till, user: HttpUser, *, description: str = "Train tickets", **more: object) -> Json:
    """A mandate that alice has agreed to on the page, with ``asked``: what she answered."""
    asked = till.ask(mode="mandate", amount=None, description=description, mandate=limits(**more))
    till.pay(user, asked)
    found = till.becomes(asked, "completed")["result"]
    return look(till, found["mandate"]) | {"asked": asked}


def look(till: Till, mandate: str) -> Json:
    return dict(till.agent.get(f"/v1/mandates/{mandate}").json())


def charge(till: Till, mandate: Json, amount: int, key: str, **more: object) -> httpx2.Response:
    body = {"amount": amount, "description": "A ticket to Bern", **more}
    return till.agent.post(f"/v1/mandates/{mandate['id']}/charges", json=body, headers={"idempotency-key": key})


def stands(till: Till, made: Json) -> str:
    return str(till.agent.get(f"/v1/mandates/{made['mandate']}/charges/{made['id']}").json()["status"])


def told(till: Till) -> list[str]:
    """The events of mandates, in order."""
    found = till.agent.get("/v1/events", params={"limit": 100}).json()["data"]
    return [one["type"].removeprefix("mandate.") for one in found if one["type"].startswith("mandate.")]


def intents(till: Till, mandate: Json) -> list[tuple[str, int]]:
    """Stripe's own view of what was tried under the mandate: status and amount."""
    rows = till.sql(
        "SELECT checkout.id FROM elicit_flows_checkout checkout JOIN elicit_flows_mandatecharge charge "
        "ON charge.payment_id = checkout.payment_id WHERE charge.mandate_id = %s",
        mandate["id"],
    )
    ours = {row[0] for row in rows}
    found = till.stripe.state()["payment_intents"]
    return [(one["status"], one["amount"]) for one in found if one["metadata"].get("our_id") in ours]


def bank_says(till: Till, mandate: Json, outcome: str) -> None:
    """What becomes of the charges of its saved method from now on."""
    ref = till.sql("SELECT method_ref FROM elicit_flows_mandate WHERE id = %s", mandate["id"])[0][0]
    till.stripe.order("saved_method", payment_method=ref, outcome=outcome)


def test_a_person_agrees_once_and_the_agent_charges_until_a_limit_refuses(each_till: Till, http_user: HttpUser) -> None:
    till = each_till
    mandate = given(till, http_user)
    assert {name: mandate[name] for name in ("status", "per_charge", "per_day", "total", "currency")} == {
        "status": "active", "per_charge": 2000, "per_day": None, "total": 5000, "currency": "eur",
    }  # fmt: skip
    first = charge(till, mandate, 2000, "one")
    assert first.status_code == 201, first.text
    assert (first.json()["status"], first.json()["failure"]) == ("paid", None)
    again = charge(till, mandate, 2000, "one")
    assert (again.status_code, again.headers["idempotency-replayed"], again.json()) == (200, "true", first.json())
    assert charge(till, mandate, 1999, "one").json()["code"] == "idempotency_mismatch"
    assert charge(till, mandate, 2001, "big").json()["code"] == "over_limit"
    assert charge(till, mandate, 2000, "two").json()["status"] == "paid"
    refused = charge(till, mandate, 1001, "three")
    assert (refused.status_code, refused.json()["code"]) == (403, "over_limit")
    assert "€10.00 is left" in refused.json()["detail"]
    assert charge(till, mandate, 1000, "four").json()["status"] == "paid"
    assert look(till, mandate["id"])["used"]["total"] == 5000
    assert intents(till, mandate) == [("succeeded", 2000), ("succeeded", 2000), ("succeeded", 1000)]
    payment = till.agent.get(f"/v1/payments/{first.json()['payment']}").json()
    assert (payment["status"], payment["amount"], payment["mode"]) == ("paid", 2000, "charge")
    assert told(till) == ["created", *["charged"] * 3]
    listed = till.agent.get(f"/v1/mandates/{mandate['id']}/charges").json()["data"]
    assert [one["amount"] for one in listed] == [1000, 2000, 2000]


def test_the_page_says_the_limits_in_words_before_the_yes(till: Till, http_user: HttpUser) -> None:
    asked = till.ask(
        mode="mandate", amount=None, description="Train tickets",
        mandate=limits(per_day=3000, per_month=4000, notice="before"),
    )  # fmt: skip
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    assert http_user.page_name == "consent"
    for words in ("Train tickets", "Nothing is charged today", "At most per charge", "€20.00", "At most in 24 hours",
                  "€30.00", "At most in 30 days", "€40.00", "At most in all", "€50.00", "announced"):  # fmt: skip
        assert words in http_user.text, words
    assert till.stripe.state()["sessions"] == [] or asked["status"] == "pending"


@pytest.mark.parametrize(
    ("wrong", "where"),
    [({"per_charge": 0}, "per_charge"), ({"per_charge": 1.5}, "per_charge"), ({"total": None}, "total"),
     ({"total": 1999}, "total"), ({"per_day": 1999}, "per_day"), ({"until": "tomorrow"}, "until"),
     ({"until": "2020-01-01T00:00:00Z"}, "until"), ({"until": "2999-01-01T00:00:00Z"}, "until"),
     ({"notice": "never"}, "notice"), ({"colour": "red"}, "colour")],
    ids=str,
)  # fmt: skip
def test_a_mandate_that_says_no_limit_is_refused_when_asked(till: Till, wrong: Json, where: str) -> None:
    answer = till.try_to_ask(mode="mandate", amount=None, mandate=limits(**wrong))
    assert answer.status_code == 422
    assert [one["loc"] for one in answer.json()["errors"]] == [["params", "mandate", where]]


def test_t192_limits_belong_to_mode_mandate_and_it_to_accounts_that_allow_it(till: Till) -> None:
    assert till.try_to_ask(mandate=limits()).json()["errors"][0]["loc"] == ["params", "mandate"]
    assert till.try_to_ask(mode="mandate", amount=None).json()["errors"][0]["loc"] == ["params", "mandate"]
    till.sql("UPDATE elicit_flows_paymentaccount SET allow_mandates = %s", False)
    try:
        until(lambda: till.try_to_ask(mode="mandate", amount=None, mandate=limits()).status_code == 422, "it is read")
        answer = till.try_to_ask(mode="mandate", amount=None, mandate=limits()).json()["errors"][0]
    finally:
        till.sql("UPDATE elicit_flows_paymentaccount SET allow_mandates = %s", True)
    assert answer["loc"] == ["params", "mode"]
    assert "allow_mandates" in answer["message"]


def test_a_charge_needs_a_key_of_the_agents_own(till: Till, http_user: HttpUser) -> None:
    mandate = given(till, http_user)
    answer = till.agent.post(f"/v1/mandates/{mandate['id']}/charges", json={"amount": 500, "description": "A ticket"})
    assert (answer.status_code, answer.json()["errors"][0]["loc"]) == (422, ["Idempotency-Key"])
    assert intents(till, mandate) == []


def test_the_metadata_of_a_charge_has_the_limit_of_a_questions(till: Till, http_user: HttpUser) -> None:
    mandate = given(till, http_user)
    answer = charge(till, mandate, 500, "large", metadata={"note": "x" * 8192})
    assert (answer.status_code, answer.json()["errors"][0]["loc"]) == (422, ["metadata"])
    assert intents(till, mandate) == []
    assert charge(till, mandate, 500, "small", metadata={"note": "é" * 4000}).status_code == 201


@pytest.mark.parametrize(("outcome", "failure"), [("declined", "generic_decline"), ("insufficient_funds",) * 2])
def test_what_the_bank_refuses_is_told_and_gives_its_room_back(
    till: Till, http_user: HttpUser, outcome: str, failure: str
) -> None:
    mandate = given(till, http_user, total=2000)
    bank_says(till, mandate, outcome)
    made = charge(till, mandate, 2000, "one").json()
    assert (made["status"], made["failure"], made["url"]) == ("failed", failure, None)
    bank_says(till, mandate, "ok")
    assert charge(till, mandate, 2000, "two").json()["status"] == "paid"
    assert charge(till, mandate, 2000, "one").json() == made
    assert told(till) == ["created", "charge_failed", "charged"]


@pytest.mark.parametrize(
    "outcome", ["authentication_required", pytest.param("requires_action", marks=pytest.mark.slow)]
)
def test_a_bank_that_wants_the_person_makes_a_link_for_that_one_charge(
    till: Till, http_user: HttpUser, outcome: str
) -> None:
    mandate = given(till, http_user, total=3000)
    bank_says(till, mandate, outcome)
    made = charge(till, mandate, 2000, "one").json()
    assert (made["status"], made["failure"]) == ("requires_action", "authentication_required")
    assert charge(till, mandate, 2000, "two").json()["code"] == "over_limit", "its room is reserved"
    asked = till.agent.get(f"/v1/elicitations/{made['elicitation']}").json()
    assert (asked["url"], asked["params"]["amount"], asked["metadata"]["charge"]) == (made["url"], 2000, made["id"])
    till.pay(http_user, asked)
    done = till.becomes(asked, "completed")
    assert done["result"]["payment"] == made["payment"]
    assert stands(till, made) == "paid"
    assert told(till) == ["created", "charged"]
    paid = [amount for status, amount in intents(till, mandate) if status == "succeeded"]
    assert paid == [2000]


@pytest.mark.slow
def test_a_link_that_nobody_opens_gives_the_room_back(till: Till, http_user: HttpUser) -> None:
    mandate = given(till, http_user, total=2000)
    bank_says(till, mandate, "authentication_required")
    made = charge(till, mandate, 2000, "one").json()
    assert till.agent.post(f"/v1/elicitations/{made['elicitation']}/cancel").status_code == 200
    assert stands(till, made) == "failed"
    bank_says(till, mandate, "ok")
    assert charge(till, mandate, 2000, "two").json()["status"] == "paid"
    assert told(till) == ["created", "charge_failed", "charged"]


@pytest.mark.slow
def test_a_charge_that_is_on_its_way_is_settled_when_it_arrives(till: Till, http_user: HttpUser) -> None:
    mandate = given(till, http_user)
    bank_says(till, mandate, "processing")
    made = charge(till, mandate, 2000, "one").json()
    assert made["status"] == "processing"
    (ref,) = till.sql("SELECT ref FROM elicit_flows_checkout WHERE payment_id = %s", made["payment"])[0]
    till.stripe.order("settle_charge", payment_intent=ref, outcome="ok")
    till.start()
    until(lambda: stands(till, made) == "paid", "the sweep has looked")
    assert told(till) == ["created", "charged"]


@pytest.mark.parametrize(
    ("fault", "on"),
    [("lose_reply", CREATE), *(
        pytest.param(*one, marks=pytest.mark.slow)
        for one in [("lose_request", CREATE), ("429", CREATE), ("503", CREATE), ("500_executed", CREATE),
                    ("lose_reply", "POST /v1/payment_intents/*/cancel"),
                    ("lose_request", "GET /v1/payment_intents/*")]
    )],
)  # fmt: skip
def test_t194_a_lost_answer_is_looked_up_and_nothing_is_charged_twice(
    till: Till, http_user: HttpUser, fault: str, on: str
) -> None:
    mandate = given(till, http_user)
    waits = on != CREATE
    if waits:
        bank_says(till, mandate, "requires_action")
    till.stripe.order("fault", name=fault, on=on, times=3)
    made = charge(till, mandate, 2000, "one").json()
    assert made["status"] == "processing"
    assert charge(till, mandate, 2000, "one").json()["id"] == made["id"]
    till.stripe.order("calm")
    wanted = "requires_action" if waits else "paid"
    until(lambda: till.start() or stands(till, made) == wanted, "the sweep has found it")  # type: ignore[func-returns-value]
    assert intents(till, mandate) == [("canceled" if waits else "succeeded", 2000)]
    assert told(till) == (["created"] if waits else ["created", "charged"])


@pytest.mark.slow
def test_t194_what_never_reached_the_provider_is_given_up_after_an_hour(till: Till, http_user: HttpUser) -> None:
    mandate = given(till, http_user, total=2000)
    till.stripe.order("fault", name="503", on=CREATE, times=1000)
    made = charge(till, mandate, 2000, "one").json()
    assert made["status"] == "processing"
    till.sql("UPDATE elicit_flows_mandatecharge SET at = %s WHERE id = %s", "2020-01-01 00:00:00", made["id"])
    long = "UPDATE elicit_flows_checkout SET expires_at = %s WHERE payment_id = %s"  # a day after it was due
    till.sql(long, "2020-01-01 00:00:00", made["payment"])
    until(lambda: till.start() or stands(till, made) == "failed", "it is given up")  # type: ignore[func-returns-value]
    till.stripe.order("calm")
    assert charge(till, mandate, 2000, "two").json()["status"] == "paid"
    assert intents(till, mandate) == [("succeeded", 2000)]


def test_the_agent_ends_a_mandate_and_the_method_is_removed(till: Till, http_user: HttpUser) -> None:
    mandate = given(till, http_user)
    ended = till.agent.post(f"/v1/mandates/{mandate['id']}/end").json()
    assert (ended["status"], ended["ended_by"]) == ("ended", "agent")
    assert till.agent.post(f"/v1/mandates/{mandate['id']}/end").json() == ended
    assert charge(till, mandate, 100, "one").status_code == 409
    ref = till.sql("SELECT method_ref FROM elicit_flows_mandate WHERE id = %s", mandate["id"])[0][0]
    (method,) = [one for one in till.stripe.state()["payment_methods"] if one["id"] == ref]
    assert method["customer"] is None
    assert told(till) == ["created", "ended"]
    assert [one["id"] for one in till.agent.get("/v1/mandates?status=ended").json()["data"]] == [mandate["id"]]


@pytest.mark.slow
def test_a_mandate_whose_time_is_over_ends_by_itself(till: Till, http_user: HttpUser) -> None:
    mandate = given(till, http_user)
    till.sql("UPDATE elicit_flows_mandate SET until = %s WHERE id = %s", "2020-01-01 00:00:00", mandate["id"])
    assert charge(till, mandate, 100, "one").status_code == 409
    until(lambda: look(till, mandate["id"])["status"] == "ended", "the sweep has ended it")
    assert look(till, mandate["id"])["ended_by"] == "time"


@pytest.mark.slow
def test_an_announced_charge_waits_a_day_and_the_person_can_refuse_it(till: Till, http_user: HttpUser) -> None:
    mandate = given(till, http_user, notice="before")
    first, second = (charge(till, mandate, 2000, key).json() for key in ("one", "two"))
    assert first["status"] == "announced"
    in_a_day = datetime.fromisoformat(first["charge_at"]) - datetime.now(UTC)
    assert timedelta(hours=23) < in_a_day <= timedelta(hours=24)
    assert intents(till, mandate) == []
    page = f"{till.box.url}/account/payments/mandates/{mandate['id']}"
    http_user.open(page)
    assert "Announced" in http_user.text
    http_user.press("refuse")  # one of the two
    first, second = (first, second) if stands(till, second) == "failed" else (second, first)
    assert (stands(till, second), stands(till, first)) == ("failed", "announced")
    due = "UPDATE elicit_flows_mandatecharge SET at = %s WHERE id = %s"
    till.sql(due, datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S"), first["id"])
    until(lambda: till.start() or stands(till, first) == "paid", "the sweep has made it")  # type: ignore[func-returns-value]
    assert intents(till, mandate) == [("succeeded", 2000)]


@pytest.mark.slow
def test_t192_the_person_lowers_and_ends_it_and_the_next_charge_is_refused(till: Till, http_user: HttpUser) -> None:
    mandate = given(till, http_user)
    assert charge(till, mandate, 1500, "one").json()["status"] == "paid"
    page = f"{till.box.url}/account/payments/mandates/{mandate['id']}"
    http_user.open(f"{till.box.url}/account/payments?show=mandates")
    assert "Train tickets" in http_user.text
    http_user.open(page)
    for words in ("A ticket to Bern", "€15.00", "Paid", "visa 4242"):
        assert words in http_user.text, words
    http_user.press("lower", per_charge="30.00")
    assert "only a new request" in http_user.text.lower()
    assert look(till, mandate["id"])["per_charge"] == 2000
    http_user.open(page)
    http_user.press("lower", per_charge="10,50", per_day="16")
    found = look(till, mandate["id"])
    assert (found["per_charge"], found["per_day"], found["total"]) == (1050, 1600, 5000)
    assert charge(till, mandate, 1051, "two").json()["code"] == "over_limit"
    assert charge(till, mandate, 101, "three").json()["code"] == "over_limit"
    assert charge(till, mandate, 100, "four").json()["status"] == "paid"
    http_user.open(page)
    http_user.press("end")
    refused = charge(till, mandate, 50, "five")
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    assert intents(till, mandate) == [("succeeded", 1500), ("succeeded", 100)]
    assert told(till) == ["created", "charged", "changed", "charged", "ended"]


def test_t195_a_mandate_of_another_agent_or_person_is_none(till: Till, new_till: object, http_user: HttpUser) -> None:
    mandate = given(till, http_user)
    other = new_till(till.box)  # type: ignore[operator]
    assert charge(other, mandate, 100, "one").status_code == 404
    for call in ("", "/charges", "/document"):
        assert other.agent.get(f"/v1/mandates/{mandate['id']}{call}").status_code == 404
    assert other.agent.post(f"/v1/mandates/{mandate['id']}/end").status_code == 404
    assert other.agent.get("/v1/mandates").json()["data"] == []
    assert intents(till, mandate) == []
