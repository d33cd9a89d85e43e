"""What the buyer does, and what the bank and the dashboard make of it."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from typing import Any

import pytest
import stripe

from sandbox.stripe.subscriptions import period_end
from tests.sandbox.stripe.conftest import Create, asked
from tests.support.stripe_control import Refused, StripeControl


def types(control: StripeControl) -> list[str]:
    return [one["type"] for one in control.state()["events"]]


def test_the_buyer_comes_back_with_the_session_in_the_address(create: Create, control: StripeControl) -> None:
    session = create()
    assert control.press(session.id) == f"http://127.0.0.1:9/done?sid={session.id}"


def test_back_changes_nothing(create: Create, control: StripeControl) -> None:
    session = create()
    assert control.press(session.id, "back") == "http://127.0.0.1:9/back"
    assert control.session(session.id)["status"] == "open"
    assert 'data-action="back"' not in control.look(create(cancel_url=None).id)


def test_in_two_tabs_one_pays_and_the_other_sees_it(create: Create, control: StripeControl) -> None:
    session = create()
    places: list[str] = []
    tabs = [threading.Thread(target=lambda: places.append(control.press(session.id))) for _ in range(6)]
    for tab in tabs:
        tab.start()
    for tab in tabs:
        tab.join(20)
    assert sorted(map(bool, places)) == [False] * 5 + [True]
    assert len(control.state()["charges"]) == 1
    assert "This is paid" in control.look(session.id)


def test_a_declined_card_leaves_the_session_open_for_another(
    create: Create, client: stripe.StripeClient, control: StripeControl
) -> None:
    session = create()
    assert control.press(session.id, "pay_declined") == ""
    found = client.v1.checkout.sessions.retrieve(session.id, {"expand": ["payment_intent"]})
    assert (found.status, found.payment_intent.status) == ("open", "requires_payment_method")
    assert found.payment_intent.last_payment_error.code == "card_declined"
    assert control.press(session.id)
    assert [one["paid"] for one in control.state()["charges"]] == [False, True]


def test_3d_secure_is_a_step_between(create: Create, client: stripe.StripeClient, control: StripeControl) -> None:
    session = create()
    assert control.press(session.id, "pay_3ds") == ""
    found = client.v1.checkout.sessions.retrieve(session.id, {"expand": ["payment_intent"]})
    assert (found.status, found.payment_intent.status) == ("open", "requires_action")
    assert control.press(session.id, "fail_3ds") == ""
    assert control.session(session.id)["payment_status"] == "unpaid"
    control.press(session.id, "pay_3ds")
    assert control.press(session.id, "complete_3ds")
    assert control.session(session.id)["payment_status"] == "paid"


@pytest.mark.parametrize(
    ("outcome", "payment_status", "event"),
    [
        ("ok", "paid", "checkout.session.async_payment_succeeded"),
        ("fail", "unpaid", "checkout.session.async_payment_failed"),
    ],
)
def test_a_bank_takes_its_time(
    create: Create, control: StripeControl, outcome: Any, payment_status: str, event: str
) -> None:
    session = create()
    assert control.press(session.id, "pay_bank")
    waiting = control.session(session.id)
    assert (waiting["status"], waiting["payment_status"]) == ("complete", "unpaid")
    assert types(control)[-1] == "checkout.session.completed"
    control.settle(session.id, outcome)
    assert control.session(session.id)["payment_status"] == payment_status
    assert types(control)[-1] == event
    with pytest.raises(Refused, match="no delayed payment"):
        control.settle(session.id)


def test_a_payment_can_be_bent(create: Create, control: StripeControl) -> None:
    control.bend(amount=1, currency="usd", livemode=True)
    session = create()
    control.press(session.id)
    found = control.session(session.id)
    assert (found["amount_total"], found["currency"], found["livemode"]) == (1, "usd", True)
    assert control.state()["charges"][0]["amount"] == 1
    assert control.state()["events"][-1]["livemode"] is True
    control.bend()
    other = create()
    control.press(other.id)
    assert control.session(other.id)["amount_total"] == 1999


def test_amounts_without_minor_units_are_shown_so(create: Create, control: StripeControl) -> None:
    page = control.look(create(**asked(amount=500, currency="jpy")).id)
    assert "Pay 500 JPY" in page


def test_nothing_to_pay_is_no_payment(create: Create, control: StripeControl) -> None:
    session = create(**asked(amount=0))
    control.press(session.id)
    assert control.session(session.id)["payment_status"] == "no_payment_required"
    assert control.state()["charges"] == []


def test_a_refund_goes_back_in_parts_and_never_beyond(
    create: Create, client: stripe.StripeClient, control: StripeControl
) -> None:
    session = create()
    control.press(session.id)
    intent = control.session(session.id)["payment_intent"]
    first = client.v1.refunds.create({"payment_intent": intent, "amount": 500, "metadata": {"our_id": "r1"}})
    assert (first.status, first.amount, first.metadata.our_id) == ("succeeded", 500, "r1")
    with pytest.raises(stripe.InvalidRequestError, match="greater than unrefunded"):
        client.v1.refunds.create({"payment_intent": intent, "amount": 1500})
    assert client.v1.refunds.create({"payment_intent": intent}).amount == 1499
    with pytest.raises(stripe.InvalidRequestError) as refusal:
        client.v1.refunds.create({"payment_intent": intent})
    assert refusal.value.code == "charge_already_refunded"
    assert control.state()["charges"][0]["refunded"] is True
    assert [one.amount for one in client.v1.refunds.list({"payment_intent": intent}).data] == [1499, 500]
    assert types(control)[-2:] == ["refund.created", "charge.refunded"]


def test_of_two_refunds_of_everything_one_comes(
    create: Create, client: stripe.StripeClient, control: StripeControl
) -> None:
    session = create()
    control.press(session.id)
    intent = control.session(session.id)["payment_intent"]
    codes: list[str | None] = []

    def give_back() -> None:
        try:
            client.v1.refunds.create({"payment_intent": intent})
            codes.append(None)
        except stripe.InvalidRequestError as error:
            codes.append(error.code)

    threads = [threading.Thread(target=give_back) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(20)
    assert sorted(codes, key=str) == [None] + ["charge_already_refunded"] * 3


def test_an_unpaid_session_cannot_be_refunded(create: Create, control: StripeControl) -> None:
    session = create()
    with pytest.raises(Refused, match="nothing was paid"):
        control.refund(session.id)
    control.press(session.id, "pay_bank")
    with pytest.raises(Refused, match="has not succeeded"):
        control.refund(session.id)


def test_a_refund_from_the_dashboard_may_fail_late(create: Create, control: StripeControl) -> None:
    session = create()
    control.press(session.id)
    refund = control.refund(session.id, 700, pending=True)
    assert refund["status"] == "pending"
    assert control.refund_outcome(refund["id"], "done")["status"] == "succeeded"
    assert control.refund_outcome(refund["id"], "failed")["status"] == "failed"
    assert control.state()["charges"][0]["amount_refunded"] == 0
    assert types(control)[-2:] == ["refund.updated", "refund.failed"]


@pytest.mark.parametrize("outcome", ["won", "lost"])
def test_a_dispute_is_opened_and_decided(
    create: Create, client: stripe.StripeClient, control: StripeControl, outcome: Any
) -> None:
    session = create()
    control.press(session.id)
    opened = control.dispute(session.id)
    assert opened["status"] == "needs_response"
    with pytest.raises(stripe.InvalidRequestError) as refusal:
        client.v1.refunds.create({"payment_intent": opened["payment_intent"]})
    assert refusal.value.code == "charge_disputed"
    control.dispute(session.id, outcome)
    (found,) = client.v1.disputes.list({"payment_intent": opened["payment_intent"]}).data
    assert found.status == outcome
    assert types(control)[-1] == "charge.dispute.closed"
    assert ("charge.dispute.funds_reinstated" in types(control)) == (outcome == "won")


def test_a_subscription_is_paid_renewed_and_ended(
    create: Create, client: stripe.StripeClient, control: StripeControl
) -> None:
    named = {"metadata": {"our_id": "s1"}, "description": "Reports"}
    monthly = asked(recurring={"interval": "month"})["line_items"]
    session = create(mode="subscription", line_items=monthly, payment_intent_data=None, subscription_data=named)
    assert "every month" in control.look(session.id)
    control.press(session.id)
    found = client.v1.checkout.sessions.retrieve(session.id, {"expand": ["subscription.latest_invoice"]})
    assert (found.status, found.payment_status, found.payment_intent) == ("complete", "paid", None)
    subscription: Any = found.subscription
    assert (subscription.status, subscription.metadata.our_id) == ("active", "s1")
    first_end = subscription["items"].data[0].current_period_end
    assert 28 * 86_400 <= first_end - subscription.start_date <= 31 * 86_400
    (paid,) = client.v1.invoice_payments.list({"invoice": subscription.latest_invoice.id, "status": "paid"}).data
    assert client.v1.payment_intents.retrieve(paid.payment.payment_intent).amount_received == 1999

    control.renew(subscription.id)
    renewed: Any = client.v1.subscriptions.retrieve(subscription.id)
    assert renewed["items"].data[0].current_period_end > first_end
    assert renewed.latest_invoice != subscription.latest_invoice.id
    ended = client.v1.subscriptions.cancel(subscription.id)
    assert (ended.status, ended.ended_at is not None) == ("canceled", True)
    assert types(control)[-1] == "customer.subscription.deleted"


def test_a_subscription_that_began_on_the_last_day_of_a_month_ends_on_a_day_that_there_is() -> None:
    """In a shorter month the last day counts."""
    assert period("2027-01-31", "month") == "2027-02-28"
    assert period("2027-11-30", "month", 3) == "2028-02-29"
    assert period("2028-02-29", "year") == "2029-02-28"
    assert period("2027-12-31", "week") == "2028-01-07"


def period(day: str, interval: str, count: int = 1) -> str:
    start = int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp())
    end = period_end(start, {"interval": interval, "interval_count": count})
    return datetime.fromtimestamp(end, UTC).date().isoformat()
