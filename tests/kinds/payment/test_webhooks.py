"""Stripe's webhooks: only with Stripe's signature, only recent ones, checked over the received bytes (T99-T101)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from elicit_flows.kinds.payment import providers
from elicit_flows.kinds.payment.providers.base import BadNotice
from elicit_flows.kinds.payment.values import Account, Notice
from elicit_flows.lib import clock
from tests.kinds.payment.signing import COMPLETED, NOW, SECRET, STAMP, account, body, event, mac, signed, thin

STRIPE = providers.get("stripe")
BODY = body(COMPLETED)
NOTICE = Notice("evt_1", "checkout.session.completed", "cs_test_1", "pi_1", livemode=False)


@pytest.fixture(autouse=True)
def _now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", lambda: NOW)


def received(raw: bytes, header: str | None, to: Account | None = None) -> list[Notice]:
    headers = {"content-type": "application/json"} | ({} if header is None else {"stripe-signature": header})
    return STRIPE.receive(to or account(SECRET), headers, raw)


def told(value: Any) -> list[Notice]:
    return received(body(value), signed(body(value), SECRET))


def is_refused(raw: bytes, header: str | None, to: Account | None = None) -> bool:
    try:
        received(raw, header, to)
    except BadNotice as bad:
        return str(bad).endswith(".")
    return False


def test_a_webhook_of_stripe_is_a_hint_where_to_look() -> None:
    assert received(BODY, signed(BODY, SECRET)) == [NOTICE]


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        signed(BODY, "whsec_of_somebody_else"),
        signed(BODY, ""),
        signed(BODY, SECRET, scheme="v0"),
        signed(BODY, SECRET, scheme="V1"),
        signed(BODY),
        f"t={STAMP},v1=",
        f"v1={mac(BODY, SECRET, '')}",
        f"t=,v1={mac(BODY, SECRET, '')}",
    ],
)
def test_t99_a_forged_webhook_is_refused(header: str | None) -> None:
    assert is_refused(BODY, header)


@pytest.mark.parametrize("secrets", [(), ("",), (" ",), ("\t", ""), ("", " \n")])
@pytest.mark.parametrize("forger", ["", " ", "\t", SECRET])
def test_t99_without_a_secret_nothing_is_valid(secrets: tuple[str, ...], forger: str) -> None:
    assert is_refused(BODY, signed(BODY, forger), account(*secrets))


def test_t99_a_blank_secret_beside_a_real_one_opens_no_door() -> None:
    both = account("", SECRET)
    assert is_refused(BODY, signed(BODY, ""), both)
    assert received(BODY, signed(BODY, SECRET), both) == [NOTICE]


@pytest.mark.parametrize("age", [300, 299, 1, -1, -299, -300])
def test_t100_five_minutes_either_way_are_forgiven(age: int) -> None:
    assert received(BODY, signed(BODY, SECRET, stamp=STAMP - age)) == [NOTICE]


@pytest.mark.parametrize("age", [301, 3600, 86_400 * 365, -301, -3600, -86_400 * 3650])
def test_t100_older_or_of_the_future_is_refused(age: int) -> None:
    assert is_refused(BODY, signed(BODY, SECRET, stamp=STAMP - age))


@pytest.mark.parametrize(
    "stamp", ["", "-1", f"+{STAMP}", f" {STAMP}", f"{STAMP}.0", f"{STAMP:_}", hex(STAMP), "٣", "1" * 13, "x"]
)
def test_t100_a_time_in_an_odd_spelling_is_refused(stamp: str) -> None:
    assert is_refused(BODY, signed(BODY, SECRET, stamp=stamp))
    assert is_refused(BODY, f"t={stamp},v1={mac(BODY, SECRET, STAMP)}")


def test_t100_of_two_times_none_counts() -> None:
    old = STAMP - 86_400
    for first, second in ((old, STAMP), (STAMP, old)):
        assert is_refused(BODY, f"t={first},t={second},v1={mac(BODY, SECRET, first)},v1={mac(BODY, SECRET, second)}")


@pytest.mark.parametrize(
    "raw",
    [
        json.dumps(COMPLETED, indent=4).encode(),
        json.dumps(COMPLETED | {"pending_webhooks": "naïve 日本 🙂"}, ensure_ascii=False).encode(),
        json.dumps(COMPLETED | {"pending_webhooks": "e\u0301 \u2028"}, ensure_ascii=True).encode(),
        b"\n\t " + BODY + b"\r\n",
    ],
)
def test_t101_the_bytes_as_they_came_are_what_is_signed(raw: bytes) -> None:
    header = signed(raw, SECRET)
    assert received(raw, header) == [NOTICE]
    rewritten = json.dumps(json.loads(raw), separators=(",", ":")).encode()
    assert rewritten != raw
    assert is_refused(rewritten, header)


def test_t101_one_changed_byte_spoils_the_signature() -> None:
    header = signed(BODY, SECRET)
    for place in range(0, len(BODY), 7):
        assert is_refused(BODY[:place] + bytes([BODY[place] ^ 1]) + BODY[place + 1 :], header), place


def test_while_a_secret_is_changed_either_is_good_and_then_only_the_new_one() -> None:
    for header in (signed(BODY, "old"), signed(BODY, "new"), signed(BODY, "old", "new"), signed(BODY, "x", "new")):
        assert received(BODY, header, account("new", "old")) == [NOTICE]
    assert is_refused(BODY, signed(BODY, "old"), account("new"))
    assert received(BODY, signed(BODY, "old", "new"), account("new")) == [NOTICE]


@pytest.mark.parametrize(
    "header",
    [
        "x",
        ",",
        "=",
        "t",
        "t=",
        ",,,=,",
        "v1=" + "0" * 64,
        "t=1795244400;v1=0",
        "\x00",
        "t=1795244400,v1=é",
        "a" * 10**5,
    ],
)
def test_a_header_of_garbage_is_refused(header: str) -> None:
    assert is_refused(BODY, header)


def test_a_long_header_is_not_worked_through() -> None:
    header = signed(BODY, SECRET)
    assert received(BODY, header + ",v1=" + "0" * 64) == [NOTICE]
    assert is_refused(BODY, header + ",v1=0" * 1000)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\xff\xfe",
        BODY.replace(b"evt_1", b"evt_\xff"),
        b"{",
        b"x",
        b"null",
        b"7",
        b'"event"',
        b"[]",
        b'{"a":1}',
        b'{"object":"event"}',
        b"\xef\xbb\xbf" + BODY,
        BODY[:-1] + b',"id":"evt_2"}',
        b'{"object":' * 5000 + b"1" + b"}" * 5000,
        *(body({name: value for name, value in COMPLETED.items() if name != left_out})
          for left_out in ("id", "object", "type", "livemode")),
        *(body(COMPLETED | change) for change in (
            {"id": ""}, {"id": 7}, {"id": "x" * 256}, {"type": None}, {"livemode": "false"}, {"livemode": 0},
            {"object": "charge"}, {"object": ["event"]}, {"object": "v2.core.event_destination"})),
    ],
)  # fmt: skip
def test_what_is_signed_but_no_event_is_refused(raw: bytes) -> None:
    assert is_refused(raw, signed(raw, SECRET))


@pytest.mark.parametrize(
    ("kind", "about", "ref", "payment_ref"),
    [
        ("checkout.session.completed", {"object": "checkout.session", "id": "cs_1"}, "cs_1", None),
        (
            "checkout.session.async_payment_failed",
            {"object": "checkout.session", "id": "cs_1", "payment_intent": {"id": "pi_1"}},
            "cs_1",
            "pi_1",
        ),
        (
            "checkout.session.completed",
            {"object": "checkout.session", "id": "cs_1", "payment_intent": None, "subscription": "sub_1"},
            "cs_1",
            "sub_1",
        ),
        ("payment_intent.succeeded", {"object": "payment_intent", "id": "pi_1"}, None, "pi_1"),
        ("charge.refunded", {"object": "charge", "id": "ch_1", "payment_intent": "pi_1"}, None, "pi_1"),
        ("charge.refund.updated", {"object": "refund", "id": "re_1", "payment_intent": "pi_1"}, None, "pi_1"),
        ("refund.failed", {"object": "refund", "id": "re_1", "payment_intent": "pi_1"}, None, "pi_1"),
        ("charge.dispute.created", {"object": "dispute", "id": "du_1", "payment_intent": "pi_1"}, None, "pi_1"),
        ("customer.subscription.deleted", {"object": "subscription", "id": "sub_1"}, None, "sub_1"),
        (
            "invoice.paid",
            {"object": "invoice", "id": "in_1", "parent": {"subscription_details": {"subscription": "sub_1"}}},
            None,
            "sub_1",
        ),
    ],
)
def test_an_event_points_at_the_checkout_or_the_payment(
    kind: str, about: Any, ref: str | None, payment_ref: str | None
) -> None:
    assert told(event(kind, about)) == [Notice("evt_1", kind, ref, payment_ref, livemode=False)]


@pytest.mark.parametrize(
    ("kind", "type", "id", "ref", "payment_ref"),
    [
        ("v1.checkout.session.completed", "checkout.session", "cs_1", "cs_1", None),
        ("v1.payment_intent.succeeded", "payment_intent", "pi_1", None, "pi_1"),
        ("v1.customer.subscription.deleted", "subscription", "sub_1", None, "sub_1"),
    ],
)
def test_a_thin_event_points_there_as_well(
    kind: str, type: str, id: str, ref: str | None, payment_ref: str | None
) -> None:
    assert told(thin(kind, type, id)) == [Notice("evt_thin_1", kind, ref, payment_ref, livemode=False)]


def test_a_thin_event_of_the_account_itself_has_an_empty_context() -> None:
    assert len(told(thin("v1.checkout.session.completed", "checkout.session", "cs_1", context=None))) == 1


def test_a_thin_event_counts_as_one_with_its_twin_in_full() -> None:
    [notice] = told(thin("v1.checkout.session.completed", "checkout.session", "cs_1", snapshot_event="evt_1"))
    assert notice.id == told(COMPLETED)[0].id == "evt_1"


@pytest.mark.parametrize(
    "value",
    [
        event("invoice.paid", {"object": "invoice", "id": "in_1", "parent": None}),
        event("charge.refunded", {"object": "charge", "id": "ch_1", "payment_intent": None}),
        event("customer.created", {"object": "customer", "id": "cus_1"}),
        event("checkout.session.completed", None),
        event("checkout.session.completed", {"object": "checkout.session", "id": 7}),
        event("checkout.session.completed", {"object": ["checkout.session"], "id": "cs_1"}),
        COMPLETED | {"data": None},
        COMPLETED | {"data": []},
        thin("v1.charge.refunded", "charge", "ch_1"),
        thin("v1.billing.meter.error_report_triggered", "billing.meter", "mtr_1"),
        thin("v1.checkout.session.completed", "checkout.session", "cs_1", related_object=None),
    ],
)
def test_an_event_about_something_else_is_taken_and_left_alone(value: Any) -> None:
    assert told(value) == []


def test_the_mode_of_the_event_is_told_as_it_is() -> None:
    assert [notice.livemode for notice in told(COMPLETED | {"livemode": True})] == [True]
