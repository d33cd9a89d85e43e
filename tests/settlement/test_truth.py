"""What the provider says becomes so here: once, whatever the order, and never as a success when it is not as asked."""

from __future__ import annotations

import itertools
from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction

from elicit_flows import elicitations
from elicit_flows.jobs.purge import purge
from elicit_flows.kinds.payment.values import DisputeSeen, RefundSeen, State
from elicit_flows.lib import clock
from elicit_flows.models import Checkout, Entitlement, Event, Payment, Refund
from elicit_flows.payments import checkouts, entitlements
from elicit_flows.payments.bookkeeping import Period, entries, totals
from tests.settlement.conftest import Till
from tests.support.moving import MovingClock
from tests.support.sweeps import spread

PAID = ["elicitation.created", "elicitation.started", "elicitation.settling", "elicitation.completed"]


def test_paid_as_asked_completes_the_elicitation_and_says_what_was_paid(till: Till) -> None:
    row = till.ask()
    till.hear(till.open(row), State.PAID, receipt_url="https://pay.example/receipt")
    assert till.stands(row) == ("completed", "paid")
    payment = Payment.objects.get(elicitation=row)
    assert row.result == {
        "payment": payment.pk, "livemode": False, "amount": 500, "currency": "eur", "status": "paid",
        "receipt_url": "https://pay.example/receipt",
    }  # fmt: skip
    assert till.told(row) == PAID


def test_t102_the_same_fact_told_ten_times_is_one_completion(till: Till) -> None:
    row = till.ask()
    checkout = till.open(row)
    for _ in range(10):
        till.hear(checkout, State.PAID)
    assert till.told(row) == PAID


REFUND = RefundSeen("re_1", 500, "done")


@pytest.mark.parametrize("order", spread([(order,) for order in itertools.permutations(range(4))], 6))
def test_t103_in_whatever_order_the_news_comes_it_ends_the_same(till: Till, order: tuple[int, ...]) -> None:
    """Open, processing, paid, refunded: each state as the provider reported it at some time."""
    row = till.ask()
    checkout = till.open(row)
    news = [(State.OPEN, ()), (State.PROCESSING, ()), (State.PAID, ()), (State.PAID, (REFUND,))]
    for number in order:
        state, refunds = news[number]
        till.hear(checkout, state, refunds=refunds)
    payment = Payment.objects.get(elicitation=row)
    assert till.stands(row) == ("completed", "paid")
    assert (payment.refunded, payment.summary()["status"]) == (500, "refunded")
    told = till.told(row)
    assert told.count("elicitation.completed") == 1
    assert told.count("payment.refunded") == 1
    assert told.index("elicitation.completed") < told.index("payment.refunded")
    assert "payment.mismatch" not in told, "what is told again was not paid again"
    assert Refund.objects.get().by == Refund.By.PROVIDER


def test_t107_a_delayed_payment_is_no_success_until_it_is_paid(till: Till) -> None:
    row = till.ask()
    checkout = till.open(row)
    till.hear(checkout, State.PROCESSING)
    assert till.stands(row) == ("settling", "processing")
    till.hear(checkout, State.PAID)
    assert till.stands(row) == ("completed", "paid")
    assert till.told(row) == PAID


def test_t107_a_delayed_payment_that_fails_lets_the_person_try_another_way(till: Till) -> None:
    row = till.ask()
    checkout = till.open(row)
    till.hear(checkout, State.PROCESSING)
    till.hear(checkout, State.FAILED)
    assert till.stands(row) == ("started", "open")
    till.hear(till.open(row), State.PAID)
    assert till.stands(row) == ("completed", "paid")
    assert till.told(row).count("elicitation.completed") == 1


DIFFERENT = {
    "amount": {"amount": 499},
    "currency": {"currency": "usd"},
    "livemode": {"livemode": True},
    "whose": {"our_id": "co_of_another"},
    "nobody's": {"our_id": None},
}


@pytest.mark.parametrize("different", DIFFERENT.values(), ids=DIFFERENT)
def test_t104_money_that_came_otherwise_than_asked_is_never_a_success_and_never_silent(
    till: Till, different: dict[str, object]
) -> None:
    row = till.ask(item="report")
    till.hear(till.open(row), State.PAID, **different)
    assert till.stands(row) == ("failed", "mismatch")
    assert (row.error or {})["code"] == "payment_mismatch"
    told = till.told(row)
    assert "payment.mismatch" in told
    assert "elicitation.completed" not in told
    assert not Entitlement.objects.exists()


def test_t104_what_came_otherwise_after_its_page_was_over_waits_for_a_person_too(till: Till) -> None:
    row = till.ask()
    checkout = till.open(row)
    elicitations.cancel(row)
    till.hear(checkout, State.EXPIRED)
    assert till.stands(row) == ("cancelled", "closed")
    till.hear(checkout, State.PAID, amount=400)
    assert till.stands(row) == ("cancelled", "mismatch")
    assert Payment.objects.get().payment_ref == f"pi_{checkout.ref}", "it can be found and refunded"


def test_t105_a_second_page_is_not_opened_while_the_first_can_be_paid(till: Till) -> None:
    row = till.ask()
    first = till.open(row)
    payment = Payment.objects.get(elicitation=row)
    with pytest.raises(IntegrityError), transaction.atomic():
        checkouts.reserve(payment, row.expires_at)
    till.hear(first, State.EXPIRED)
    assert checkouts.reserve(payment, row.expires_at).pk != first.pk


def test_t105_what_is_paid_twice_goes_back_once(till: Till) -> None:
    row = till.ask()
    first = till.open(row)
    till.hear(first, State.EXPIRED)
    second = till.open(row)
    till.hear(second, State.PAID)
    for _ in range(2):
        till.hear(first, State.PAID)  # the provider had said otherwise
    refund = Refund.objects.get()
    assert (refund.payment_ref, refund.amount, str(refund.by)) == (f"pi_{first.ref}", 500, "policy")
    assert till.stands(row) == ("completed", "paid")
    assert till.told(row).count("elicitation.completed") == 1
    assert till.told(row).count("payment.mismatch") == 1


@pytest.mark.parametrize("came", ["twice", "otherwise"])
def test_what_was_no_charge_and_went_back_is_no_refund_in_the_books(till: Till, came: str) -> None:
    row = till.ask()
    first = till.open(row)
    if came == "twice":
        till.hear(first, State.EXPIRED)
        till.hear(till.open(row), State.PAID)
    till.hear(first, State.PAID, amount=400 if came == "otherwise" else 500, refunds=(RefundSeen("re_1", 400, "done"),))
    assert Refund.objects.filter(status="done").count() == 1
    period = Period(clock.now() - timedelta(hours=1), clock.now() + timedelta(hours=1))
    [total] = totals(period)
    assert (total.refunds, total.net) == (0, 500 if came == "twice" else 0)
    assert sum(one.amount for one in entries(period)) == total.net


def test_what_is_paid_after_the_agent_took_it_back_goes_back(till: Till) -> None:
    row = till.ask(item="report")
    checkout = till.open(row)
    elicitations.cancel(row)
    till.hear(checkout, State.PAID)
    assert till.stands(row) == ("cancelled", "paid")
    assert Refund.objects.get().amount == 500
    assert Entitlement.objects.get().status == "revoked"
    assert till.told(row)[-1] == "payment.mismatch", "money that came has an event that says so"


def test_a_method_that_is_saved_too_late_is_not_said_to_be_refunded(till: Till) -> None:
    row = till.ask(mode="save", amount=0, item="report")
    checkout = till.open(row)
    elicitations.cancel(row)
    till.hear(checkout, State.SAVED, amount=0)
    assert till.stands(row) == ("cancelled", "saved")
    told = Event.objects.get(type="payment.mismatch").data["problem"]
    assert (told["code"], "nothing was paid" in told["message"], "refunded" in told["message"]) == ("late", True, False)
    assert Entitlement.objects.get().status == "revoked"


def test_what_is_paid_after_the_elicitation_was_deleted_goes_back(till: Till, moving_clock: MovingClock) -> None:
    """A bank may take longer than finished elicitations are kept."""
    row = till.ask(item="report")
    checkout = till.open(row)
    till.hear(checkout, State.PROCESSING)
    elicitations.cancel(row)
    moving_clock.forward(days=91)
    assert purge()["elicitations"] == 1
    till.hear(Checkout.objects.get(), State.PAID)
    assert Refund.objects.get().amount == 500
    assert Entitlement.objects.get().status == "revoked"
    assert Event.objects.filter(type="payment.mismatch").exists()


def test_t106_time_does_not_end_what_may_still_be_paid(till: Till, moving_clock: MovingClock) -> None:
    row = till.ask()
    checkout = till.open(row)
    moving_clock.forward(minutes=20)
    assert elicitations.expire(row) is False
    assert elicitations.sweep() == 0
    assert till.stands(row)[0] == "started"
    till.hear(checkout, State.PAID)
    assert till.stands(row) == ("completed", "paid")


def test_t106_time_ends_it_once_the_provider_has_closed_its_page(till: Till, moving_clock: MovingClock) -> None:
    row = till.ask()
    checkout = till.open(row)
    moving_clock.forward(minutes=20)
    till.hear(checkout, State.EXPIRED)
    assert till.stands(row) == ("expired", "closed")
    assert Checkout.objects.get().status == "over"


def test_t108_a_dispute_changes_the_payment_and_leaves_the_elicitation(till: Till) -> None:
    row = till.ask(item="report")
    checkout = till.open(row)
    till.hear(checkout, State.PAID)
    for state, entitlement in (("open", "suspended"), ("won", "active"), ("open", "suspended"), ("lost", "revoked")):
        for _ in range(2):
            till.hear(checkout, State.PAID, disputes=(DisputeSeen("dp_1", 500, state),))
        assert Entitlement.objects.get().status == entitlement
    assert till.stands(row) == ("completed", "paid")
    assert till.told(row).count("payment.disputed") == 4


def test_a_deadline_for_evidence_is_kept_while_the_provider_waits_for_some(till: Till) -> None:
    row = till.ask()
    checkout = till.open(row)
    due = clock.now() + timedelta(days=7)
    open_one, sent, lost = (
        DisputeSeen("dp_1", 500, state, until) for state, until in (("open", due), ("open", None), ("lost", None))
    )
    for said, kept in (((open_one,), due), ((), due), ((sent,), None), ((open_one,), due), ((lost,), None)):
        till.hear(checkout, State.PAID, disputes=said)
        assert Payment.objects.get().evidence_due == kept
    assert till.told(row).count("payment.disputed") == 2, "a new deadline is none of the agent's business"


def test_t108_refunds_of_the_dashboard_add_up_and_each_is_told_once(till: Till) -> None:
    row = till.ask(item="report")
    checkout = till.open(row)
    till.hear(checkout, State.PAID)
    partial = RefundSeen("re_1", 200, "done")
    rest = RefundSeen("re_2", 300, "pending")
    for seen in ((partial,), (partial,), (partial, rest)):
        till.hear(checkout, State.PAID, refunds=seen)
    assert Payment.objects.get().refunded == 200
    assert Entitlement.objects.get().status == "active"
    till.hear(checkout, State.PAID, refunds=(partial, RefundSeen("re_2", 300, "done")))
    assert Payment.objects.get().refunded == 500
    assert Entitlement.objects.get().status == "revoked"
    assert till.told(row).count("payment.refunded") == 2


def test_a_refund_that_fails_later_is_not_counted_and_is_told(till: Till) -> None:
    row = till.ask()
    checkout = till.open(row)
    till.hear(checkout, State.PAID, refunds=(RefundSeen("re_1", 500, "done"),))
    till.hear(checkout, State.PAID, refunds=(RefundSeen("re_1", 500, "failed"),))
    assert Payment.objects.get().refunded == 0
    assert till.told(row)[-2:] == ["payment.refunded", "payment.refund_failed"]


def test_an_item_that_was_paid_for_is_not_asked_for_again(till: Till) -> None:
    first = till.ask(item="report", uses=2)
    till.hear(till.open(first), State.PAID)
    second = till.ask(item="report", uses=2)
    assert (second.status, second.reused) == ("completed", True)
    first.refresh_from_db()
    assert second.result == first.result
    entitlement = Entitlement.objects.get()
    for key in ("a", "a", "b"):
        entitlements.consume(entitlement, key)
    assert Entitlement.objects.get().uses_left == 0
    assert till.ask(item="report").status == "pending"
    assert Event.objects.filter(elicitation=second, type="elicitation.completed").count() == 1


@pytest.mark.parametrize(("already", "left"), [((), 500), ((200,), 300), ((200, 300), 0)])
def test_of_what_comes_too_late_goes_back_what_did_not_go_back_already(
    till: Till, already: tuple[int, ...], left: int
) -> None:
    row = till.ask()
    checkout = till.open(row)
    elicitations.cancel(row)
    gone = [RefundSeen(f"re_{number}", amount, "done") for number, amount in enumerate(already)]
    failed = RefundSeen("re_failed", 400, "failed")
    till.hear(checkout, State.PAID, refunds=(*gone, failed))
    ours = Refund.objects.filter(by=Refund.By.POLICY).values_list("amount", flat=True)
    assert list(ours) == ([left] if left else [])
