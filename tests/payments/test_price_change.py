"""The price of a running subscription, changed at the sandbox's Stripe with the yes of its person, and without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from tests.cast import BOB
from tests.payments.test_cancellation import at_stripe, card_of, press
from tests.payments.test_hints import settled
from tests.payments.test_modes import MONTHLY, entitlement, let_a_day_pass, subscribed
from tests.payments.test_subscriptions import life, renewals, told
from tests.payments.till import LONG_AGO, Json, Till
from tests.support.http_user import HttpUser
from tests.support.process import until

pytestmark = pytest.mark.slow


def change(till: Till, asked: Json, amount: int = 2499, **more: Any) -> httpx2.Response:
    """The question for another price, or the refusal of it."""
    params = {"description": None, "mode": "subscribe", "changes": life(till, asked)["id"], "amount": amount, **more}
    return till.try_to_ask(**params)


def changed(till: Till, asked: Json, amount: int = 2499) -> Json:
    answer = change(till, asked, amount)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def agree(user: HttpUser, question: Json) -> None:
    user.connect(question["url"], "alice")


def price_at_stripe(till: Till, subscription: str) -> int:
    [item] = at_stripe(till, subscription)["items"]["data"]
    return int(item["price"]["unit_amount"])


def updates(till: Till, subscription: str) -> int:
    """How often a price was changed at Stripe."""
    seen = till.stripe.state()["requests"]
    path = f"/v1/subscriptions/{subscription}"
    return len([one for one in seen if (one["method"], one["path"]) == ("POST", path)])


def test_the_person_sees_both_prices_agrees_and_pays_the_new_one_from_the_next_charge_on(
    each_till: Till, http_user: HttpUser
) -> None:
    till = each_till
    asked, subscription = subscribed(till, http_user)
    question = changed(till, asked)
    assert question["params"]["previous_amount"] == 1999
    assert (question["params"]["description"], question["params"]["interval"]) == ("A report", "month")
    http_user.open(question["url"])
    shown = http_user.text
    for said in ("Change the price to €24.99 a month?", "Price until now", "€19.99", "€0.00", "next charge"):
        assert said in shown, said
    assert price_at_stripe(till, subscription) == 1999, "looking changes nothing"
    agree(http_user, question)
    done = till.becomes(question, "completed")
    assert "The price is changed" in http_user.text
    began = life(till, asked)
    assert done["result"] == {
        "payment": began["payment"], "livemode": False, "amount": 0, "currency": "eur", "status": "active",
        "receipt_url": None, "entitlement": entitlement(till)["id"], "subscription": began["id"],
        "price": 2499, "previous_price": 1999, "price_from": began["period_end"],
    }  # fmt: skip
    assert (began["amount"], price_at_stripe(till, subscription)) == (2499, 2499)
    assert "€24.99" in card_of(till, http_user, asked)
    charges = len(till.stripe.state()["charges"])
    till.stripe.order("renew", subscription=subscription)
    until(lambda: renewals(till, asked), "it is renewed", timeout=15)
    settled(till)
    assert [one["amount"] for one in renewals(till, asked)] == [2499]
    assert len(till.stripe.state()["charges"]) == charges + 1
    assert told(till, asked) == ["subscription.price_changed", "subscription.renewed"]
    [event] = [one for one in events(till) if one["type"] == "subscription.price_changed"]
    assert (event["data"]["change"]["previous_amount"], event["data"]["change"]["amount"]) == (1999, 2499)
    assert event["data"]["subscription"]["amount"] == 2499
    assert entitlement(till)["valid_until"] == life(till, asked)["period_end"]
    assert till.ask(**{**MONTHLY, "amount": 2499})["reused"], "what they have costs that now"
    assert till.payment(asked)["amount"] == 1999, "the first payment stays what it was"


def events(till: Till) -> list[Json]:
    return list(till.agent.get("/v1/events", params={"limit": 100}).json()["data"])


def test_t235_who_declines_pays_what_they_agreed_to(till: Till, http_user: HttpUser) -> None:
    asked, subscription = subscribed(till, http_user)
    question = changed(till, asked)
    http_user.open(question["url"])
    http_user.press("decline")
    assert till.look(question)["status"] == "declined"
    assert "The price of your subscription stays as it is." in http_user.text
    assert (life(till, asked)["amount"], updates(till, subscription)) == (1999, 0)
    assert told(till, asked) == []


def test_t235_neither_asking_nor_time_nor_another_person_changes_a_price(
    till: Till, new_http_user: Callable[..., HttpUser]
) -> None:
    alice, bob = new_http_user(), new_http_user()
    asked, subscription = subscribed(till, alice)
    question = changed(till, asked)
    bob.open(question["url"])
    bob.carry_on("signin", "bob")
    assert bob.page_name == "mismatch"
    assert till.agent.post(f"/v1/elicitations/{question['id']}/cancel").json()["status"] == "cancelled"
    assert (life(till, asked)["amount"], updates(till, subscription)) == (1999, 0)
    alice.open(question["url"])
    assert alice.page_name == "done"
    assert price_at_stripe(till, subscription) == 1999


@pytest.mark.parametrize("missing", ["another agent", "another person", "no such"])
def test_t238_only_its_agent_asks_and_only_its_person_is_asked(
    till: Till, new_till: Callable[..., Till], http_user: HttpUser, missing: str
) -> None:
    asked, _ = subscribed(till, http_user)
    name = life(till, asked)["id"] if missing != "no such" else "su_none"
    who = {"who": BOB} if missing == "another person" else {}
    asking = new_till(till.box) if missing == "another agent" else till
    answer = asking.try_to_ask(**who, description=None, mode="subscribe", changes=name, amount=1)
    assert answer.status_code == 422
    [error] = answer.json()["errors"]
    assert (error["loc"], "no such subscription" in error["message"]) == (["params", "changes"], True)


def test_what_cannot_be_changed_says_why(till: Till, http_user: HttpUser) -> None:
    asked, subscription = subscribed(till, http_user)

    def refusal(**more: Any) -> str:
        answer = change(till, asked, **more)
        assert answer.status_code == 422, answer.text
        return str(answer.json()["errors"][0]["message"])

    assert refusal(amount=1999) == "It costs that already."
    assert "keeps the currency" in refusal(currency="usd")
    assert "Leave it out" in refusal(interval="year")
    till.stripe.order("renew", subscription=subscription, outcome="fail")
    until(lambda: life(till, asked)["status"] == "past_due", "it is past due", timeout=15)
    assert "not paid" in refusal()
    till.stripe.order("collect", subscription=subscription, outcome="ok")
    until(lambda: life(till, asked)["status"] == "active", "it is paid", timeout=15)
    press(till, http_user, asked, "unsubscribe")
    assert "cancelled" in refusal()
    till.stripe.order("end", subscription=subscription)
    until(lambda: life(till, asked)["status"] == "ended", "it has ended", timeout=15)
    assert "has ended" in refusal()


def test_one_that_ends_between_the_question_and_the_yes_is_not_changed(till: Till, http_user: HttpUser) -> None:
    asked, subscription = subscribed(till, http_user)
    question = changed(till, asked)
    till.stripe.order("weather", drop=True)
    till.stripe.order("end", subscription=subscription)
    agree(http_user, question)
    over = till.becomes(question, "failed")
    assert over["error"]["code"] == "price_not_changed"
    assert "The price was not changed" in http_user.text
    assert (life(till, asked)["status"], life(till, asked)["amount"]) == ("ended", 1999)
    assert "subscription.price_changed" not in told(till, asked)


@pytest.mark.parametrize("fault", ["503", "lose_reply"])
def test_a_lost_answer_changes_it_once(till: Till, http_user: HttpUser, fault: str) -> None:
    asked, subscription = subscribed(till, http_user)
    question = changed(till, asked)
    till.stripe.order("fault", name=fault, on="POST /v1/subscriptions/*", times=20)
    http_user.open(question["url"])
    late_no = http_user.form_request("decline")
    agree(http_user, question)
    assert till.look(question)["status"] == "settling"
    assert till.agent.post(f"/v1/elicitations/{question['id']}/cancel").status_code == 409, "they have agreed"
    pressed = http_user.send(late_no)
    assert (pressed.status_code, pressed.headers.get("location")) == (303, f"/c/{question['id']}/done"), (
        "the page asks for itself by GET, and there is nothing to get where forms are sent to"
    )
    assert (life(till, asked)["amount"], told(till, asked)) == (1999, [])
    assert "under way" in change(till, asked, 2999).json()["errors"][0]["message"]
    till.stripe.order("calm")
    till.sql("UPDATE elicit_flows_pricechange SET try_at = %s WHERE try_at IS NOT NULL", LONG_AGO)
    till.becomes(question, "completed", timeout=20)
    settled(till)
    assert (life(till, asked)["amount"], price_at_stripe(till, subscription)) == (2499, 2499)
    assert told(till, asked) == ["subscription.price_changed"]


def test_t235_a_price_that_others_change_at_the_provider_is_told_and_counts_for_nothing(
    each_till: Till, http_user: HttpUser
) -> None:
    till = each_till
    asked, subscription = subscribed(till, http_user)
    till.stripe.order("reprice", subscription=subscription, amount=2999)
    until(lambda: told(till, asked), "it is told", timeout=15)
    settled(till)
    let_a_day_pass(till, asked)
    settled(till)
    assert told(till, asked) == ["payment.mismatch"], "once"
    [event] = [one for one in events(till) if one["type"] == "payment.mismatch"]
    assert event["data"]["problem"]["code"] == "price"
    assert "2999 eur for each month" in event["data"]["problem"]["message"]
    assert life(till, asked)["amount"] == 1999, "what they agreed to"
    assert "€19.99" in card_of(till, http_user, asked)
    question = changed(till, asked, 2499)
    agree(http_user, question)
    till.becomes(question, "completed")
    assert price_at_stripe(till, subscription) == 2499, "what they agree to now holds there too"


def test_five_presses_at_once_and_one_after_change_it_once(till: Till, http_user: HttpUser) -> None:
    asked, subscription = subscribed(till, http_user)
    question = changed(till, asked)
    http_user.open(question["url"])
    pressed = http_user.form_request("continue")
    answers = [*http_user.at_once(pressed, 5), http_user.send(pressed)]
    assert {one.status_code for one in answers} <= {303, 410}, [one.text[:200] for one in answers]
    till.becomes(question, "completed")
    settled(till)
    assert updates(till, subscription) == 1
    assert told(till, asked) == ["subscription.price_changed"]
