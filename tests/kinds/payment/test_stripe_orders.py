"""An order at Stripe: its exact lines, and that no key is used for other ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from elicit_flows.domain.values import Secret
from elicit_flows.kinds.payment import providers
from elicit_flows.kinds.payment.providers.base import Unclear
from elicit_flows.kinds.payment.providers.stripe import session
from elicit_flows.kinds.payment.values import Account, Ask, Line, Order, State
from elicit_flows.lib import clock
from tests.kinds.payment.answers import ask
from tests.kinds.payment.stripe_house import StripeHouse

pytestmark = pytest.mark.usefixtures("loopback", "no_pauses")
STRIPE = providers.get("stripe")
OURS = Account("main", "stripe", Secret("sk_test_1"))
ORDER = Order((Line("A notebook", 2, 450), Line("A pen", 1, 99), Line("A sticker", 3, 0)), 190, "Steuer", "PO-17")


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StripeHouse]:
    house = StripeHouse(tmp_path_factory.mktemp("stripe") / "log")
    yield house
    house.close()


def ordered(expires_at: datetime | None = None, **changes: Any) -> Ask:
    fixed = expires_at or clock.now().replace(microsecond=0) + timedelta(hours=1)
    return ask(**{"amount": 1189, "order": ORDER, "expires_at": fixed} | changes)


def test_stripe_gets_the_lines_and_the_tax_as_one_more() -> None:
    params = session.params(ordered(), OURS)
    lines = [
        (one["price_data"]["product_data"]["name"], one["quantity"], one["price_data"]["unit_amount"])
        for one in params["line_items"]
    ]
    assert lines == [("A notebook", 2, 450), ("A pen", 1, 99), ("A sticker", 3, 0), ("Steuer", 1, 190)]
    assert sum(quantity * price for _, quantity, price in lines) == 1189
    assert params["metadata"] == {"our_id": "co_1", "order_number": "PO-17"}
    assert params["payment_intent_data"]["metadata"] == params["metadata"]
    assert params["automatic_tax"] == {"enabled": False}


def test_without_tax_and_number_nothing_is_added() -> None:
    params = session.params(ordered(amount=999, order=replace(ORDER, tax=0, number=None)), OURS)
    assert len(params["line_items"]) == 3
    assert params["metadata"] == {"our_id": "co_1"}


def test_the_double_keeps_the_lines_and_the_number(house: StripeHouse) -> None:
    made = STRIPE.start(house.account, ordered(), "key 1")
    (kept,) = [one for one in house.state()["sessions"] if one["id"] == made.ref]
    assert (kept["amount_total"], kept["metadata"]["order_number"]) == (1189, "PO-17")
    assert not [one["error"] for one in house.state()["requests"] if one["error"]]


def test_t245_a_key_is_not_used_for_another_order_of_the_same_amount(house: StripeHouse) -> None:
    at = clock.now().replace(microsecond=0) + timedelta(hours=1)
    swapped = replace(ORDER, lines=(Line("A voucher", 1, 999),))
    first = STRIPE.start(house.account, ordered(at), "key 2")
    assert STRIPE.start(house.account, ordered(at), "key 2") == first
    with pytest.raises(Unclear) as told:
        STRIPE.start(house.account, ordered(at, order=swapped), "key 2")
    assert told.value.stored, "the next try has another key"


def test_stripe_makes_an_invoice_where_one_was_asked_for(house: StripeHouse) -> None:
    assert "invoice_creation" not in session.params(ordered(), OURS)
    made = STRIPE.start(house.account, ordered(order=replace(ORDER, invoice=True)), "key 3")
    assert STRIPE.fetch(house.account, made.ref).invoice_url is None
    house.act(made.url, "pay")
    said = STRIPE.fetch(house.account, made.ref)
    assert (said.invoice_url or "").startswith(f"{house.url}/c/receipt/in_")
    assert said.invoice_pdf == f"{said.invoice_url}?pdf"
    [kept] = [one for one in house.state()["invoices"] if one["hosted_invoice_url"] == said.invoice_url]
    assert (kept["status"], kept["amount_paid"], kept["metadata"]) == (
        "paid", 1189, {"our_id": "co_1", "order_number": "PO-17"},
    )  # fmt: skip
    assert (said.state, said.invoices) == (State.PAID, ())
