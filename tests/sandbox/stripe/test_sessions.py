"""Checkout Sessions by the unmodified SDK: created, looked at, listed, expired."""

from __future__ import annotations

import time
from typing import Any

import pytest
import stripe

from tests.sandbox.stripe.conftest import Create, asked
from tests.support.stripe_control import StripeControl, StripeSandbox
from tests.support.stripe_types import faults

DAY = 86_400


def test_a_session_is_open_and_has_a_page_to_be_paid_on(create: Create, double: StripeSandbox) -> None:
    session = create()
    assert session.url == f"{double.url}/c/pay/{session.id}"
    assert (session.status, session.payment_status, session.livemode) == ("open", "unpaid", False)
    assert (session.amount_total, session.currency) == (1999, "eur")
    assert session.id.startswith("cs_test_")
    assert session.payment_intent is None
    assert session.expires_at == session.created + DAY


def test_what_was_asked_comes_back_on_what_was_paid(
    create: Create, client: stripe.StripeClient, control: StripeControl
) -> None:
    session = create(metadata={"our_id": "a"}, payment_intent_data={"metadata": {"our_id": "b"}, "description": "c"})
    control.press(session.id)
    found = client.v1.checkout.sessions.retrieve(session.id, {"expand": ["payment_intent.latest_charge", "line_items"]})
    assert (found.client_reference_id, found.metadata.our_id) == ("pay_1", "a")
    intent = found.payment_intent
    assert (intent.metadata.our_id, intent.description, intent.amount_received) == ("b", "c", 1999)
    assert intent.latest_charge.metadata.our_id == "b"
    assert [(one.description, one.amount_total) for one in found.line_items.data] == [("A report", 1999)]
    assert "SANDBOX" in control.http.get(intent.latest_charge.receipt_url).text


@pytest.mark.parametrize(
    ("more", "param", "code"),
    [
        ({"bogus": 1}, "bogus", "parameter_unknown"),
        ({"payment_method_types": ["card"]}, "payment_method_types", "parameter_unknown"),
        ({"payment_intent_data": {"bogus": 1}}, "payment_intent_data[bogus]", "parameter_unknown"),
        ({"mode": None}, "mode", "parameter_missing"),
        ({"mode": "donation"}, "mode", None),
        ({"ui_mode": "hosted"}, "ui_mode", None),
        ({"success_url": None}, "success_url", "parameter_missing"),
        ({"success_url": "not a url"}, "success_url", "url_invalid"),
        ({"success_url": ""}, "success_url", "parameter_invalid_empty"),
        ({"line_items": None}, "line_items", "parameter_missing"),
        (asked(amount=49), "line_items", "amount_too_small"),
        (asked(amount=49, currency="jpy"), "line_items", "amount_too_small"),
        (asked(amount=100_000_000), "line_items", "amount_too_large"),
        (asked(amount="19.99"), "line_items[0][price_data][unit_amount]", "parameter_invalid_integer"),
        (asked(amount=-1), "line_items[0][price_data][unit_amount]", "parameter_invalid_integer"),
        (asked(currency="EUR"), "line_items[0][price_data][currency]", None),
        (asked(currency="xyz"), "line_items[0][price_data][currency]", None),
        (asked(recurring={"interval": "month"}), "line_items[0][price_data][recurring]", None),
        (asked(product_data={}), "line_items[0][price_data][product_data]", "parameter_missing"),
        ({"setup_intent_data": {"description": "x"}}, "setup_intent_data", None),
        ({"customer": "cus_nobody"}, "customer", "resource_missing"),
        ({"client_reference_id": "x" * 201}, "client_reference_id", None),
        ({"metadata": {"x" * 41: "1"}}, "metadata", None),
        ({"metadata": {"x": "1" * 501}}, "metadata", None),
        ({"allow_promotion_codes": True}, "allow_promotion_codes", "sandbox_unsimulated"),
        ({"adaptive_pricing": {"enabled": True}}, "adaptive_pricing[enabled]", "sandbox_unsimulated"),
        ({"payment_link": "plink_1"}, "payment_link", "parameter_unknown"),
    ],
)
def test_what_stripe_refuses_is_refused(create: Create, more: dict[str, Any], param: str, code: str | None) -> None:
    with pytest.raises(stripe.InvalidRequestError) as refusal:
        create(**more)
    assert (refusal.value.http_status, refusal.value.param, refusal.value.code) == (400, param, code)
    assert str(refusal.value.headers["Request-Id"]).startswith("req_")


@pytest.mark.parametrize(("seconds", "fits"), [(1700, False), (1800, True), (DAY, True), (DAY + 120, False)])
def test_a_session_may_live_from_half_an_hour_to_a_day(create: Create, seconds: int, fits: bool) -> None:
    wanted = int(time.time()) + seconds
    if fits:
        assert create(expires_at=wanted).expires_at == wanted
    else:
        with pytest.raises(stripe.InvalidRequestError, match="expires_at"):
            create(expires_at=wanted)


def test_a_session_can_be_expired_once_and_not_paid_then(
    create: Create, client: stripe.StripeClient, control: StripeControl
) -> None:
    session = create()
    gone = client.v1.checkout.sessions.expire(session.id)
    assert (gone.status, gone.url) == ("expired", None)
    with pytest.raises(stripe.InvalidRequestError, match="can be expired"):
        client.v1.checkout.sessions.expire(session.id)
    assert control.press(session.id) == ""
    assert "expired" in control.look(session.id)
    assert control.session(session.id)["payment_status"] == "unpaid"


def test_a_paid_session_cannot_be_expired(create: Create, client: stripe.StripeClient, control: StripeControl) -> None:
    session = create()
    control.press(session.id)
    with pytest.raises(stripe.InvalidRequestError):
        client.v1.checkout.sessions.expire(session.id)


def test_when_its_time_is_over_a_session_expires(
    create: Create, client: stripe.StripeClient, control: StripeControl
) -> None:
    session = create(expires_at=int(time.time()) + 1800)
    control.forward(1700)
    assert client.v1.checkout.sessions.retrieve(session.id).status == "open"
    control.forward(200)
    assert client.v1.checkout.sessions.retrieve(session.id).status == "expired"
    assert [one["type"] for one in control.state()["events"]] == ["checkout.session.expired"]


def test_sessions_are_listed_newest_first_in_pages(create: Create, client: stripe.StripeClient) -> None:
    made = [create(client_reference_id=f"pay_{number}").id for number in range(5)]
    first = client.v1.checkout.sessions.list({"limit": 2})
    assert ([one.id for one in first.data], first.has_more) == (made[:2:-1], True)
    assert [one.id for one in first.auto_paging_iter()] == made[::-1]
    since = client.v1.checkout.sessions.list({"created": {"gte": int(time.time()) + 60}})
    assert (since.data, since.has_more) == ([], False)
    with pytest.raises(stripe.InvalidRequestError, match="limit"):
        client.v1.checkout.sessions.list({"limit": 101})


def test_mode_setup_keeps_a_card_and_takes_no_money(
    create: Create, client: stripe.StripeClient, control: StripeControl
) -> None:
    session = create(mode="setup", line_items=None, payment_intent_data=None, currency="eur")
    assert session.amount_total is None
    control.press(session.id)
    found = client.v1.checkout.sessions.retrieve(session.id, {"expand": ["setup_intent"]})
    assert (found.status, found.payment_status) == ("complete", "no_payment_required")
    assert found.setup_intent.payment_method.startswith("pm_")
    assert found.customer.startswith("cus_")
    assert control.state()["charges"] == []


def test_a_known_customer_stays_the_same(create: Create, client: stripe.StripeClient, control: StripeControl) -> None:
    customer = client.v1.customers.create({"metadata": {"whose": "ours"}})
    session = create(customer=customer.id)
    control.press(session.id)
    assert client.v1.checkout.sessions.retrieve(session.id).customer == customer.id
    assert faults(client.v1.customers.retrieve(customer.id).to_dict()) == []


def test_a_call_that_is_not_simulated_fails_loudly(client: stripe.StripeClient) -> None:
    with pytest.raises(stripe.InvalidRequestError) as refusal:
        client.v1.payouts.create({"amount": 1999, "currency": "eur"})
    assert (refusal.value.http_status, refusal.value.code) == (404, None)
    with pytest.raises(stripe.InvalidRequestError) as refusal:
        client.v1.checkout.sessions.retrieve("cs_test_nothing")
    assert (refusal.value.http_status, refusal.value.code) == (404, "resource_missing")


def test_only_test_keys_that_are_known_are_taken(double: StripeSandbox) -> None:
    for key in ("sk_live_51abcdefghijklmnop", "sk_test_of_somebody_else", "pk_test_publishable"):
        with pytest.raises(stripe.AuthenticationError) as refusal:
            double.client(key).v1.checkout.sessions.list()
        assert key not in str(refusal.value)
