"""From a session to the money, as the service will do it."""

from __future__ import annotations

import re

import pytest
import stripe

from tests.sandbox.browser import Browser
from tests.sandbox.conftest import Start
from tests.support.sink import Sink
from tests.support.stripe_types import faults

KEY = "sk_test_development_only_sandbox"
SECRET = "whsec_development_only_sandbox"
PRICE = {"currency": "eur", "unit_amount": 1999, "product_data": {"name": "A report"}}


@pytest.fixture
def hooks() -> Sink:
    sink = Sink()
    yield sink
    sink.close()


def test_a_session_is_paid_on_its_page_and_a_signed_event_tells(start: Start, hooks: Sink, browser: Browser) -> None:
    root = start("--service-url", hooks.url(""))
    client = stripe.StripeClient(KEY, base_addresses={"api": root})
    session = client.v1.checkout.sessions.create(
        {
            "mode": "payment",
            "line_items": [{"quantity": 1, "price_data": PRICE}],
            "client_reference_id": "pay_1",
            "success_url": f"{hooks.url('/done')}?sid={{CHECKOUT_SESSION_ID}}",
        }
    )
    assert faults(session.to_dict()) == []
    page = browser.open(session.url)
    assert re.search(r"SANDBOX.*No real money", page.text)
    assert "19.99 EUR" in page.text
    assert browser.press("pay").url == f"{hooks.url('/done')}?sid={session.id}"

    (delivery,) = hooks.received("/inbound/sandbox")
    event = client.construct_event(delivery.body, delivery.headers["stripe-signature"], SECRET)
    assert (event.type, event.data.object["id"]) == ("checkout.session.completed", session.id)
    paid = client.v1.checkout.sessions.retrieve(session.id, {"expand": ["payment_intent.latest_charge"]})
    assert faults(paid.to_dict()) == []
    assert (paid.status, paid.payment_status, paid.amount_total, paid.url) == ("complete", "paid", 1999, None)
