"""Another card for a mandate, a subscription or a saved method: its person gives it at /account, on Stripe's page."""

from __future__ import annotations

from collections.abc import Callable

import httpx2
import pytest

from tests.cast import BOB
from tests.payments.test_cancellation import at_stripe, card_of, methods, press, saved, token
from tests.payments.test_hints import DONE, go_away, settled
from tests.payments.test_mandates import charge, given, intents, told
from tests.payments.test_modes import MONTHLY, subscribed
from tests.payments.till import KEY, LONG_AGO, Json, Till
from tests.support.http_user import HttpUser
from tests.support.process import until

DETACH = "POST /v1/payment_methods/*/detach"
CHANGE = "POST /v1/subscriptions/*"


def leave(till: Till, user: HttpUser, payment: str) -> None:
    """By the button of the page that the user is on, to Stripe's page."""
    assert f'action="/account/payments/{payment}/replace" data-action="replace"' in user.answer.text
    with user.stopping_at(f"{till.stripe.url}/c/pay/"):
        user._go(user._request("POST", f"{till.box.url}/account/payments/{payment}/replace", data=token(user)))
        assert user.stopped, f"{user.url}: {user.text[:300]}"
    user.follow()


def replace(till: Till, user: HttpUser, payment: str, how: str = "pay") -> None:
    """All the way, and back to our page."""
    leave(till, user, payment)
    user.press(how)


def at_mandate(till: Till, user: HttpUser) -> Json:
    """A mandate, and the user on its page."""
    mandate = given(till, user)
    user.open(f"{till.box.url}/account/payments/mandates/{mandate['id']}")
    return mandate | {"payment": till.payment_id(mandate["asked"]), "former": method_of(till, mandate)}


def method_of(till: Till, mandate: Json) -> str:
    return str(till.sql("SELECT method_ref FROM elicit_flows_mandate WHERE id = %s", mandate["id"])[0][0])


def attached(till: Till, method: str) -> bool:
    found = next(one for one in till.stripe.state()["payment_methods"] if one["id"] == method)
    return found["customer"] is not None


def by_hand(till: Till, subscription: str, method: str) -> None:
    """The operator has a subscription charged to this method."""
    answer = httpx2.post(
        f"{till.stripe.url}/v1/subscriptions/{subscription}", data={"default_payment_method": method},
        headers={"authorization": f"Bearer {KEY}"}, trust_env=False,
    )  # fmt: skip
    assert answer.status_code == 200, answer.text


def finished(till: Till, asked: Json) -> bool:
    """Whether nothing is left of a replacement for the sweep to do."""
    statement = "SELECT replaces, look_at FROM elicit_flows_checkout WHERE payment_id = %s AND replaces IS NOT NULL"
    return till.sql(statement, till.payment_id(asked)) == [("", None)]


def look_now(till: Till) -> None:
    till.sql(
        "UPDATE elicit_flows_checkout SET look_at = %s WHERE replaces IS NOT NULL AND look_at IS NOT NULL", LONG_AGO
    )


def test_the_card_of_a_mandate_is_replaced_and_the_former_one_removed(till: Till, http_user: HttpUser) -> None:
    mandate = at_mandate(till, http_user)
    former = mandate["former"]
    replace(till, http_user, mandate["payment"])
    assert "The payment method is replaced" in http_user.text
    assert method_of(till, mandate) != former
    until(lambda: not attached(till, former), "Stripe has removed the former one", timeout=15)
    assert attached(till, method_of(till, mandate))
    made = charge(till, mandate, 1500, "one")
    assert (made.status_code, made.json()["status"]) == (201, "paid")
    [intent] = [
        one for one in till.stripe.state()["payment_intents"] if one["payment_method"] == method_of(till, mandate)
    ]
    assert (intent["status"], intent["amount"]) == ("succeeded", 1500)
    assert intents(till, mandate) == [("succeeded", 1500)]
    assert told(till) == ["created", "changed", "charged"]


def test_the_card_of_a_subscription_is_replaced_and_the_next_period_is_charged_to_it(
    till: Till, http_user: HttpUser
) -> None:
    asked, subscription = subscribed(till, http_user)
    former = at_stripe(till, subscription)["default_payment_method"]
    card_of(till, http_user, asked)
    replace(till, http_user, till.payment_id(asked))
    assert "The payment method is replaced" in http_user.text
    now = at_stripe(till, subscription)["default_payment_method"]
    assert now != former
    until(lambda: not attached(till, former), "Stripe has removed the former one", timeout=15)
    assert attached(till, now)
    assert till.stands(asked) == ("completed", "active", DONE)
    till.stripe.order("renew", subscription=subscription)
    charged = [one["payment_method"] for one in till.stripe.state()["charges"]]
    assert [one for one in charged if one in {former, now}] == [former, now]
    press(till, http_user, asked, "unsubscribe")
    assert at_stripe(till, subscription)["cancel_at_period_end"] is True
    assert attached(till, now), "who keeps it after all is charged to the new one"


def test_a_saved_card_is_replaced_and_then_removed(till: Till, http_user: HttpUser) -> None:
    asked, customer = saved(till, http_user)
    before = methods(till, customer)
    card_of(till, http_user, asked)
    replace(till, http_user, till.payment_id(asked))
    until(lambda: methods(till, customer) == before, "Stripe has removed the former one", timeout=15)
    press(till, http_user, asked, "remove")
    assert methods(till, customer) == before - 1
    assert till.stands(asked) == ("completed", "removed", [*DONE, "payment.removed"])


@pytest.mark.slow
def test_who_comes_back_without_a_card_keeps_the_former_one(till: Till, http_user: HttpUser) -> None:
    mandate = at_mandate(till, http_user)
    replace(till, http_user, mandate["payment"], how="back")
    assert "is replaced" not in http_user.text
    assert (method_of(till, mandate), told(till)) == (mandate["former"], ["created"])
    sessions = len(till.creates())
    http_user.open(f"{till.box.url}/account/payments/mandates/{mandate['id']}")
    replace(till, http_user, mandate["payment"])
    assert len(till.creates()) == sessions, "the page that is still open is shown again"
    assert method_of(till, mandate) != mandate["former"]
    assert told(till) == ["created", "changed"]


@pytest.mark.slow
@pytest.mark.parametrize("by", ["webhook", "sweep"])
def test_what_the_browser_did_not_finish_is_finished_once(till: Till, http_user: HttpUser, by: str) -> None:
    mandate = at_mandate(till, http_user)
    till.stripe.order("weather", drop=by == "sweep", duplicate=2)
    leave(till, http_user, mandate["payment"])
    go_away(till, http_user)
    if by == "sweep":
        assert method_of(till, mandate) == mandate["former"]
        look_now(till)
    until(lambda: method_of(till, mandate) != mandate["former"], "it is replaced", timeout=15)
    until(lambda: not attached(till, mandate["former"]), "Stripe has removed the former one", timeout=15)
    settled(till)
    assert told(till) == ["created", "changed"]


FAULTS, CALLS = ("lose_reply", "503", "500_executed"), (CHANGE, DETACH, "POST /v1/checkout/sessions")


# Each call and each fault once, and the other pairs among the slow tests.
@pytest.mark.parametrize(
    ("fault", "on"),
    [
        pytest.param(fault, on, marks=() if FAULTS.index(fault) == CALLS.index(on) else pytest.mark.slow)
        for fault in FAULTS
        for on in CALLS
    ],
)
def test_a_call_that_fails_is_repeated_until_the_new_card_alone_is_left(
    till: Till, http_user: HttpUser, fault: str, on: str
) -> None:
    asked, subscription = subscribed(till, http_user)
    former = at_stripe(till, subscription)["default_payment_method"]
    customer = at_stripe(till, subscription)["customer"]
    before = methods(till, customer)
    card_of(till, http_user, asked)
    till.stripe.order("fault", name=fault, on=on, times=3)
    if on == "POST /v1/checkout/sessions":
        path = f"{till.box.url}/account/payments/{till.payment_id(asked)}/replace"
        assert http_user.send(http_user._request("POST", path, data=token(http_user))).status_code == 503
        card_of(till, http_user, asked)
        till.stripe.order("calm")
    replace(till, http_user, till.payment_id(asked))
    till.stripe.order("calm")

    def done() -> bool:
        look_now(till)
        return not attached(till, former)

    until(done, "Stripe has removed the former one", timeout=30)
    now = at_stripe(till, subscription)["default_payment_method"]
    assert (now != former, attached(till, now), methods(till, customer)) == (True, True, before)


def test_a_card_that_came_after_the_mandate_was_ended_is_removed(till: Till, http_user: HttpUser) -> None:
    mandate = at_mandate(till, http_user)
    leave(till, http_user, mandate["payment"])
    assert till.agent.post(f"/v1/mandates/{mandate['id']}/end").status_code == 200
    till.stripe.order("fault", name="503", on="POST /v1/checkout/sessions/*/expire", times=20)
    go_away(till, http_user)
    late = till.stripe.state()["payment_methods"][-1]["id"]
    assert late != mandate["former"]
    till.stripe.order("calm")
    look_now(till)
    until(lambda: not attached(till, late), "Stripe has removed the new one too", timeout=15)
    assert (method_of(till, mandate), told(till)) == (mandate["former"], ["created", "ended"])


@pytest.mark.slow
@pytest.mark.parametrize("default", [False, True])
def test_a_card_that_another_subscription_may_be_charged_to_stays(
    till: Till, http_user: HttpUser, default: bool
) -> None:
    first, one = subscribed(till, http_user)
    more = till.ask(**MONTHLY | {"item": "another"})
    till.pay(http_user, more)
    till.becomes(more, "completed")
    other = str(till.paid_at_stripe(more)[0]["subscription"])
    former = at_stripe(till, one)["default_payment_method"]
    if default:
        till.stripe.order("use_default_method", subscription=other)
    else:
        by_hand(till, other, former)
    card_of(till, http_user, first)
    replace(till, http_user, till.payment_id(first))
    until(lambda: finished(till, first), "there is nothing left to do", timeout=15)
    assert at_stripe(till, other)["default_payment_method"] == (None if default else former)
    assert attached(till, former)


@pytest.mark.slow
def test_a_card_that_is_saved_for_something_else_stays(till: Till, http_user: HttpUser) -> None:
    """Stripe's page of a subscription offers the customer the cards that they saved before."""
    kept, customer = saved(till, http_user)
    card = [one["id"] for one in till.stripe.state()["payment_methods"] if one["customer"] == customer][-1]
    asked, subscription = subscribed(till, http_user)
    assert at_stripe(till, subscription)["customer"] == customer
    by_hand(till, subscription, card)
    card_of(till, http_user, asked)
    replace(till, http_user, till.payment_id(asked))
    until(lambda: finished(till, asked), "there is nothing left to do", timeout=15)
    assert at_stripe(till, subscription)["default_payment_method"] != card
    assert till.payment(kept)["status"] == "saved"
    assert attached(till, card)


def test_a_card_that_a_subscription_is_charged_to_stays_when_it_is_no_longer_saved(
    till: Till, http_user: HttpUser
) -> None:
    kept, customer = saved(till, http_user)
    card = [one["id"] for one in till.stripe.state()["payment_methods"] if one["customer"] == customer][-1]
    _, subscription = subscribed(till, http_user)
    by_hand(till, subscription, card)
    press(till, http_user, kept, "remove")
    assert till.stands(kept)[1] == "removed"
    assert "Payment method removed" in card_of(till, http_user, kept)
    done = "SELECT done_at IS NOT NULL FROM elicit_flows_cancellation WHERE payment_id = %s"
    until(lambda: till.sql(done, till.payment_id(kept)) == [(True,)], "Stripe was told", timeout=15)
    assert attached(till, card)


def test_what_has_ended_has_nothing_to_replace(till: Till, http_user: HttpUser) -> None:
    asked, _ = subscribed(till, http_user)
    press(till, http_user, asked, "unsubscribe")
    assert "/replace" not in card_of(till, http_user, asked)
    path = f"{till.box.url}/account/payments/{till.payment_id(asked)}/replace"
    assert http_user.send(http_user._request("POST", path, data=token(http_user))).status_code == 409


def test_t259_nobody_else_replaces_a_card(till: Till, new_http_user: Callable[..., HttpUser]) -> None:
    alice, bob = new_http_user(), new_http_user()
    mandate = at_mandate(till, alice)
    path = f"{till.box.url}/account/payments/{mandate['payment']}/replace"
    bob.connect(till.ask()["url"], "bob")
    bob.open(f"{till.box.url}/account/payments")
    sessions = len(till.creates())
    assert bob.send(bob._request("POST", path, data=token(bob))).status_code == 404
    assert alice.send(alice._request("POST", path, data={})).status_code == 403, "nor does another site"
    assert alice.get(path).status_code == 405, "nor a link"
    assert len(till.creates()) == sessions
    assert method_of(till, mandate) == mandate["former"]


def test_t259_a_card_of_another_customer_takes_no_place(till: Till, new_http_user: Callable[..., HttpUser]) -> None:
    alice, bob = new_http_user(), new_http_user()
    mandate = at_mandate(till, alice)
    theirs = till.ask(BOB, mode="save", amount=0)
    till.pay(bob, theirs, who="bob")
    till.becomes(theirs, "completed")
    customer = till.opened_at_stripe(theirs)[0]["customer"]
    before = methods(till, customer)
    till.stripe.order("bend", customer=customer)
    replace(till, alice, mandate["payment"])
    assert "is replaced" not in alice.text
    until(lambda: finished(till, mandate["asked"]), "there is nothing left to do", timeout=15)
    assert (method_of(till, mandate), told(till)) == (mandate["former"], ["created"])
    assert attached(till, mandate["former"])
    assert methods(till, customer) == before + 1, "it is not ours to remove"
    found = till.agent.get("/v1/events", params={"limit": 100}).json()["data"]
    [problem] = [one["data"]["problem"] for one in found if one["type"] == "payment.mismatch"]
    assert customer in problem["message"]
    made = charge(till, mandate, 1500, "one")
    assert (made.status_code, made.json()["status"]) == (201, "paid")
