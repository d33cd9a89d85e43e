from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import stripe

from tests.support.sink import Sink
from tests.support.stripe_control import StripeControl, StripeSandbox

INBOUND = "/inbound/sandbox"
Create = Callable[..., stripe.checkout.Session]


@pytest.fixture(scope="module")
def hooks() -> Iterator[Sink]:
    """The merchant: hears the events, and buyers come back to it."""
    found = Sink()
    yield found
    found.close()


@pytest.fixture(scope="module")
def double(hooks: Sink) -> Iterator[StripeSandbox]:
    found = StripeSandbox(hooks.url("")).start()
    yield found
    found.remove()


@pytest.fixture
def control(double: StripeSandbox, hooks: Sink) -> StripeControl:
    """The double as at its start."""
    double.control.reset()
    hooks.forget()
    return double.control


@pytest.fixture
def client(double: StripeSandbox, control: StripeControl) -> stripe.StripeClient:
    return double.client()


@pytest.fixture
def create(client: stripe.StripeClient) -> Create:
    """A session for 19.99 EUR; ``more`` replaces parameters, None leaves one out."""

    def create(options: Any = None, **more: Any) -> stripe.checkout.Session:
        params = {**asked(), **more}
        given: Any = {name: value for name, value in params.items() if value is not None}
        return client.v1.checkout.sessions.create(given, options or {})

    return create


def asked(amount: int = 1999, currency: str = "eur", **price: Any) -> dict[str, Any]:
    data = {"currency": currency, "unit_amount": amount, "product_data": {"name": "A report"}, **price}
    return {
        "mode": "payment",
        "line_items": [{"quantity": 1, "price_data": data}],
        "client_reference_id": "pay_1",
        "metadata": {"our_id": "pay_1"},
        "payment_intent_data": {"metadata": {"our_id": "pay_1"}},
        "success_url": "http://127.0.0.1:9/done?sid={CHECKOUT_SESSION_ID}",
        "cancel_url": "http://127.0.0.1:9/back",
    }
