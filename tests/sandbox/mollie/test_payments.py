"""The double as Mollie's own library sees it."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import httpx2
import pytest
from mollie.api import error as errors
from mollie.api.client import Client
from mollie.api.objects.base import ObjectBase
from mollie.api.objects.chargeback import Chargeback
from mollie.api.objects.payment import Payment
from mollie.api.objects.refund import Refund

from tests.kinds.payment.mollie_house import KEY, MollieHouse
from tests.sandbox.browser import Forms
from tests.sandbox.mollie.conftest import Create, asked

HAL = {"_links", "_embedded", "resource"}


def known(kind: type[ObjectBase]) -> Iterator[str]:
    """The fields that the library's object reads: what Mollie documents, as far as the library goes."""
    for node in ast.walk(ast.parse(inspect.getsource(kind))):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "_get_property":
            yield str(ast.literal_eval(node.args[0]))


def fits(thing: ObjectBase) -> None:
    """Nothing that the library does not know, moments as moments, amounts as strings."""
    assert thing.keys() - HAL <= set(known(type(thing)))
    for name, value in thing.items():
        if name.endswith("At") and value is not None:
            assert datetime.fromisoformat(value).tzinfo
        if name.startswith("amount"):
            assert value.keys() == {"currency", "value"}
            assert isinstance(value["value"], str)
    for link in (one for one in thing["_links"].values() if one):
        assert link.keys() == {"href", "type"}


def test_the_library_reads_a_payment_from_open_to_charged_back(
    house: MollieHouse, client: Client, create: Create
) -> None:
    made = create()
    fits(made)
    assert (made.status, made.mode, made.is_cancelable, made.sequence_type) == ("open", "test", True, "oneoff")
    assert (made.metadata, made.profile_id, made.method) == ({"our_id": "co_1"}, "pfl_sandbox", None)
    assert made.checkout_url == f"{house.url}/mollie/checkout/{made.id}"
    assert made.is_open()
    assert not made.is_paid()
    house.act(made.checkout_url, "pay")
    paid = client.payments.get(made.id)
    fits(paid)
    assert (paid.is_paid(), paid.checkout_url, paid.can_be_refunded(), paid.is_cancelable) == (True, None, True, None)
    refund = paid.refunds.create({"amount": {"currency": "EUR", "value": "5.00"}, "metadata": {"our_id": "r"}})
    fits(refund)
    assert (refund.is_pending(), refund.payment_id, refund.metadata) == (True, made.id, {"our_id": "r"})
    house.finish_refund(refund.id, ok=True)
    assert paid.refunds.get(refund.id).is_refunded()
    house.dispute(made.id, "open")
    house.dispute(made.id, "won")
    now = client.payments.get(made.id, embed="refunds,chargebacks")
    fits(now)
    assert (now.amount_refunded["value"], now.amount_remaining["value"]) == ("5.00", "14.99")
    assert (now.has_refunds(), now.has_chargebacks()) == (True, True)
    [back] = [Chargeback(one, client) for one in now.get_embedded("chargebacks")]
    fits(back)
    assert back.reversed_at
    assert [one.id for one in paid.chargebacks.list()] == [back.id]
    assert [Refund(one, client).id for one in now.get_embedded("refunds")] == [one.id for one in paid.refunds.list()]


@pytest.mark.parametrize(
    ("button", "status"),
    [("pay", "paid"), ("pay_bank", "open"), ("pay_declined", "open"), ("fail", "failed"), ("back", "canceled")],
)
def test_each_button_comes_to_what_it_says(
    house: MollieHouse, client: Client, create: Create, button: str, status: str
) -> None:
    made = create()
    house.act(made.checkout_url, button)
    now = client.payments.get(made.id)
    fits(now)
    assert now.status == status
    page = httpx2.get(made.checkout_url, trust_env=False).text
    assert "SANDBOX" in page
    assert f'data-status="{status}"' in page
    assert bool(Forms(page).found) == (button == "pay_declined")


def test_the_buyer_is_sent_where_the_merchant_said(house: MollieHouse, create: Create) -> None:
    for button, where in (("pay", "http://127.0.0.1:9/done"), ("back", "http://127.0.0.1:9/back")):
        answer = httpx2.post(create().checkout_url, data={"action": button}, trust_env=False)
        assert answer.headers["location"] == where
    answer = httpx2.post(create(cancelUrl=None).checkout_url, data={"action": "back"}, trust_env=False)
    assert answer.headers["location"] == "http://127.0.0.1:9/done"


def test_the_second_of_two_tabs_sees_what_became_of_it(create: Create) -> None:
    url = create().checkout_url
    answers = [httpx2.post(url, data={"action": action}, trust_env=False) for action in ("pay", "back")]
    assert [one.status_code for one in answers] == [303, 200]
    assert "This is paid" in answers[1].text


def test_an_open_payment_expires_by_the_clock_and_the_merchant_is_told(
    house: MollieHouse, client: Client, create: Create
) -> None:
    made = create()
    house.forward(901)
    now = client.payments.get(made.id)
    fits(now)
    assert now.is_expired()
    assert house.webhooks(made.id)
    with pytest.raises(errors.UnprocessableEntityError):
        client.payments.delete(made.id)


def test_what_is_cancelled_cannot_be_paid(house: MollieHouse, client: Client, create: Create) -> None:
    made = create()
    gone = client.payments.delete(made.id)
    fits(Payment(gone, client))
    assert gone["status"] == "canceled"
    with pytest.raises(KeyError):
        house.act(made.checkout_url, "pay")


def test_payments_are_listed_the_newest_first_page_by_page(client: Client, create: Create) -> None:
    made = [create().id for _ in range(5)]
    page = client.payments.list(limit=2)
    seen = [one.id for one in page]
    while page.has_next():
        page = page.get_next()
        seen += [one.id for one in page]
    assert seen == made[::-1]


# What it refuses.

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"amount": None}, "amount"),
    ({"amount": "19.99"}, "amount"),
    ({"amount": {"currency": "EUR", "value": 19.99}}, "amount.value"),
    ({"amount": {"currency": "EUR", "value": "19.9"}}, "amount.value"),
    ({"amount": {"currency": "EUR", "value": "1999"}}, "amount.value"),
    ({"amount": {"currency": "EUR", "value": "-1.00"}}, "amount.value"),
    ({"amount": {"currency": "EUR", "value": "0.00"}}, "amount"),
    ({"amount": {"currency": "EUR", "value": "1000000000.00"}}, "amount"),
    ({"amount": {"currency": "JPY", "value": "500.00"}}, "amount.value"),
    ({"amount": {"currency": "eur", "value": "19.99"}}, "amount.currency"),
    ({"amount": {"currency": "XXX", "value": "19.99"}}, "amount.currency"),
    ({"amount": {"currency": "EUR", "value": "19.99", "cents": 0}}, "amount"),
    ({"description": None}, "description"),
    ({"description": " "}, "description"),
    ({"redirectUrl": None}, "redirectUrl"),
    ({"redirectUrl": "/done"}, "redirectUrl"),
    ({"webhookUrl": ""}, "webhookUrl"),
    ({"metadata": {"our_id": "x" * 1100}}, "metadata"),
    ({"method": "ideal"}, "method"),
    ({"expiresAt": "2026-11-22"}, "expiresAt"),
]


@pytest.mark.parametrize(("changes", "field"), WRONG, ids=range(len(WRONG)))
def test_what_mollie_would_refuse_or_overlook_is_refused(create: Create, changes: dict[str, Any], field: str) -> None:
    with pytest.raises(errors.UnprocessableEntityError) as told:
        create(**changes)
    assert told.value.field == field


@pytest.mark.parametrize("key", ["live_of_a_real_account", "test_of_nobody", "access_token"])
def test_only_a_test_key_that_it_knows_is_taken(house: MollieHouse, key: str) -> None:
    headers = {"authorization": f"Bearer {key}"}
    answer = httpx2.get(f"{house.url}/mollie/v2/payments", headers=headers, trust_env=False)
    assert answer.status_code == 401
    assert answer.json().keys() == {"status", "title", "detail", "_links"}
    assert ("SANDBOX" in answer.json()["detail"]) == (not key.startswith("test_"))


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "payments/tr_0"), ("GET", "orders"), ("POST", "customers"), ("PATCH", "payments/tr_0"),
        ("GET", "payments?testmode=true"), ("GET", "payments?limit=251"), ("GET", "payments/tr_0?embed=captures"),
    ],
)  # fmt: skip
def test_what_is_not_there_fails_loudly(house: MollieHouse, method: str, path: str) -> None:
    headers = {"authorization": f"Bearer {KEY}"}
    answer = httpx2.request(method, f"{house.url}/mollie/v2/{path}", headers=headers, json={}, trust_env=False)
    assert answer.status_code in {404, 422}
    assert answer.json()["status"] == answer.status_code


def test_another_profiles_payment_does_not_exist(house: MollieHouse, create: Create) -> None:
    made = create()
    other = Client(api_endpoint=f"{house.url}/mollie")
    other.set_api_key(house.other.secret_key.reveal())
    with pytest.raises(errors.NotFoundError):
        other.payments.get(made.id)
    assert len(other.payments.list()) == 0


def test_no_more_goes_back_than_came(house: MollieHouse, client: Client, create: Create) -> None:
    made = create()
    with pytest.raises(errors.UnprocessableEntityError):
        made.refunds.create({"amount": {"currency": "EUR", "value": "1.00"}})
    house.act(made.checkout_url, "pay")
    made.refunds.create({"amount": {"currency": "EUR", "value": "19.00"}})
    for amount in ({"currency": "EUR", "value": "1.00"}, {"currency": "USD", "value": "0.50"}):
        with pytest.raises(errors.UnprocessableEntityError):
            made.refunds.create({"amount": amount})


# Keys, faults, webhooks.


def test_the_same_key_gives_the_same_answer_and_says_so(house: MollieHouse, create: Create) -> None:
    headers = {"authorization": f"Bearer {KEY}", "idempotency-key": "one"}
    url = f"{house.url}/mollie/v2/payments"
    first, second = (httpx2.post(url, json=asked(house), headers=headers, trust_env=False) for _ in range(2))
    assert (first.status_code, second.status_code, first.content == second.content) == (201, 201, True)
    assert [one.headers.get("idempotent-replayed") for one in (first, second)] == [None, "true"]
    with pytest.raises(errors.BadRequestError):
        create("one", description="Another")
    house.forward(86_401)
    assert create("one", description="Another").id != first.json()["id"]


@pytest.mark.parametrize(("fault", "status", "made"), [("429", 429, 0), ("503", 503, 0), ("500_executed", 500, 1)])
def test_a_fault_is_answered_as_mollie_would(
    house: MollieHouse, create: Create, fault: str, status: int, made: int
) -> None:
    house.order("fault", name=fault, on="POST /payments")
    with pytest.raises(errors.ResponseError) as told:
        create()
    assert told.value.status == status
    assert house.checkouts() == made
    create()


def test_a_lost_answer_is_lost_after_it_was_carried_out(house: MollieHouse, create: Create) -> None:
    house.order("fault", name="lose_reply", on="POST /payments")
    with pytest.raises(errors.RequestError):
        create("key")
    assert create("key").id == house.state()["payments"][0]["id"]
    assert house.checkouts() == 1


def test_a_webhook_is_an_unsigned_id_and_comes_again_until_it_is_answered_200(
    house: MollieHouse, create: Create
) -> None:
    house.sink.status("/inbound/sandbox", 503, times=1)
    made = create()
    house.act(made.checkout_url, "pay")
    received = house.webhooks(made.id)
    assert house.state()["deliveries"][0]["tries"] == [503, 200]
    assert len(received) == 2
    for headers, body in received:
        assert body == f"id={made.id}".encode()
        assert headers["content-type"] == "application/x-www-form-urlencoded"
        assert not [name for name in headers if "signature" in name.lower()]


def test_open_and_pending_are_no_news_and_lost_webhooks_are_not_sent(house: MollieHouse, create: Create) -> None:
    house.act(create().checkout_url, "pay_bank")
    assert house.state()["deliveries"] == []
    house.order("weather", drop=True)
    house.act(create().checkout_url, "pay")
    assert [one["state"] for one in house.state()["deliveries"]] == ["dropped"]


@pytest.mark.parametrize(
    ("act", "given"),
    [
        ("settle", {"payment": "tr_0", "outcome": "ok"}), ("settle", {}), ("refund_outcome", {"refund": "re_0"}),
        ("fault", {"name": "rain"}), ("profile", {"id": "pfl_1", "key": "live_1"}), ("clock", {"seconds": "60"}),
    ],
    ids=range(6),
)  # fmt: skip
def test_an_order_that_makes_no_sense_is_refused(house: MollieHouse, act: str, given: dict[str, Any]) -> None:
    answer = httpx2.post(f"{house.url}/mollie/_control/{act}", json=given, trust_env=False)
    assert answer.status_code == 400
    assert answer.json()["error"]
