"""The exact requests to Stripe, and how a lost checkout is found again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from elicit_flows.domain.values import Secret
from elicit_flows.kinds.payment import providers
from elicit_flows.kinds.payment.providers.base import Busy
from elicit_flows.kinds.payment.providers.stripe import provider
from elicit_flows.kinds.payment.values import Started
from elicit_flows.lib import clock
from tests.doubles.server import Request, json_response
from tests.kinds.payment.answers import Answers, ask, listed, session

pytestmark = pytest.mark.usefixtures("loopback")
STRIPE = providers.get("stripe")
NOW = datetime(2026, 11, 21, 7, 3, 20, tzinfo=UTC)
EXPIRES = NOW + timedelta(hours=1)
COMMON = {
    "client_reference_id": "co_1",
    "metadata[our_id]": "co_1",
    "success_url": "https://flows.example.com/payments/main/return?checkout=co_1",
    "cancel_url": "https://flows.example.com/payments/main/return?checkout=co_1&back=1",
    "expires_at": str(int(EXPIRES.timestamp())),
}
LINE = {
    "line_items[0][price_data][currency]": "eur",
    "line_items[0][price_data][unit_amount]": "1999",
    "line_items[0][price_data][product_data][name]": "The report",
    "line_items[0][quantity]": "1",
    "adaptive_pricing[enabled]": "false",
    "allow_promotion_codes": "false",
    "automatic_tax[enabled]": "false",
}


@pytest.fixture(autouse=True)
def _now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", lambda: NOW)


def sent(**changes: Any) -> Request:
    with Answers(json_response(session())) as far:
        STRIPE.start(far.account(), ask(**{"expires_at": EXPIRES} | changes), "ef:co_1:start:1")
    return far.asked[0]


def test_paying_asks_for_one_line_and_nothing_that_changes_the_amount() -> None:
    request = sent()
    assert (request.method, request.path) == ("POST", "/v1/checkout/sessions")
    assert request.form == COMMON | LINE | {
        "mode": "payment",
        "payment_intent_data[description]": "The report",
        "payment_intent_data[metadata][our_id]": "co_1",
    }


def test_subscribing_asks_for_the_same_by_the_month() -> None:
    assert sent(mode="subscribe", interval="month").form == COMMON | LINE | {
        "mode": "subscription",
        "line_items[0][price_data][recurring][interval]": "month",
        "subscription_data[description]": "The report",
        "subscription_data[metadata][our_id]": "co_1",
    }


def test_saving_a_card_asks_for_no_money() -> None:
    assert sent(mode="save", amount=0).form == COMMON | {
        "mode": "setup",
        "currency": "eur",
        "customer_creation": "always",
        "custom_text[submit][message]": "The report",
        "setup_intent_data[description]": "The report",
        "setup_intent_data[metadata][our_id]": "co_1",
    }


@pytest.mark.parametrize("mode", ["pay", "save", "subscribe"])
def test_a_payer_who_is_known_is_named_by_the_providers_own_id(mode: str) -> None:
    form = sent(mode=mode, customer="cus_1", interval="year" if mode == "subscribe" else None).form
    assert form["customer"] == "cus_1"
    assert "customer_creation" not in form


@pytest.mark.parametrize("amount", [29, 435, 1999, 99_999_999])
def test_the_cents_are_the_cents_that_were_asked_for(amount: int) -> None:
    assert sent(amount=amount).form["line_items[0][price_data][unit_amount]"] == str(amount)


def test_yen_are_not_multiplied() -> None:
    form = sent(amount=500, currency="jpy").form
    assert form["line_items[0][price_data][unit_amount]"] == "500"


def test_text_and_addresses_arrive_as_they_are() -> None:
    form = sent(description="Käse & <Brot>=1 ¥", return_url="https://x.example.com/a?b=%7B&c={D}").form
    assert form["line_items[0][price_data][product_data][name]"] == "Käse & <Brot>=1 ¥"
    assert form["success_url"] == "https://x.example.com/a?b=%7B&c={D}"


@pytest.mark.parametrize(
    ("wanted", "asked"),
    [
        (timedelta(minutes=30), timedelta(minutes=30)),
        (timedelta(hours=23), timedelta(hours=23)),
        (timedelta(minutes=1), timedelta(minutes=36, seconds=40)),
        (timedelta(minutes=-5), timedelta(minutes=36, seconds=40)),
        (timedelta(hours=24), timedelta(hours=23, minutes=56, seconds=40)),
        (timedelta(days=30), timedelta(hours=23, minutes=56, seconds=40)),
    ],
)
def test_a_session_lives_as_long_as_was_asked_or_as_stripe_allows(wanted: timedelta, asked: timedelta) -> None:
    assert int(sent(expires_at=NOW + wanted).form["expires_at"]) == int((NOW + asked).timestamp())


def test_a_second_try_soon_after_asks_for_the_very_same(monkeypatch: pytest.MonkeyPatch) -> None:
    first = sent(expires_at=NOW + timedelta(minutes=15)).body
    monkeypatch.setattr(clock, "now", lambda: NOW + timedelta(minutes=4))
    assert sent(expires_at=NOW + timedelta(minutes=15)).body == first


def test_what_was_started_is_told() -> None:
    with Answers(json_response(session())) as far:
        started = STRIPE.start(far.account(), ask(expires_at=EXPIRES), "key")
    url, expires_at = "https://checkout.stripe.com/c/pay/cs_test_1", datetime.fromtimestamp(1_790_003_600, UTC)
    assert started == Started("cs_test_1", url, expires_at)


def others(*numbers: int) -> list[dict[str, Any]]:
    return [session(id=f"cs_{n}", client_reference_id=f"co_{n}x", metadata={"our_id": f"co_{n}x"}) for n in numbers]


def test_a_checkout_whose_answer_was_lost_is_found_by_our_id(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider, "PAUSE", 0)
    forged = session(id="cs_forged", metadata={})
    with Answers(listed(*others(1, 2), has_more=True), listed(forged, session(id="cs_lost"))) as far:
        assert STRIPE.find(far.account(), "co_1") == "cs_lost"
    since = int((NOW - timedelta(hours=25)).timestamp())
    assert [request.query for request in far.asked] == [
        {"created[gte]": str(since), "limit": "100"},
        {"created[gte]": str(since), "limit": "100", "starting_after": "cs_2"},
    ]


def test_a_checkout_that_never_was_is_not_found() -> None:
    with Answers(listed(*others(1, 2))) as far:
        assert STRIPE.find(far.account(), "co_1") is None
    with Answers(listed(has_more=True)) as far:
        assert STRIPE.find(far.account(), "co_1") is None


def test_among_too_many_checkouts_nobody_says_that_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider, "PAUSE", 0)
    monkeypatch.setattr(provider, "PAGES", 3)
    with Answers(listed(*others(1), has_more=True)) as far, pytest.raises(Busy):
        STRIPE.find(far.account(), "co_1")
    assert len(far.asked) == 3


def test_a_refund_is_asked_for_once_and_under_our_names() -> None:
    made = {"id": "re_1", "object": "refund", "amount": 500, "status": "pending", "metadata": {"our_id": "row_1"}}
    with Answers(listed(), json_response(made)) as far:
        seen = STRIPE.refund(far.account(), "pi_1", 500, "row_1", "ef:row_1:refund:1")
    assert (seen.ref, seen.amount, seen.state, seen.our_id) == ("re_1", 500, "pending", "row_1")
    request = far.asked[-1]
    assert (request.method, request.path) == ("POST", "/v1/refunds")
    assert request.form == {"payment_intent": "pi_1", "amount": "500", "metadata[our_id]": "row_1"}
    assert request.headers["idempotency-key"] == "ef:row_1:refund:1"


def test_two_accounts_never_share_a_key() -> None:
    with Answers(json_response(session())) as far:
        for key in ("sk_test_a", "sk_test_b", "sk_test_a"):
            STRIPE.start(far.account(secret_key=Secret(key)), ask(), "k")
    assert [request.headers["authorization"][-1] for request in far.asked] == ["a", "b", "a"]
