"""How Stripe's objects are read: what counts as paid, and what does not."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from elicit_flows.kinds.payment.providers.stripe.reading import snapshot
from elicit_flows.kinds.payment.values import DisputeSeen, RefundSeen, Snapshot, State
from tests.kinds.payment.answers import session

INTENT = {"id": "pi_1", "status": "succeeded", "latest_charge": {"id": "ch_1", "receipt_url": "https://r.example.com"}}
PAID = session(status="complete", payment_status="paid", payment_intent=INTENT, customer="cus_1", url=None)
SAVED = session(
    mode="setup", status="complete", payment_status="no_payment_required", amount_total=None, payment_intent=None
)
ACTIVE = session(
    mode="subscription",
    status="complete",
    payment_status="paid",
    payment_intent=None,
    subscription={
        "id": "sub_1",
        "status": "active",
        "items": {"data": [{"current_period_end": 1_790_000_000}, {"current_period_end": 1_795_000_000}]},
        "latest_invoice": {"id": "in_1", "hosted_invoice_url": "https://i.example.com"},
    },
)


def read(value: dict[str, Any], **changes: Any) -> Snapshot:
    return snapshot(value | changes, [], [])


def subscription(status: str, **changes: Any) -> dict[str, Any]:
    return {"subscription": ACTIVE["subscription"] | {"status": status} | changes}


def test_a_paid_checkout_is_read_whole() -> None:
    assert read(PAID) == Snapshot(
        ref="cs_test_1",
        state=State.PAID,
        amount=1999,
        currency="eur",
        livemode=False,
        our_id="co_1",
        payment_ref="pi_1",
        receipt_url="https://r.example.com",
        customer="cus_1",
    )


@pytest.mark.parametrize(
    ("value", "changes", "state"),
    [
        (session(), {}, State.OPEN),
        (session(), {"status": "expired"}, State.EXPIRED),
        (PAID, {}, State.PAID),
        (PAID, {"payment_status": "unpaid", "payment_intent": INTENT | {"status": "processing"}}, State.PROCESSING),
        (
            PAID,
            {"payment_status": "unpaid", "payment_intent": INTENT | {"status": "requires_action"}},
            State.PROCESSING,
        ),
        (PAID, {"payment_status": "unpaid", "payment_intent": "pi_1"}, State.PROCESSING),
        (PAID, {"payment_status": "unpaid", "payment_intent": None}, State.PROCESSING),
        (PAID, {"payment_status": "unpaid", "payment_intent": {"status": "requires_payment_method"}}, State.FAILED),
        (PAID, {"payment_status": "unpaid", "payment_intent": {"status": "canceled"}}, State.FAILED),
        (PAID, {"payment_status": None}, State.PROCESSING),
        (SAVED, {"setup_intent": {"status": "succeeded"}}, State.SAVED),
        (SAVED, {"setup_intent": {"status": "processing"}}, State.PROCESSING),
        (SAVED, {"setup_intent": {"status": "requires_payment_method"}}, State.FAILED),
        (SAVED, {"setup_intent": None}, State.PROCESSING),
        (SAVED, {"status": "open"}, State.OPEN),
        (ACTIVE, {}, State.ACTIVE),
        (ACTIVE, {"payment_status": "unpaid"}, State.PROCESSING),
        (ACTIVE, subscription("past_due"), State.ACTIVE),
        (ACTIVE, subscription("incomplete"), State.PROCESSING),
        (ACTIVE, subscription("incomplete_expired"), State.FAILED),
        (ACTIVE, subscription("canceled"), State.CANCELLED),
        (ACTIVE, subscription("unpaid"), State.PROCESSING),
        (ACTIVE, subscription("paused"), State.PROCESSING),
        (ACTIVE, {"subscription": "sub_1"}, State.PROCESSING),
    ],
)
def test_how_a_checkout_stands(value: dict[str, Any], changes: dict[str, Any], state: State) -> None:
    assert read(value, **changes).state is state


@pytest.mark.parametrize("intent", ["processing", "requires_action"])
def test_t107_a_checkout_that_is_complete_is_not_paid_before_its_bank_has_paid(intent: str) -> None:
    said = read(PAID, payment_status="unpaid", payment_intent=INTENT | {"status": intent})
    assert said.state is State.PROCESSING


def test_a_checkout_that_became_free_of_charge_does_not_pass_for_paid_in_full() -> None:
    said = read(PAID, payment_status="no_payment_required", amount_total=0)
    assert (said.state, said.amount) == (State.PAID, 0)


@pytest.mark.parametrize(
    ("changes", "our_id"),
    [
        ({}, "co_1"),
        ({"client_reference_id": "co_2"}, None),
        ({"client_reference_id": None}, None),
        ({"client_reference_id": "", "metadata": {"our_id": ""}}, None),
        ({"metadata": {"our_id": "co_2"}}, None),
        ({"metadata": {}}, None),
        ({"metadata": None}, None),
    ],
)
def test_t104_our_id_counts_only_where_both_places_name_it(changes: dict[str, Any], our_id: str | None) -> None:
    assert read(PAID, **changes).our_id == our_id


@pytest.mark.parametrize("livemode", [None, "true", 1, False])
def test_t104_only_a_plain_true_is_real_money(livemode: Any) -> None:
    assert read(PAID, livemode=livemode).livemode is False
    assert read(PAID, livemode=True).livemode is True


def test_t104_the_amount_and_currency_are_the_providers_word() -> None:
    said = read(PAID, amount_total=1, currency="usd")
    assert (said.amount, said.currency) == (1, "usd")
    said = read(PAID, amount_total=None, currency=None)
    assert (said.amount, said.currency) == (0, "")


def test_what_the_payer_saw_in_their_own_currency_changes_nothing() -> None:
    assert read(PAID, presentment_details={"presentment_amount": 2150, "presentment_currency": "usd"}) == read(PAID)


def test_a_subscription_is_known_by_its_own_id_and_paid_until_its_last_item_is() -> None:
    said = read(ACTIVE)
    assert (said.payment_ref, said.receipt_url) == ("sub_1", "https://i.example.com")
    assert said.period_end == datetime.fromtimestamp(1_795_000_000, UTC)
    ended = read(ACTIVE, **subscription("canceled", ended_at=1_789_000_000))
    assert ended.period_end == datetime.fromtimestamp(1_789_000_000, UTC)
    assert read(ACTIVE, **subscription("active", items=None)).period_end is None


def refund(id: str, status: str, created: int, **metadata: str) -> dict[str, Any]:
    return {"id": id, "status": status, "created": created, "amount": 500, "metadata": metadata}


def test_refunds_are_told_oldest_first_and_ours_by_our_id() -> None:
    refunds = [
        refund("re_6", "unheard_of", 60),
        refund("re_5", "requires_action", 50),
        refund("re_4", "canceled", 40),
        refund("re_3", "failed", 30),
        refund("re_2", "succeeded", 20),
        refund("re_9", "pending", 10),
        refund("re_1", "pending", 10, our_id="row_1"),
    ]
    assert snapshot(PAID, refunds, []).refunds == (
        RefundSeen("re_1", 500, "pending", "row_1"),
        RefundSeen("re_9", 500, "pending"),
        RefundSeen("re_2", 500, "done"),
        RefundSeen("re_3", 500, "failed"),
        RefundSeen("re_4", 500, "failed"),
        RefundSeen("re_5", 500, "pending"),
        RefundSeen("re_6", 500, "pending"),
    )


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ("needs_response", "open"),
        ("under_review", "open"),
        ("appeal_needs_response", "open"),
        ("appeal_under_review", "open"),
        ("warning_needs_response", "open"),
        ("warning_under_review", "open"),
        ("unheard_of", "open"),
        ("won", "won"),
        ("prevented", "won"),
        ("warning_closed", "won"),
        ("lost", "lost"),
    ],
)
def test_how_a_dispute_stands(status: str, state: str) -> None:
    dispute = {"id": "du_1", "amount": 1999, "status": status, "created": 10}
    assert snapshot(PAID, [], [dispute]).disputes == (DisputeSeen("du_1", 1999, state),)


@pytest.mark.parametrize("status", ["needs_response", "warning_needs_response", "appeal_needs_response"])
@pytest.mark.parametrize("due", [1_790_000_000, 0, None])
def test_evidence_is_due_while_stripe_waits_for_a_response(status: str, due: int | None) -> None:
    dispute = {"id": "du_1", "status": status, "evidence_details": {"due_by": due}}
    [seen] = snapshot(PAID, [], [dispute]).disputes
    assert seen.evidence_due == (datetime.fromtimestamp(due, UTC) if due else None)
    [seen] = snapshot(PAID, [], [dispute | {"status": "under_review"}]).disputes
    assert seen.evidence_due is None


def test_the_last_dispute_is_the_last_one_told() -> None:
    disputes = [{"id": "du_2", "created": 20, "status": "won"}, {"id": "du_1", "created": 10, "status": "lost"}]
    assert [one.ref for one in snapshot(PAID, [], disputes).disputes] == ["du_1", "du_2"]


def bill(number: int, status: str, **more: Any) -> dict[str, Any]:
    start = 1_790_000_000 + number * 1000
    period = {"period": {"start": start, "end": start + 1000}}
    usual = {"id": f"in_{number}", "status": status, "currency": "eur", "amount_due": 500, "attempt_count": 1}
    return {**usual, "billing_reason": "subscription_cycle", "lines": {"data": [period]}, **more}


@pytest.mark.parametrize(("status", "tries", "state"), [
    ("paid", 1, "paid"), ("draft", 0, "open"), ("open", 0, "open"), ("open", 2, "failed"), ("void", 1, "void"),
    ("uncollectible", 4, "void"), ("unheard_of", None, "open"),
])  # fmt: skip
def test_how_a_renewal_stands(status: str, tries: int | None, state: str) -> None:
    [seen] = snapshot(ACTIVE, [], [], [bill(1, status, attempt_count=tries, amount_paid=400)]).invoices
    assert (seen.ref, seen.state, seen.amount, seen.first) == ("in_1", state, 400 if state == "paid" else 500, False)


def test_renewals_are_told_oldest_first_and_only_those_of_a_period() -> None:
    others = [
        bill(4, "paid", billing_reason="manual"),
        bill(3, "paid", lines=None),
        bill(5, "paid", lines={"data": [1]}),
    ]
    first = bill(1, "paid", billing_reason="subscription_create")
    seen = snapshot(ACTIVE, [], [], [*others, bill(2, "open"), first]).invoices
    assert [(one.ref, one.first) for one in seen] == [("in_1", True), ("in_2", False)]


def test_t239_a_period_that_has_begun_is_not_paid_before_its_invoice_is() -> None:
    """Stripe moves the current period on when it makes the invoice."""
    paid_until = datetime.fromtimestamp(1_790_002_000, UTC)
    assert snapshot(ACTIVE, [], [], [bill(2, "open"), bill(1, "paid")]).period_end == paid_until
    items = {"data": [{"current_period_start": 1_790_000_000, "current_period_end": 1_795_000_000}]}
    late = {**ACTIVE, "subscription": {**ACTIVE["subscription"], "status": "past_due", "items": items}}
    assert snapshot(late, [], []).period_end == datetime.fromtimestamp(1_790_000_000, UTC)


@pytest.mark.parametrize(
    ("rhythms", "said"),
    [
        ([("month", 1)], "month"),
        ([("month", 3)], "3 month"),
        ([("year", 1), ("week", 2)], "2 week and year"),
        ([("day", None)], "day"),
        ([(None, None)], None),
    ],
)
def test_t235_how_often_a_subscription_is_charged_is_read(rhythms: list[tuple[Any, Any]], said: str | None) -> None:
    items = [{"price": {"recurring": {"interval": name, "interval_count": count}}} for name, count in rhythms]
    assert read(ACTIVE, **subscription("active", items={"data": items})).interval == said
