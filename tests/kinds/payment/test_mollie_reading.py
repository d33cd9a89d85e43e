"""Mollie's payments as snapshots, and its webhooks as notices."""

from __future__ import annotations

import hashlib
import hmac
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elicit_flows.kinds.payment import providers
from elicit_flows.kinds.payment.providers import parts
from elicit_flows.kinds.payment.providers.base import BadNotice
from elicit_flows.kinds.payment.providers.mollie import reading
from elicit_flows.kinds.payment.values import Notice, State
from elicit_flows.lib import money
from tests.kinds.payment.mollie_answers import account, embedded, payment, refund

MOLLIE = providers.get("mollie")
AT = account(None)
SIGNED = account(None, "old secret", "new secret")
HINT = Notice("tr_1", "hint", "tr_1", None, False)


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ("open", State.OPEN),
        ("pending", State.PROCESSING),
        ("authorized", State.PROCESSING),
        ("paid", State.PAID),
        ("failed", State.FAILED),
        ("expired", State.EXPIRED),
        ("canceled", State.CANCELLED),
    ],
)
def test_each_status_has_its_state(status: str, state: State) -> None:
    said = reading.snapshot(payment(status=status))
    assert (said.state, said.ref, said.payment_ref) == (state, "tr_1", "tr_1")
    assert (said.amount, said.currency, said.livemode, said.our_id) == (1999, "eur", False, "co_1")


@pytest.mark.parametrize(
    ("method", "state"), [(None, State.OPEN), ("creditcard", State.OPEN), ("banktransfer", State.PROCESSING)]
)
def test_a_transfer_is_on_its_way_though_mollie_calls_it_open(method: str | None, state: State) -> None:
    assert reading.snapshot(payment(method=method)).state is state


@pytest.mark.parametrize(
    "value",
    ["19.9", "19.990", "19,99", "1999", "-19.99", "+19.99", " 19.99", "019.99", "1e3", "", None, 19.99, "１９.99"],
)
def test_an_amount_that_is_written_otherwise_is_no_amount(value: Any) -> None:
    assert reading.snapshot(payment(amount={"currency": "EUR", "value": value})).amount == 0


@pytest.mark.parametrize("amount", [None, {}, [], "19.99", {"value": "19.99"}, {"currency": "XXX", "value": "19.99"}])
def test_an_amount_without_a_currency_is_no_amount(amount: Any) -> None:
    assert reading.snapshot(payment(amount=amount)).amount == 0


@given(st.integers(0, 99_999_999), st.sampled_from(sorted(money.DIGITS)))
def test_what_is_written_is_read_to_the_cent(minor: int, currency: str) -> None:
    assert money.minor(money.decimal(minor, currency), currency) == minor


@pytest.mark.parametrize(
    ("minor", "currency", "written"),
    [(5, "eur", "0.05"), (435, "eur", "4.35"), (0, "usd", "0.00"), (500, "jpy", "500")],
)
def test_an_amount_has_the_digits_of_its_currency(minor: int, currency: str, written: str) -> None:
    assert money.decimal(minor, currency) == written


@pytest.mark.parametrize("metadata", [None, "co_1", ["co_1"], {}, {"our_id": ""}, {"our_id": 1}])
def test_a_payment_that_names_nothing_of_ours_has_no_id_of_ours(metadata: Any) -> None:
    assert reading.snapshot(payment(metadata=metadata)).our_id is None


def test_what_went_back_is_told_the_oldest_first() -> None:
    states = {"queued": "pending", "pending": "pending", "processing": "pending", "refunded": "done"}
    states |= {"failed": "failed", "canceled": "failed"}
    refunds = [
        refund(id=f"re_{status}", status=status, createdAt=f"2026-11-21T07:0{9 - number}:00+00:00")
        for number, status in enumerate(states)
    ]
    said = reading.snapshot(embedded(*refunds)).refunds
    assert [one.ref for one in said] == [f"re_{status}" for status in reversed(states)]
    assert {one.ref.removeprefix("re_"): one.state for one in said} == states
    assert {one.amount for one in said} == {500}


def test_a_chargeback_is_lost_until_it_is_reversed() -> None:
    amount = {"currency": "EUR", "value": "19.99"}
    gone = {"id": "chb_1", "amount": amount, "createdAt": "2026-11-21T07:00:00+00:00", "reversedAt": None}
    back = gone | {"id": "chb_2", "createdAt": "2026-11-21T08:00:00+00:00", "reversedAt": "2026-11-22T07:00:00+00:00"}
    said = reading.snapshot(embedded(chargebacks=(back, gone))).disputes
    assert [(one.ref, one.amount, one.state) for one in said] == [("chb_1", 1999, "lost"), ("chb_2", 1999, "won")]


@pytest.mark.parametrize(
    "written", ["2018-03-12T12:06:35+00:00", "2018-03-12T12:06:35.0Z", "2018-03-12T13:06:35+01:00"]
)
def test_moments_are_read_as_mollie_writes_them(written: str) -> None:
    assert parts.moment({"expiresAt": written}, "expiresAt") == datetime(2018, 3, 12, 12, 6, 35, tzinfo=UTC)


@pytest.mark.parametrize("written", [None, "", "soon", 5, "2018-03-12", "9999-12-31T23:59:59-12:00"])
def test_other_moments_are_none(written: Any) -> None:
    assert parts.moment({"expiresAt": written}, "expiresAt") is None


# Webhooks.


def signature(body: bytes, secret: str) -> str:
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def event(**changes: Any) -> bytes:
    usual = {"resource": "event", "id": "event_1", "type": "payment.paid", "entityId": "tr_1"}
    return json.dumps(usual | changes).encode()


@pytest.mark.parametrize("at", [AT, SIGNED], ids=["without secrets", "with secrets"])
def test_a_classic_webhook_is_a_hint_that_needs_no_signature(at: Any) -> None:
    assert MOLLIE.receive(at, {}, b"id=tr_1") == [HINT]


@pytest.mark.parametrize("body", [b"id=ord_1", b"id=tr_1/refunds", b"id=tr_", b"id=tr_%00", b"id=" + b"a" * 500])
def test_a_hint_at_something_else_gives_no_notice(body: bytes) -> None:
    assert MOLLIE.receive(AT, {}, body) == []


@pytest.mark.parametrize(
    "body", [b"", b"id=", b"id=tr_1&id=tr_2", b'{"id": "tr_1"}', b"\xff\xfe", b"id=tr_1&x=" + b"a" * 1000]
)
def test_what_names_nothing_is_refused(body: bytes) -> None:
    with pytest.raises(BadNotice):
        MOLLIE.receive(AT, {}, body)


@pytest.mark.parametrize("secret", ["old secret", "new secret"])
def test_t99_a_signed_event_is_verified_with_each_secret(secret: str) -> None:
    body = event()
    two = f"{signature(body, 'forgotten')},{signature(body, secret)}"
    for header in (signature(body, secret), signature(body, secret).removeprefix("sha256="), two):
        assert MOLLIE.receive(SIGNED, {"x-mollie-signature": header}, body) == [
            Notice("tr_1", "payment.paid", "tr_1", None, False)
        ]


@pytest.mark.parametrize("header", ["", "sha256=", "sha256=00", signature(event(), "forgotten"), "é", "a" * 5000])
def test_t99_an_event_with_another_signature_is_refused(header: str) -> None:
    with pytest.raises(BadNotice):
        MOLLIE.receive(SIGNED, {"x-mollie-signature": header}, event())


def test_t99_what_says_that_it_is_signed_is_refused_where_no_secret_tells_whether() -> None:
    for body in (event(), b"id=tr_1"):
        with pytest.raises(BadNotice):
            MOLLIE.receive(AT, {"x-mollie-signature": signature(body, "")}, body)


def test_an_event_about_a_refund_points_at_its_payment() -> None:
    body = event(type="refund.refunded", entityId="re_1", _embedded={"entity": {"paymentId": "tr_1", "mode": "live"}})
    [notice] = MOLLIE.receive(SIGNED, {"x-mollie-signature": signature(body, "new secret")}, body)
    assert (notice.ref, notice.type, notice.livemode) == ("tr_1", "refund.refunded", True)


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b"\xff", b'{"resource": "payment"}', b'{"resource": "event", "resource": "event"}']
)
def test_a_signed_body_that_is_no_event_is_refused(body: bytes) -> None:
    with pytest.raises(BadNotice):
        MOLLIE.receive(SIGNED, {"x-mollie-signature": signature(body, "new secret")}, body)


def test_an_event_about_something_else_gives_no_notice() -> None:
    body = event(type="payout.completed", entityId="po_1")
    assert MOLLIE.receive(SIGNED, {"x-mollie-signature": signature(body, "new secret")}, body) == []
