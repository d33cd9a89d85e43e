"""What a person takes back at /account: a subscription that they paid for, a payment method that they saved."""

from __future__ import annotations

from collections.abc import Callable

import httpx2
import pytest

from tests.payments.test_hints import DONE, settled
from tests.payments.test_modes import MONTHLY, entitlement, let_a_day_pass, subscribed
from tests.payments.till import LONG_AGO, Json, Till
from tests.support.http_user import HttpUser
from tests.support.process import until

pytestmark = pytest.mark.slow

CHANGE, DETACH = "POST /v1/subscriptions/*", "POST /v1/payment_methods/*/detach"


def card_of(till: Till, user: HttpUser, asked: Json) -> str:
    """The part of /account/payments that is about this payment, as HTML."""
    user.open(f"{till.box.url}/account/payments")
    return user.answer.text.partition(f'<li id="{till.payment_id(asked)}"')[2].partition("<li id=")[0]


def cancel_request(till: Till, user: HttpUser, asked: Json) -> httpx2.Request:
    """With the token of the page that the user is on."""
    path = f"/account/payments/{till.payment_id(asked)}/cancel"
    return user._request("POST", f"{till.box.url}{path}", data=token(user))


def token(user: HttpUser) -> Json:
    user.form_request("signout")  # from here on the browser is on its way from this page
    return dict(user.page.forms["signout"].fields)


def press(till: Till, user: HttpUser, asked: Json, action: str) -> None:
    card = card_of(till, user, asked)
    assert f'action="/account/payments/{till.payment_id(asked)}/cancel" data-action="{action}"' in card
    user._go(cancel_request(till, user, asked))
    assert user.page_name == "account"


def at_stripe(till: Till, subscription: str) -> Json:
    return next(one for one in till.stripe.state()["subscriptions"] if one["id"] == subscription)


def saved(till: Till, user: HttpUser) -> tuple[Json, str]:
    """The elicitation, and Stripe's name of the customer."""
    asked = till.ask(mode="save", amount=0, item="card")
    till.pay(user, asked)
    till.becomes(asked, "completed")
    return asked, str(next(one for one in till.opened_at_stripe(asked))["customer"])


def methods(till: Till, customer: str) -> int:
    return len([one for one in till.stripe.state()["payment_methods"] if one["customer"] == customer])


def try_again_now(till: Till, asked: Json) -> None:
    statement = "UPDATE elicit_flows_cancellation SET try_at = %s WHERE payment_id = %s AND try_at IS NOT NULL"
    till.sql(statement, LONG_AGO, till.payment_id(asked))


@pytest.mark.slow
def test_a_subscription_is_cancelled_and_lasts_as_long_as_it_is_paid(each_till: Till, http_user: HttpUser) -> None:
    till = each_till
    asked, subscription = subscribed(till, http_user)
    assert "Next charge" in card_of(till, http_user, asked)
    press(till, http_user, asked, "unsubscribe")
    page = card_of(till, http_user, asked)
    assert "Nothing more is charged." in page
    assert "unsubscribe" not in page
    assert at_stripe(till, subscription)["cancel_at_period_end"] is True
    settled(till)
    payment = till.payment(asked)
    assert payment["ends_at"] == payment["period_end"] == entitlement(till)["valid_until"]
    assert till.stands(asked) == ("completed", "active", [*DONE, "payment.unsubscribed"])
    assert entitlement(till)["usable"], "what is paid lasts"
    assert till.ask(**MONTHLY)["reused"], "nobody pays twice for the same time"
    till.stripe.order("renew", subscription=subscription)
    until(lambda: till.payment(asked)["status"] == "ended", "it has ended", timeout=15)
    assert entitlement(till)["status"] == "ended"
    assert len([one for one in till.stripe.state()["charges"] if one["paid"]]) >= 1
    told = [*DONE, "payment.unsubscribed", "payment.ended"]
    assert till.stands(asked) == ("completed", "ended", told)


@pytest.mark.slow
def test_a_cancellation_that_the_provider_does_not_take_is_told_again_until_it_does(
    till: Till, http_user: HttpUser
) -> None:
    asked, subscription = subscribed(till, http_user)
    till.stripe.order("fault", name="503", on=CHANGE, times=20)
    press(till, http_user, asked, "unsubscribe")
    assert "has not confirmed that yet" in card_of(till, http_user, asked)
    assert till.stands(asked) == ("completed", "active", DONE), "nothing is told that is not so"
    till.stripe.order("calm")
    try_again_now(till, asked)
    until(lambda: till.payment(asked)["ends_at"], "the provider has taken it", timeout=15)
    assert at_stripe(till, subscription)["cancel_at_period_end"] is True
    until(lambda: "Nothing more is charged." in card_of(till, http_user, asked), "the page says so", timeout=10)
    settled(till)
    assert till.stands(asked) == ("completed", "active", [*DONE, "payment.unsubscribed"])


@pytest.mark.slow
def test_a_cancellation_whose_answer_is_lost_is_made_and_told_once(till: Till, http_user: HttpUser) -> None:
    asked, subscription = subscribed(till, http_user)
    till.stripe.order("fault", name="lose_reply", on=CHANGE, times=3)
    press(till, http_user, asked, "unsubscribe")
    try_again_now(till, asked)
    until(lambda: "Nothing more is charged." in card_of(till, http_user, asked), "the page says so", timeout=15)
    settled(till)
    assert till.stands(asked) == ("completed", "active", [*DONE, "payment.unsubscribed"])
    assert at_stripe(till, subscription)["status"] == "active"


def test_many_presses_at_once_are_one_cancellation(till: Till, http_user: HttpUser) -> None:
    asked, _ = subscribed(till, http_user)
    card_of(till, http_user, asked)
    request = cancel_request(till, http_user, asked)
    assert {one.status_code for one in http_user.at_once(request, 6)} <= {303, 409}
    until(lambda: till.payment(asked)["ends_at"], "it is cancelled", timeout=15)
    settled(till)
    assert till.events(asked).count("payment.unsubscribed") == 1


def test_a_subscription_that_is_cancelled_at_the_provider_is_seen_to_be(till: Till, http_user: HttpUser) -> None:
    """The subscription ends in the provider's dashboard or portal, also without a webhook."""
    asked, subscription = subscribed(till, http_user)
    till.stripe.order("weather", drop=True)
    till.stripe.order("cancel", subscription=subscription)
    let_a_day_pass(till, asked)
    until(lambda: till.payment(asked)["ends_at"], "the sweep has looked", timeout=15)
    assert till.stands(asked) == ("completed", "active", [*DONE, "payment.unsubscribed"])
    assert "Nothing more is charged." in card_of(till, http_user, asked)


def test_what_was_saved_is_removed_and_its_agent_is_told_at_once(each_till: Till, http_user: HttpUser) -> None:
    till = each_till
    asked, customer = saved(till, http_user)
    before = methods(till, customer)
    press(till, http_user, asked, "remove")
    assert "Payment method removed" in card_of(till, http_user, asked)
    assert methods(till, customer) == before - 1
    assert till.stands(asked) == ("completed", "removed", [*DONE, "payment.removed"])
    [granted] = till.agent.get("/v1/entitlements", params={"item": "card"}).json()["data"]
    assert (granted["status"], granted["usable"]) == ("revoked", False)
    assert till.ask(mode="save", amount=0, item="card")["reused"] is False


@pytest.mark.slow
def test_what_was_saved_is_removed_at_the_provider_once_that_answers(till: Till, http_user: HttpUser) -> None:
    asked, customer = saved(till, http_user)
    before = methods(till, customer)
    till.stripe.order("fault", name="503", on=DETACH, times=20)
    press(till, http_user, asked, "remove")
    assert till.stands(asked) == ("completed", "removed", [*DONE, "payment.removed"]), "its agent is told at once"
    assert "has not confirmed that yet" in card_of(till, http_user, asked)
    assert methods(till, customer) == before
    till.stripe.order("calm")
    try_again_now(till, asked)
    until(lambda: methods(till, customer) == before - 1, "the provider has removed it", timeout=15)
    until(lambda: "not confirmed" not in card_of(till, http_user, asked), "the page says so", timeout=10)


@pytest.mark.parametrize("whose", ["nobody", "bob"])
def test_t62_what_others_agreed_to_cannot_be_cancelled(
    till: Till, new_http_user: Callable[..., HttpUser], whose: str
) -> None:
    alice, other = new_http_user(), new_http_user()
    asked, subscription = subscribed(till, alice)
    if whose == "bob":
        other.connect(till.ask()["url"], "bob")
        card_of(till, other, asked)
        answer = other.send(cancel_request(till, other, asked))
        assert answer.status_code == 404
    else:
        path = f"/account/payments/{till.payment_id(asked)}/cancel"
        assert other.send(other._request("POST", f"{till.box.url}{path}", data={})).status_code == 403
    assert at_stripe(till, subscription)["cancel_at_period_end"] is False


def test_t55_no_other_site_cancels_what_somebody_subscribed_to(till: Till, http_user: HttpUser) -> None:
    asked, subscription = subscribed(till, http_user)
    path = f"{till.box.url}/account/payments/{till.payment_id(asked)}/cancel"
    assert http_user.get(path).status_code == 405, "no link does it"
    assert http_user.send(http_user._request("POST", path, data={})).status_code == 403, "nor a form without our token"
    assert at_stripe(till, subscription)["cancel_at_period_end"] is False


def test_what_was_paid_once_cannot_be_cancelled(till: Till, http_user: HttpUser) -> None:
    asked = till.ask(item="news")
    till.pay(http_user, asked)
    till.becomes(asked, "completed")
    assert "/cancel" not in card_of(till, http_user, asked)


def test_who_comes_back_without_paying_is_told_so_and_by_the_provider_alone(till: Till, http_user: HttpUser) -> None:
    asked = till.ask()
    till.at_stripe(http_user, asked)
    http_user.press("back")
    assert http_user.page_name == "consent"
    assert "You came back without paying. Nothing was charged." in http_user.text
    said = http_user.url
    before = till.stands(asked)
    http_user.open(asked["url"])
    assert "You came back" not in http_user.text, "it is said of the moment alone"
    other = till.ask(amount=500)
    for forged in (f"{other['url']}?{said.partition('?')[2]}", f"{asked['url']}?unpaid={asked['id']}", f"{said}x"):
        http_user.open(forged)
        assert http_user.page_name == "consent"
        assert "You came back" not in http_user.text
    assert till.stands(asked) == before, "no page that is looked at changes anything"


def test_who_comes_back_is_told_nothing_that_the_provider_does_not_say(till: Till, http_user: HttpUser) -> None:
    asked = till.ask()
    till.at_stripe(http_user, asked)
    till.stripe.order("fault", name="503", on="GET /v1/checkout/sessions/*", times=20)
    http_user.press("back")
    assert http_user.page_name == "consent"
    assert "You came back" not in http_user.text


def test_who_comes_back_in_the_middle_of_several_steps_is_told_too(till: Till, http_user: HttpUser) -> None:
    step: Json = {"kind": "payment", "params": {"amount": 1999, "currency": "eur", "description": "A report"}}
    body: Json = {
        "kind": "steps", "subject": {"iss": till.corp.issuer, "sub": "alice"}, "message": "Two things.",
        "params": {"steps": [step, {"kind": "confirm", "params": {}}]},
    }  # fmt: skip
    asked = till.agent.post("/v1/elicitations", json=body).json()
    till.at_stripe(http_user, asked)
    http_user.press("back")
    assert "You came back without paying. Nothing was charged." in http_user.text
