"""Returns, webhooks and the sweep, in every order and number: the truth is told once (payments.md, section 5)."""

from __future__ import annotations

import httpx2
import pytest

from tests.payments.till import SECRET, Till
from tests.support.http_user import HttpUser
from tests.support.process import until

DONE = ["created", "started", "settling", "completed"]


def go_away(till: Till, user: HttpUser, how: str = "pay") -> str:
    """Pays and never comes back: where the browser would have gone."""
    with user.stopping_at(f"{till.box.url}/payments/"):
        user.press(how)
        return user.location


def settled(till: Till) -> None:
    """Every webhook that Stripe meant to send has arrived or is given up."""

    def quiet() -> bool:
        return all(one["state"] != "waiting" for one in till.stripe.state()["deliveries"])

    until(quiet, "the webhooks have arrived")


def test_case_2_the_return_alone_completes_and_the_webhook_after_it_changes_nothing(
    till: Till, http_user: HttpUser
) -> None:
    till.stripe.order("weather", hold=True)
    asked = till.ask()
    till.pay(http_user, asked)
    assert till.look(asked)["status"] == "completed"
    till.stripe.order("release", order="fifo")
    settled(till)
    assert till.stands(asked) == ("completed", "paid", DONE)


def test_case_4_the_webhook_alone_completes(each_till: Till, http_user: HttpUser) -> None:
    till = each_till
    asked = till.ask()
    till.at_stripe(http_user, asked)
    go_away(till, http_user)
    till.becomes(asked, "completed")
    assert till.stands(asked) == ("completed", "paid", DONE)


def test_t111_when_every_hint_is_lost_the_sweep_completes(each_till: Till, http_user: HttpUser) -> None:
    """Case 5."""
    till = each_till
    till.stripe.order("weather", drop=True)
    asked = till.ask()
    till.at_stripe(http_user, asked)
    go_away(till, http_user)
    assert till.stands(asked) == ("started", "open", ["created", "started"])
    till.start()
    till.becomes(asked, "completed", timeout=20)
    assert till.stands(asked) == ("completed", "paid", DONE)


def test_t102_webhooks_that_come_several_times_are_done_once(till: Till, http_user: HttpUser) -> None:
    """Case 6."""
    till.stripe.order("weather", duplicate=9)
    asked = till.ask()
    till.pay(http_user, asked)
    settled(till)
    till.becomes(asked, "completed")
    sent = [one for one in till.stripe.state()["deliveries"] if one["type"] == "checkout.session.completed"][-10:]
    assert len({one["event"] for one in sent}) == 1
    assert [one["tries"][-1]["status"] for one in sent] == [200] * 10
    assert till.stands(asked) == ("completed", "paid", DONE)


def test_case_9_a_delayed_payment_is_on_its_way_until_the_bank_says_so(till: Till, http_user: HttpUser) -> None:
    asked = till.ask()
    page = till.at_stripe(http_user, asked)
    http_user.press("pay_bank")
    assert (http_user.page_name, http_user.page_status) == ("done", "settling")
    assert till.becomes(asked, "settling")["action"] is None
    assert till.stands(asked) == ("settling", "processing", DONE[:3])
    till.stripe.order("settle", session=page.rpartition("/")[2], outcome="ok")
    till.becomes(asked, "completed")
    assert till.stands(asked) == ("completed", "paid", DONE)


@pytest.mark.slow
def test_t103_the_bank_may_be_quicker_than_the_first_webhook(till: Till, http_user: HttpUser) -> None:
    """Case 8: the success arrives before the notice that it is on its way."""
    till.stripe.order("weather", hold=True)
    asked = till.ask()
    page = till.at_stripe(http_user, asked)
    go_away(till, http_user, "pay_bank")
    till.stripe.order("settle", session=page.rpartition("/")[2], outcome="ok")
    till.stripe.order("release", order="lifo")
    till.becomes(asked, "completed")
    settled(till)
    assert till.stands(asked) == ("completed", "paid", DONE)


@pytest.mark.slow
def test_case_10_a_delayed_payment_that_fails_leaves_the_link_open(till: Till, http_user: HttpUser) -> None:
    asked = till.ask()
    page = till.at_stripe(http_user, asked)
    http_user.press("pay_bank")
    till.becomes(asked, "settling")
    till.stripe.order("settle", session=page.rpartition("/")[2], outcome="fail")
    till.becomes(asked, "started")
    failed = ["created", "started", "settling", "started"]
    assert till.stands(asked) == ("started", "open", failed)
    till.pay(http_user, asked)
    till.becomes(asked, "completed")
    assert till.stands(asked) == ("completed", "paid", [*failed, "settling", "completed"])


@pytest.mark.parametrize("bent", [{"amount": 1}, {"currency": "usd"}, {"livemode": True}], ids=str)
def test_t104_what_was_not_asked_for_is_no_success(till: Till, http_user: HttpUser, bent: dict[str, object]) -> None:
    """Cases 12 and 13."""
    asked = till.ask()
    till.at_stripe(http_user, asked)
    till.stripe.order("bend", **bent)
    http_user.press("pay")
    found = till.becomes(asked, "failed")
    assert found["error"]["code"] == "payment_mismatch"
    status, payment, events = till.stands(asked)
    assert (status, payment) == ("failed", "mismatch")
    assert sorted(events) == ["created", "failed", "payment.mismatch", "started"]
    assert till.payment_id(asked) in till.box.logs(), "the operator is told"


@pytest.mark.parametrize("weather", [{"wrong_secret": True}, {"signature_age": 301}, {"signature_age": -400}], ids=str)
def test_t99_t100_a_webhook_that_is_not_the_providers_or_not_of_now_is_refused(
    till: Till, http_user: HttpUser, weather: dict[str, object]
) -> None:
    """Case 16, over the wire."""
    before = len(till.stripe.state()["deliveries"])
    till.stripe.order("weather", retry_seconds=[], **weather)
    asked = till.ask()
    till.at_stripe(http_user, asked)
    go_away(till, http_user)
    settled(till)
    tries = [one for sent in till.stripe.state()["deliveries"][before:] for one in sent["tries"]]
    assert tries
    assert all(one["status"] == 400 for one in tries)
    assert till.stands(asked) == ("started", "open", ["created", "started"])


def ignored(till: Till) -> int:
    said = httpx2.get(f"{till.box.url}/metrics", trust_env=False).text
    return int(float(said.partition("\nelicit_webhooks_ignored_total ")[2].split()[0]))


def test_case_15_a_webhook_of_the_other_mode_is_taken_and_ignored(till: Till, http_user: HttpUser) -> None:
    before = ignored(till)
    till.stripe.order("weather", livemode=True)
    asked = till.ask()
    till.at_stripe(http_user, asked)
    go_away(till, http_user)
    settled(till)
    assert ignored(till) > before, "an operator's metrics show it"
    assert till.stripe.state()["deliveries"][-1]["tries"][-1]["status"] == 200
    assert till.stands(asked) == ("started", "open", ["created", "started"])


def test_case_7_two_kinds_of_event_for_one_fact_are_one_completion(till: Till, http_user: HttpUser) -> None:
    inbound = {"url": f"{till.box.url}/inbound/sandbox", "secrets": [SECRET]}
    till.stripe.order("endpoints", endpoints=[{**inbound, "form": "both"}])
    asked = till.ask()
    till.pay(http_user, asked)
    settled(till)
    till.becomes(asked, "completed")
    till.stripe.order("endpoints", endpoints=[inbound])
    assert till.stands(asked) == ("completed", "paid", DONE)


@pytest.mark.slow
def test_t106_time_that_runs_out_closes_the_providers_page_first(till: Till, http_user: HttpUser) -> None:
    """Case 23, from our side."""
    asked = till.ask(more={"expires_in": 60})
    page = till.at_stripe(http_user, asked)
    run_out(till, asked)
    till.becomes(asked, "expired", timeout=20)
    assert till.session_of(page)["status"] == "expired"
    assert till.stands(asked) == ("expired", "closed", ["created", "started", "expired"])


def test_t106_who_paid_before_the_page_could_be_closed_has_paid(till: Till, http_user: HttpUser) -> None:
    till.stripe.order("weather", drop=True)
    asked = till.ask(more={"expires_in": 60})
    till.at_stripe(http_user, asked)
    go_away(till, http_user)
    run_out(till, asked)
    till.becomes(asked, "completed", timeout=20)
    assert till.stands(asked) == ("completed", "paid", DONE)


def run_out(till: Till, asked: dict[str, object]) -> None:
    """The elicitation's time is over, as time would have it."""
    till.sql("UPDATE elicit_flows_elicitation SET expires_at = %s WHERE id = %s", "2020-01-01 00:00:00", asked["id"])
    till.start()


def test_case_23_a_page_that_ran_out_gives_way_to_another(till: Till, http_user: HttpUser) -> None:
    asked = till.ask(more={"expires_in": 3600})
    first = till.at_stripe(http_user, asked)
    till.stripe.order("expire", session=first.rpartition("/")[2])
    settled(till)
    until(lambda: till.at_stripe(http_user, asked) != first, "there is another page")
    http_user.press("pay")
    till.becomes(asked, "completed")
    assert till.stands(asked) == ("completed", "paid", DONE)
