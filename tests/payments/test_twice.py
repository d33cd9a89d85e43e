"""Money that comes twice or late (payments.md, section 5, cases 26 and 33; ADR 10 says what is done with it)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.payments.test_cancellation import at_stripe
from tests.payments.test_hints import DONE, go_away, run_out, settled
from tests.payments.test_modes import MONTHLY, entitlement
from tests.payments.till import LONG_AGO, Json, Till
from tests.support.http_user import HttpUser
from tests.support.process import until

pytestmark = pytest.mark.slow


def refunds_of(till: Till, session: Json) -> list[tuple[int, str]]:
    """What Stripe gave back of it: amounts and how they stand."""
    made = [one for one in till.stripe.state()["refunds"] if one["payment_intent"] == session["payment_intent"]]
    return [(one["amount"], one["status"]) for one in made]


def two_pages(till: Till, asked: Json, one: HttpUser, other: HttpUser) -> tuple[str, str]:
    """Both can be paid: we took the first for over, which the provider would have had to say."""
    first = till.at_stripe(one, asked)
    till.sql(
        "UPDATE elicit_flows_checkout SET status = 'over', look_at = NULL WHERE ref = %s", first.rpartition("/")[2]
    )
    second = till.at_stripe(other, asked)
    assert first != second
    return first, second


@pytest.mark.parametrize("hints", ["both come back", "webhooks alone"])
def test_t105_what_is_paid_on_two_pages_is_paid_once_and_the_second_goes_back(
    each_till: Till, new_http_user: Callable[..., HttpUser], hints: str
) -> None:
    """Case 33."""
    till = each_till
    alerts = till.box.logs().count("Paid a second time")
    asked, one, other = till.ask(item="report"), new_http_user(), new_http_user()
    first, second = two_pages(till, asked, one, other)
    for user in (other, one):
        if hints == "both come back":
            user.press("pay")
        else:
            go_away(till, user)
        till.becomes(asked, "completed")
    until(lambda: "payment.refunded" in till.events(asked), "the second went back", timeout=20)
    settled(till)
    assert till.stands(asked) == ("completed", "paid", [*DONE, "payment.mismatch", "payment.refunded"])
    assert len(till.paid_at_stripe(asked)) == 2
    assert refunds_of(till, till.session_of(first)) == [(1999, "succeeded")]
    assert refunds_of(till, till.session_of(second)) == []
    assert till.payment(asked)["amount_refunded"] == 0, "what counts was not given back"
    assert till.box.logs().count("Paid a second time") > alerts
    (entitlement,) = till.agent.get("/v1/entitlements", params={"sub": "alice", "item": "report"}).json()["data"]
    assert entitlement["usable"]


def test_t105_of_two_trials_the_second_is_ended_before_it_is_charged(
    till: Till, new_http_user: Callable[..., HttpUser]
) -> None:
    asked, one, other = till.ask(**MONTHLY, trial_days=14), new_http_user(), new_http_user()
    pages = two_pages(till, asked, one, other)
    other.press("pay")
    till.becomes(asked, "completed")
    till.stripe.order("fault", name="503", on="DELETE /v1/subscriptions/*", times=4)
    one.press("pay")
    second, first = (str(till.session_of(page)["subscription"]) for page in pages)

    def ended() -> bool:
        statement = "UPDATE elicit_flows_checkout SET look_at = %s WHERE surplus AND look_at IS NOT NULL"
        till.sql(statement, LONG_AGO)  # a provider that did not answer is asked again in a minute
        return bool(at_stripe(till, second)["status"] == "canceled")

    until(ended, "the second is ended at Stripe", timeout=30)
    settled(till)
    assert at_stripe(till, first)["status"] == "trialing"
    assert till.stands(asked) == ("completed", "active", [*DONE, "payment.mismatch"])
    assert entitlement(till)["usable"]
    till.stripe.order("renew", subscription=first)
    until(lambda: "subscription.renewed" in till.events(asked), "the first goes on", timeout=15)


def test_t105_the_alert_says_what_happened(till: Till, new_http_user: Callable[..., HttpUser]) -> None:
    asked, one, other = till.ask(), new_http_user(), new_http_user()
    two_pages(till, asked, one, other)
    other.press("pay")
    one.press("pay")
    until(lambda: "payment.mismatch" in till.events(asked), "the agent is told")
    events = till.agent.get("/v1/events", params={"limit": 100}).json()["data"]
    (alert,) = [event for event in events if event["type"] == "payment.mismatch"]
    assert alert["data"]["problem"]["code"] == "twice"
    assert alert["data"]["payment"]["id"] == till.payment_id(asked)


def looks(till: Till, page: str) -> int:
    """How often Stripe was asked how that page stands."""
    path = f"/v1/checkout/sessions/{page.rpartition('/')[2]}"
    return len([one for one in till.stripe.state()["requests"] if (one["method"], one["path"]) == ("GET", path)])


def test_case_26_the_bank_may_take_longer_than_the_link_lasts(each_till: Till, http_user: HttpUser) -> None:
    """By decision: a person who paid in time has paid, whenever their bank reports it."""
    till = each_till
    asked = till.ask(more={"expires_in": 60})
    page = till.at_stripe(http_user, asked)
    http_user.press("pay_bank")
    till.becomes(asked, "settling")
    settled(till)
    run_out(till, asked)
    seen = looks(till, page)
    until(lambda: looks(till, page) > seen, "the sweep has looked", timeout=20)
    assert till.stands(asked) == ("settling", "processing", DONE[:3])
    till.stripe.order("settle", session=page.rpartition("/")[2], outcome="ok")
    till.becomes(asked, "completed")
    settled(till)
    assert till.stands(asked) == ("completed", "paid", DONE)
    assert refunds_of(till, till.session_of(page)) == []


def test_case_26_what_the_bank_refuses_after_the_time_is_up_ends_it(till: Till, http_user: HttpUser) -> None:
    asked = till.ask(more={"expires_in": 60})
    page = till.at_stripe(http_user, asked)
    http_user.press("pay_bank")
    till.becomes(asked, "settling")
    run_out(till, asked)
    till.stripe.order("settle", session=page.rpartition("/")[2], outcome="fail")
    till.becomes(asked, "expired")
    settled(till)
    status, payment, events = till.stands(asked)
    assert (status, payment) == ("expired", "closed")
    assert events == ["created", "started", "settling", "started", "expired"]
    assert till.paid_at_stripe(asked) == []


@pytest.mark.slow
@pytest.mark.parametrize("outcome", ["ok", "fail"])
def test_case_26_what_the_agent_took_back_meanwhile_goes_back_when_it_comes(
    till: Till, http_user: HttpUser, outcome: str
) -> None:
    asked = till.ask(item="report")
    page = till.at_stripe(http_user, asked)
    http_user.press("pay_bank")
    till.becomes(asked, "settling")
    assert till.agent.post(f"/v1/elicitations/{asked['id']}/cancel").json()["status"] == "cancelled"
    told = [*DONE[:3], "cancelled"]
    assert till.stands(asked) == ("cancelled", "processing", told), "the bank is still at it"
    till.stripe.order("settle", session=page.rpartition("/")[2], outcome=outcome)
    if outcome == "fail":
        until(lambda: till.payment(asked)["status"] == "closed", "nothing came", timeout=15)
        assert till.events(asked) == told
        return
    until(lambda: till.events(asked)[-1] == "payment.refunded", "it went back", timeout=20)
    settled(till)
    assert till.stands(asked) == ("cancelled", "refunded", [*told, "payment.mismatch", "payment.refunded"])
    assert refunds_of(till, till.session_of(page)) == [(1999, "succeeded")]
    (entitlement,) = till.agent.get("/v1/entitlements", params={"sub": "alice", "item": "report"}).json()["data"]
    assert (entitlement["status"], entitlement["usable"]) == ("revoked", False)
    http_user.open(f"{asked['url']}/done")
    assert (http_user.page_name, http_user.page_status) == ("done", "cancelled")
