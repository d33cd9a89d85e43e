"""Saving a card and subscribing, all the way (payments.md, section 5, cases 31 and 32)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.payments.test_hints import DONE, go_away, settled
from tests.payments.till import LONG_AGO, Json, Till
from tests.support.http_user import HttpUser
from tests.support.process import until

pytestmark = pytest.mark.slow

MONTHLY: Json = {"mode": "subscribe", "interval": "month", "item": "news"}


def entitlement(till: Till) -> Json:
    (found,) = till.agent.get("/v1/entitlements", params={"sub": "alice", "item": "news"}).json()["data"]
    return dict(found)


def lasts(till: Till) -> timedelta:
    """From now."""
    return datetime.fromisoformat(entitlement(till)["valid_until"]) - datetime.now(UTC)


def subscribed(till: Till, user: HttpUser) -> tuple[Json, str]:
    """The elicitation, and Stripe's name of the subscription."""
    asked = till.ask(**MONTHLY)
    till.pay(user, asked)
    till.becomes(asked, "completed")
    assert till.stands(asked) == ("completed", "active", DONE)
    return asked, str(till.paid_at_stripe(asked)[0]["subscription"])


def test_case_31_a_card_is_saved_and_nothing_is_charged(each_till: Till, http_user: HttpUser) -> None:
    till = each_till
    before = till.stripe.state()
    asked = till.ask(mode="save", amount=0)
    till.pay(http_user, asked)
    found = till.becomes(asked, "completed")
    assert found["result"] == {
        "payment": till.payment_id(asked), "livemode": False, "amount": 0, "currency": "eur", "status": "saved",
        "receipt_url": None,
    }  # fmt: skip
    assert till.stands(asked) == ("completed", "saved", DONE)
    after = till.stripe.state()
    assert [len(after[kind]) - len(before[kind]) for kind in ("charges", "payment_intents", "refunds")] == [0, 0, 0]
    answer = till.agent.post(f"/v1/payments/{till.payment_id(asked)}/refunds", json={})
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")


def test_case_31_a_card_that_is_saved_after_the_agent_took_it_back_is_told_and_costs_nothing(
    till: Till, http_user: HttpUser
) -> None:
    till.stripe.order("fault", name="503", on="POST /v1/checkout/sessions/*/expire", times=20)
    asked = till.ask(mode="save", amount=0)
    till.at_stripe(http_user, asked)
    till.agent.post(f"/v1/elicitations/{asked['id']}/cancel")
    http_user.press("pay")
    until(lambda: "payment.mismatch" in till.events(asked), "the agent is told")
    settled(till)
    assert till.stands(asked) == ("cancelled", "saved", ["created", "started", "cancelled", "payment.mismatch"])


@pytest.mark.parametrize("order", ["fifo", "lifo"])
def test_case_32_in_whatever_order_the_news_of_a_subscription_comes_it_is_told_once(
    till: Till, http_user: HttpUser, order: str
) -> None:
    till.stripe.order("weather", hold=True)
    asked = till.ask(**MONTHLY)
    till.at_stripe(http_user, asked)
    go_away(till, http_user)
    released = [one["type"] for one in till.stripe.order("release", order=order)]
    assert sorted(released) == ["checkout.session.completed", "customer.subscription.created", "invoice.paid"]
    found = till.becomes(asked, "completed")
    settled(till)
    assert found["result"]["entitlement"] == entitlement(till)["id"]
    assert found["result"]["status"] == "active"
    assert till.stands(asked) == ("completed", "active", DONE)
    assert entitlement(till)["usable"]
    assert timedelta(days=27) < lasts(till) < timedelta(days=32)


def test_case_32_a_renewal_makes_it_last_longer(each_till: Till, http_user: HttpUser) -> None:
    till = each_till
    asked, subscription = subscribed(till, http_user)
    till.stripe.order("renew", subscription=subscription)
    until(lambda: timedelta(days=55) < lasts(till) < timedelta(days=63), "it lasts for two months", timeout=15)
    settled(till)
    assert till.stands(asked) == ("completed", "active", [*DONE, "subscription.renewed"])


def test_case_32_a_subscription_that_ends_takes_what_it_gave(each_till: Till, http_user: HttpUser) -> None:
    till = each_till
    asked, subscription = subscribed(till, http_user)
    assert till.ask(**MONTHLY)["reused"], "while it lasts nobody is asked again"
    till.stripe.order("end", subscription=subscription)
    until(lambda: entitlement(till)["status"] == "ended", "it has ended", timeout=15)
    settled(till)
    assert not entitlement(till)["usable"]
    assert till.stands(asked) == ("completed", "ended", [*DONE, "payment.ended"])
    again = till.ask(**MONTHLY)
    assert (again["status"], again["reused"]) == ("pending", False)


def test_case_32_an_end_that_no_webhook_told_of_is_found(till: Till, http_user: HttpUser) -> None:
    asked, subscription = subscribed(till, http_user)
    till.stripe.order("weather", drop=True)
    till.stripe.order("end", subscription=subscription)
    assert entitlement(till)["status"] == "active"

    def ended() -> bool:
        let_a_day_pass(till, asked)  # again and again: a look at an earlier webhook sets the next one a day ahead
        return bool(entitlement(till)["status"] == "ended")

    until(ended, "the sweep has looked", timeout=15)
    assert till.stands(asked) == ("completed", "ended", [*DONE, "payment.ended"])


def let_a_day_pass(till: Till, asked: Json) -> None:
    """For the money of this elicitation."""
    statement = "UPDATE elicit_flows_checkout SET look_at = %s WHERE payment_id = %s AND look_at IS NOT NULL"
    till.sql(statement, LONG_AGO, till.payment_id(asked))


def test_a_refund_that_no_webhook_told_of_is_found(till: Till, http_user: HttpUser) -> None:
    asked = till.ask(item="news")
    till.pay(http_user, asked)
    till.becomes(asked, "completed")
    settled(till)
    till.stripe.order("weather", drop=True)
    till.stripe.order("refund", of=till.paid_at_stripe(asked)[0]["id"])
    let_a_day_pass(till, asked)
    until(lambda: till.payment(asked)["status"] == "refunded", "the sweep has looked", timeout=15)
    assert till.stands(asked) == ("completed", "refunded", [*DONE, "payment.refunded"])
    assert entitlement(till)["status"] == "revoked"


def test_case_25_a_subscription_that_was_taken_back_goes_back_and_does_not_go_on(
    till: Till, http_user: HttpUser
) -> None:
    till.stripe.order("fault", name="503", on="POST /v1/checkout/sessions/*/expire", times=20)
    asked = till.ask(**MONTHLY)
    till.at_stripe(http_user, asked)
    assert till.agent.post(f"/v1/elicitations/{asked['id']}/cancel").json()["status"] == "cancelled"
    http_user.press("pay")
    until(lambda: till.events(asked)[-1] == "payment.ended", "the agent was told all of it", timeout=20)
    told = ["created", "started", "cancelled", "payment.mismatch", "payment.refunded", "payment.ended"]
    assert (till.look(asked)["status"], sorted(till.events(asked))) == ("cancelled", sorted(told))
    assert till.payment(asked)["amount_refunded"] == 1999
    (session,) = till.paid_at_stripe(asked)
    (subscription,) = [one for one in till.stripe.state()["subscriptions"] if one["id"] == session["subscription"]]
    assert subscription["status"] == "canceled", "nobody is charged again next month"
    assert entitlement(till)["status"] == "revoked"
