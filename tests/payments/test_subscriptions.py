"""What becomes of a subscription at the sandbox's Stripe: renewed, refused, paid after all, cancelled, kept, ended."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from tests.payments.test_cancellation import at_stripe, card_of, press, token
from tests.payments.test_hints import DONE, settled
from tests.payments.test_modes import entitlement, let_a_day_pass, subscribed
from tests.payments.till import Json, Till
from tests.support.http_user import HttpUser
from tests.support.process import until

pytestmark = pytest.mark.slow


def life(till: Till, asked: Json) -> Json:
    """The subscription, as its agent sees it."""
    found = till.agent.get(f"/v1/subscriptions/{till.look(asked)['result']['subscription']}")
    return dict(found.json())


def renewals(till: Till, asked: Json) -> list[Json]:
    """Newest first."""
    path = f"/v1/subscriptions/{life(till, asked)['id']}/renewals"
    return list(till.agent.get(path, params={"limit": 100}).json()["data"])


def page_of(till: Till, user: HttpUser, asked: Json) -> str:
    user.open(f"{till.box.url}/account/payments/subscriptions/{life(till, asked)['id']}")
    return user.answer.text


def keep(till: Till, user: HttpUser, asked: Json) -> None:
    card = card_of(till, user, asked)
    path = f"/account/payments/subscriptions/{life(till, asked)['id']}/keep"
    assert f'action="{path}" data-action="keep"' in card
    user._go(user._request("POST", f"{till.box.url}{path}", data=token(user)))
    assert user.page_name == "account"


def told(till: Till, asked: Json) -> list[str]:
    """Since it began."""
    return till.events(asked)[len(DONE) :]


def test_a_renewal_that_is_refused_is_past_due_until_it_is_paid(till: Till, http_user: HttpUser) -> None:
    asked, subscription = subscribed(till, http_user)
    first = life(till, asked)
    assert (first["status"], first["amount"], first["interval"]) == ("active", 1999, "month")
    till.stripe.order("renew", subscription=subscription, outcome="fail")
    until(lambda: life(till, asked)["status"] == "past_due", "it is past due", timeout=15)
    late = life(till, asked)
    assert late["period_end"] == first["period_end"], "what was begun is not paid"
    grace = datetime.fromisoformat(late["grace_until"]) - datetime.fromisoformat(late["period_end"])
    assert grace == timedelta(days=3)
    assert entitlement(till)["valid_until"] == late["grace_until"]
    card = card_of(till, http_user, asked)
    assert "The last charge was refused" in card
    assert "Next charge" not in card
    page = page_of(till, http_user, asked)
    assert "Not charged" in page
    assert f'href="{renewals(till, asked)[0]["receipt_url"]}"' in page, "where it can be paid"
    till.stripe.order("collect", subscription=subscription, outcome="fail")
    till.stripe.order("collect", subscription=subscription, outcome="ok")
    until(lambda: life(till, asked)["status"] == "active", "it is paid", timeout=15)
    settled(till)
    [entry] = renewals(till, asked)
    assert (entry["status"], entry["amount"], entry["tries"]) == ("paid", 1999, 3)
    assert f'href="{entry["invoice_pdf"]}"' in page_of(till, http_user, asked)
    assert entry["invoice_pdf"] == f"{entry['receipt_url']}?pdf"
    assert life(till, asked)["period_end"] == entry["period_end"] == entitlement(till)["valid_until"]
    assert told(till, asked) == ["subscription.past_due", "subscription.renewed"]


def test_what_no_webhook_told_of_is_found_by_a_look(till: Till, http_user: HttpUser) -> None:
    asked, subscription = subscribed(till, http_user)
    till.stripe.order("weather", drop=True)
    for outcome in ("ok", "fail"):
        till.stripe.order("renew", subscription=subscription, outcome=outcome)
    let_a_day_pass(till, asked)
    until(lambda: life(till, asked)["status"] == "past_due", "the sweep has looked", timeout=15)
    assert [one["status"] for one in renewals(till, asked)].count("paid") == 1
    assert told(till, asked) == ["subscription.renewed", "subscription.past_due"]


def test_a_payer_who_cancelled_keeps_it_after_all(each_till: Till, http_user: HttpUser) -> None:
    till = each_till
    asked, subscription = subscribed(till, http_user)
    press(till, http_user, asked, "unsubscribe")
    until(lambda: life(till, asked)["ends_at"], "it is cancelled", timeout=15)
    assert life(till, asked)["cancelled_by"] == "person"
    keep(till, http_user, asked)
    assert "You keep the subscription." in http_user.text
    assert at_stripe(till, subscription)["cancel_at_period_end"] is False
    settled(till)
    assert (life(till, asked)["ends_at"], life(till, asked)["cancelled_by"]) == (None, None)
    assert told(till, asked) == ["payment.unsubscribed", "subscription.resumed"]
    till.stripe.order("renew", subscription=subscription)
    until(lambda: renewals(till, asked), "it goes on", timeout=15)
    press(till, http_user, asked, "unsubscribe")
    until(lambda: life(till, asked)["ends_at"], "it can be cancelled again", timeout=15)


@pytest.mark.parametrize("dated", [False, True])
def test_a_payer_keeps_what_was_cancelled_at_the_provider(till: Till, http_user: HttpUser, dated: bool) -> None:
    asked, subscription = subscribed(till, http_user)
    till.stripe.order("cancel", subscription=subscription, dated=dated)
    until(lambda: life(till, asked)["ends_at"], "it is cancelled", timeout=15)
    keep(till, http_user, asked)
    assert "You keep the subscription." in http_user.text
    assert at_stripe(till, subscription)["cancel_at"] is None
    till.stripe.order("renew", subscription=subscription)
    until(lambda: renewals(till, asked), "it goes on", timeout=15)


@pytest.mark.parametrize("at", ["period_end", "now"])
def test_an_agent_cancels_at_the_end_of_the_period_or_now(till: Till, http_user: HttpUser, at: str) -> None:
    asked, subscription = subscribed(till, http_user)
    path = f"/v1/subscriptions/{life(till, asked)['id']}/cancel"
    for _ in range(2):
        answer = till.agent.post(path, json={"at": at})
        assert answer.status_code == 200, answer.text
    said = answer.json()
    assert said["cancelled_by"] == "agent"
    settled(till)
    if at == "now":
        assert (said["status"], entitlement(till)["usable"]) == ("ended", False)
        assert at_stripe(till, subscription)["status"] == "canceled"
        assert told(till, asked) == ["payment.ended"]
    else:
        assert (said["status"], said["ends_at"]) == ("active", said["period_end"])
        assert entitlement(till)["usable"]
        assert told(till, asked) == ["payment.unsubscribed"]
        assert till.agent.post(path, json={"at": "now"}).json()["status"] == "ended"


def test_t236_what_its_payer_ended_goes_on_by_nobody_elses_hand(
    till: Till, new_http_user: Callable[..., HttpUser]
) -> None:
    alice, bob = new_http_user(), new_http_user()
    asked, subscription = subscribed(till, alice)
    press(till, alice, asked, "unsubscribe")
    name = life(till, asked)["id"]
    for call in ("resume", "keep"):
        assert till.agent.post(f"/v1/subscriptions/{name}/{call}", json={}).status_code == 404, (
            "an agent has no such call"
        )
    bob.connect(till.ask()["url"], "bob")
    bob.open(f"{till.box.url}/account/payments")
    path = f"{till.box.url}/account/payments/subscriptions/{name}"
    assert bob.send(bob._request("POST", f"{path}/keep", data=token(bob))).status_code == 404
    assert bob.get(path).status_code == 404
    assert alice.send(alice._request("POST", f"{path}/keep", data={})).status_code == 403, "nor does another site"
    assert at_stripe(till, subscription)["cancel_at_period_end"] is True


def test_what_has_ended_is_not_kept(till: Till, http_user: HttpUser) -> None:
    asked, subscription = subscribed(till, http_user)
    press(till, http_user, asked, "unsubscribe")
    till.stripe.order("end", subscription=subscription)
    until(lambda: life(till, asked)["status"] == "ended", "it has ended", timeout=15)
    card_of(till, http_user, asked)
    path = f"{till.box.url}/account/payments/subscriptions/{life(till, asked)['id']}/keep"
    assert http_user.send(http_user._request("POST", path, data=token(http_user))).status_code == 409


def test_a_provider_that_does_not_answer_keeps_nothing_and_the_page_says_so(till: Till, http_user: HttpUser) -> None:
    asked, subscription = subscribed(till, http_user)
    press(till, http_user, asked, "unsubscribe")
    card_of(till, http_user, asked)
    till.stripe.order("fault", name="503", on="POST /v1/subscriptions/*", times=20)
    path = f"{till.box.url}/account/payments/subscriptions/{life(till, asked)['id']}/keep"
    assert http_user.send(http_user._request("POST", path, data=token(http_user))).status_code == 503
    till.stripe.order("calm")
    settled(till)
    assert life(till, asked)["ends_at"], "it stays cancelled"
    assert at_stripe(till, subscription)["cancel_at_period_end"] is True


@pytest.mark.parametrize("seed", [1, 2])
def test_t237_in_whatever_order_its_news_comes_it_ends_as_at_the_provider(
    till: Till, http_user: HttpUser, seed: int
) -> None:
    """What happens at random, with webhooks that are held back, repeated, dropped or shuffled."""
    chance = random.Random(seed)
    asked, subscription = subscribed(till, http_user)
    due = False
    for _ in range(12):
        weather = chance.choice([{"hold": True}, {"drop": True}, {"duplicate": 2}, {}])
        till.stripe.order("weather", **{"hold": False, "drop": False, "duplicate": 0, **weather})
        if due and chance.random() < 0.6:
            due = chance.random() < 0.3
            till.stripe.order("collect", subscription=subscription, outcome="fail" if due else "ok")
        elif not due:
            due = chance.random() < 0.4
            till.stripe.order("renew", subscription=subscription, outcome="fail" if due else "ok")
        if chance.random() < 0.3:
            till.stripe.order("release", order="random")
    till.stripe.order("end", subscription=subscription)
    till.stripe.order("weather", hold=False, drop=False, duplicate=0)
    till.stripe.order("release", order="lifo")
    let_a_day_pass(till, asked)
    until(lambda: life(till, asked)["status"] == "ended", "it has ended", timeout=20)
    settled(till)
    bills = [one for one in till.stripe.state()["invoices"] if subscription_of(one) == subscription]
    paid = {one["id"] for one in bills if one["status"] == "paid" and one["billing_reason"] == "subscription_cycle"}
    entries = renewals(till, asked)
    assert len([one for one in entries if one["status"] == "paid"]) == len(paid)
    assert told(till, asked).count("subscription.renewed") == len(paid), "one event for each"
    assert told(till, asked).count("payment.ended") == 1
    assert (entitlement(till)["status"], entitlement(till)["usable"]) == ("ended", False)


def subscription_of(invoice: Json) -> str:
    return str(invoice["parent"]["subscription_details"]["subscription"])


def trial(till: Till, user: HttpUser, days: int = 14) -> tuple[Json, str]:
    """A trial that has begun, and Stripe's id of the subscription."""
    asked = till.ask(mode="subscribe", interval="month", item="news", trial_days=days)
    till.pay(user, asked)
    till.becomes(asked, "completed")
    [session] = till.opened_at_stripe(asked)
    return asked, str(session["subscription"])


def test_a_trial_is_free_until_the_day_that_the_page_says_and_then_costs_what_it_says(
    each_till: Till, http_user: HttpUser
) -> None:
    till = each_till
    asked = till.ask(mode="subscribe", interval="month", item="news", trial_days=14)
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    shown = http_user.text
    for said in (
        "Subscribe for €19.99 a month?",
        "It is free until",
        "€0.00",
        "if you begin today",
        "nothing is charged",
    ):
        assert said in shown, said
    till.pay(http_user, asked)
    done = till.becomes(asked, "completed")["result"]
    assert (done["amount"], done["status"]) == (0, "active")
    began = life(till, asked)
    ends = datetime.fromisoformat(began["trial_ends_at"])
    assert began["period_end"] == began["trial_ends_at"] == entitlement(till)["valid_until"]
    assert abs(ends - datetime.fromisoformat(began["created_at"]) - timedelta(days=14)) < timedelta(minutes=5)
    [session] = till.opened_at_stripe(asked)
    assert (session["amount_total"], session["payment_status"]) == (0, "no_payment_required")
    assert till.agent.get(f"/v1/payments/{till.payment_id(asked)}/receipt").status_code == 409
    till.stripe.order("renew", subscription=session["subscription"], outcome="ok")
    until(lambda: renewals(till, asked), "the first charge is told", timeout=15)
    assert [(one["amount"], one["status"]) for one in renewals(till, asked)] == [(1999, "paid")]
    assert life(till, asked)["period_end"] > began["period_end"]
    assert told(till, asked) == ["subscription.renewed"]


def test_what_goes_back_of_a_subscription_that_began_with_a_trial_is_found(till: Till, http_user: HttpUser) -> None:
    asked, subscription = trial(till, http_user)
    till.stripe.order("renew", subscription=subscription)
    until(lambda: renewals(till, asked), "the first charge is told", timeout=15)
    till.stripe.order("refund", of=subscription, amount=500)
    till.stripe.order("dispute", of=subscription, outcome="open")
    let_a_day_pass(till, asked)
    until(lambda: till.payment(asked)["dispute"] == "open", "the sweep has looked", timeout=15)
    assert till.payment(asked)["amount_refunded"] == 500
    assert entitlement(till)["usable"] is False


def test_who_cancels_within_the_trial_pays_nothing(till: Till, http_user: HttpUser) -> None:
    asked, subscription = trial(till, http_user)
    press(till, http_user, asked, "unsubscribe")
    until(lambda: life(till, asked)["ends_at"], "it is cancelled", timeout=15)
    assert life(till, asked)["ends_at"] == life(till, asked)["trial_ends_at"]
    till.stripe.order("renew", subscription=subscription)
    until(lambda: life(till, asked)["status"] == "ended", "it has ended", timeout=15)
    assert renewals(till, asked) == []
    assert till.differences(asked) == []


def test_a_trial_that_differs_from_what_was_asked_is_ended_before_it_is_charged(
    till: Till, http_user: HttpUser
) -> None:
    asked = till.ask(mode="subscribe", interval="month", trial_days=14)
    till.at_stripe(http_user, asked)
    till.stripe.order("bend", amount=499)
    http_user.press("pay")
    till.becomes(asked, "failed")
    [session] = till.opened_at_stripe(asked)
    until(lambda: at_stripe(till, session["subscription"])["status"] == "canceled", "it is ended at Stripe", timeout=15)
