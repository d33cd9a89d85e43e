"""The double as PayPal's own library sees it, and as its models describe PayPal."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from paypalserversdk.configuration import Configuration, Environment, Server
from paypalserversdk.exceptions.error_exception import ErrorException
from paypalserversdk.http.auth.o_auth_2 import ClientCredentialsAuthCredentials
from paypalserversdk.models.capture_status import CaptureStatus
from paypalserversdk.models.captured_payment import CapturedPayment
from paypalserversdk.models.link_description import LinkDescription
from paypalserversdk.models.money import Money
from paypalserversdk.models.order import Order
from paypalserversdk.models.order_status import OrderStatus
from paypalserversdk.models.orders_capture import OrdersCapture
from paypalserversdk.models.payment_collection import PaymentCollection
from paypalserversdk.models.purchase_unit import PurchaseUnit
from paypalserversdk.models.refund import Refund
from paypalserversdk.models.refund_status import RefundStatus
from paypalserversdk.paypal_serversdk_client import PaypalServersdkClient

from sandbox.paypal import parameters
from tests.kinds.payment.paypal_house import CLIENT_ID, SECRET, PayPalHouse

INSIDE: dict[str, type] = {
    "purchase_units": PurchaseUnit, "payments": PaymentCollection, "captures": OrdersCapture, "refunds": Refund,
    "amount": Money, "links": LinkDescription,
}  # fmt: skip
STATUSES = {Order: OrderStatus, OrdersCapture: CaptureStatus, CapturedPayment: CaptureStatus, Refund: RefundStatus}


@pytest.fixture(scope="module")
def double(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PayPalHouse]:
    found = PayPalHouse(tmp_path_factory.mktemp("paypal") / "log")
    yield found
    found.close()


@pytest.fixture
def house(double: PayPalHouse) -> PayPalHouse:
    double.order("reset")
    return double


@pytest.fixture
def client(house: PayPalHouse) -> Any:
    """PayPal's own library, as it comes, at the double's address."""

    class Here(Configuration):  # type: ignore[misc]
        environments = {Environment.SANDBOX: {Server.DEFAULT: f"{house.url}/paypal"}}

    named = ClientCredentialsAuthCredentials(CLIENT_ID, SECRET)
    return PaypalServersdkClient(config=Here(client_credentials_auth_credentials=named))


def asked(**changes: Any) -> dict[str, Any]:
    context = {"return_url": "http://127.0.0.1:9/done?checkout=co_1", "cancel_url": "http://127.0.0.1:9/back"}
    unit = {"amount": {"currency_code": "EUR", "value": "19.99"}, "description": "A report", "custom_id": "co_1"}
    source = {"paypal": {"experience_context": context}}
    return {"intent": "CAPTURE", "purchase_units": [unit], "payment_source": source} | changes


def create(client: Any, **changes: Any) -> Any:
    return client.orders.create_order({"body": asked(**changes), "paypal_request_id": "key"}).body


def fits(thing: dict[str, Any], kind: type) -> None:
    """It has no member that the library's model does not know, and only statuses that it knows."""
    names: dict[str, str] = kind._names  # type: ignore[attr-defined]
    assert thing.keys() <= set(names.values()), kind
    if kind in STATUSES:
        assert thing["status"] in {value for name, value in vars(STATUSES[kind]).items() if name.isupper()}
    for name, inside in INSIDE.items():
        found = thing.get(name, [])
        for one in found if isinstance(found, list) else [found]:
            fits(one, inside)


@pytest.mark.parametrize("model", list(parameters.MODELS))
def test_the_double_knows_each_parameter_of_the_librarys_model_and_no_other(model: str) -> None:
    module = re.sub(r"(?<!^)(?=[A-Z])", "_", model).lower()
    kind = getattr(importlib.import_module(f"paypalserversdk.models.{module}"), model)
    assert set(parameters.MODELS[model]) == set(kind._names.values())


def test_the_library_reads_an_order_from_its_start_to_its_refund(house: PayPalHouse, client: Any) -> None:
    made = create(client)
    assert (made.status, [one.rel for one in made.links]) == ("PAYER_ACTION_REQUIRED", ["self", "payer-action"])
    house.act(made.links[1].href, "pay")
    assert client.orders.get_order({"id": made.id}).body.status == "APPROVED"
    whole = {"id": made.id, "paypal_request_id": "capture", "prefer": "return=representation"}
    taken = client.orders.capture_order(whole).body.purchase_units[0].payments.captures[0]
    assert (taken.status, taken.amount.value, taken.custom_id) == ("COMPLETED", "19.99", "co_1")
    back = {"capture_id": taken.id, "body": {"amount": {"currency_code": "EUR", "value": "5.00"}, "custom_id": "row_1"}}
    refund = client.payments.refund_captured_payment(back | {"prefer": "return=representation"}).body
    assert (refund.status, refund.amount.value) == ("COMPLETED", "5.00")
    assert client.payments.get_captured_payment({"capture_id": taken.id}).body.status == "PARTIALLY_REFUNDED"
    [shown] = house.state()["orders"]
    fits(shown, Order)
    assert shown["purchase_units"][0]["payments"]["refunds"][0]["custom_id"] == "row_1"


def test_a_capture_without_a_wish_for_more_is_answered_shortly(house: PayPalHouse, client: Any) -> None:
    made = create(client)
    house.act(made.links[1].href, "pay")
    said = client.orders.capture_order({"id": made.id, "paypal_request_id": "capture"})
    assert not hasattr(said.body, "purchase_units")


@pytest.mark.parametrize(
    ("changes", "issue"),
    [
        ({"intent": "AUTHORIZE"}, "NOT_SUPPORTED"),
        ({"bogus": 1}, "NOT_SUPPORTED"),
        ({"purchase_units": []}, "NOT_SUPPORTED"),
        ({"purchase_units": [{"amount": {"currency_code": "ISK", "value": "1"}}]}, "CURRENCY_NOT_SUPPORTED"),
        ({"purchase_units": [{"amount": {"currency_code": "JPY", "value": "1.00"}}]}, "DECIMALS_NOT_SUPPORTED"),
        ({"purchase_units": [{"amount": {"currency_code": "EUR", "value": 1}}]}, "INVALID_PARAMETER_SYNTAX"),
        ({"purchase_units": [{"amount": {"currency_code": "EUR", "value": "0.00"}}]}, "CANNOT_BE_ZERO_OR_NEGATIVE"),
        ({"payment_source": {"paypal": {}}}, "MISSING_REQUIRED_PARAMETER"),
    ],
)
def test_what_paypal_or_the_double_does_not_know_is_refused(client: Any, changes: dict[str, Any], issue: str) -> None:
    with pytest.raises(ErrorException) as told:
        create(client, **changes)
    assert told.value.details[0].issue == issue


def test_an_order_is_captured_once_and_only_after_the_buyer_agreed(house: PayPalHouse, client: Any) -> None:
    made = create(client)
    for button, issue in (("", "ORDER_NOT_APPROVED"), ("pay_declined", "INSTRUMENT_DECLINED"), ("pay", "")):
        if button:
            house.act(made.links[1].href, button)
        if issue:
            with pytest.raises(ErrorException) as told:
                client.orders.capture_order({"id": made.id, "paypal_request_id": f"try {button}"})
            assert told.value.details[0].issue == issue
    client.orders.capture_order({"id": made.id, "paypal_request_id": "one"})
    client.orders.capture_order({"id": made.id, "paypal_request_id": "one"})
    with pytest.raises(ErrorException) as told:
        client.orders.capture_order({"id": made.id, "paypal_request_id": "two"})
    assert told.value.details[0].issue == "ORDER_ALREADY_CAPTURED"


def test_a_buyer_comes_back_with_paypals_ids_beside_ours(house: PayPalHouse, client: Any) -> None:
    made = create(client)
    page = made.links[1].href
    back = httpx2.post(page, data={"action": "pay"}, trust_env=False).headers["location"]
    assert back == f"http://127.0.0.1:9/done?checkout=co_1&token={made.id}&PayerID=SANDBOXBUYER1"


@pytest.mark.parametrize(
    ("act", "values"),
    [
        ("settle", {"order": "NOBODYS", "outcome": "ok"}),
        ("dispute", {}),
        ("app", {"client_id": "a", "secret": "real", "merchant": "b", "webhook": "c", "listener": "d"}),
        ("fault", {"name": "flood"}),
    ],
)
def test_an_order_that_makes_no_sense_is_refused(house: PayPalHouse, act: str, values: dict[str, Any]) -> None:
    answer = httpx2.post(f"{house.url}/paypal/_control/{act}", json=values, trust_env=False)
    assert answer.status_code == 400, answer.text
