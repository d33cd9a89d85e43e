"""Two workers ask the provider and apply its answers the other way round: what is known is not taken back."""

from __future__ import annotations

from datetime import timedelta

import pytest

from elicit_flows import elicitations
from elicit_flows.kinds.payment.values import DisputeSeen, RefundSeen, State
from elicit_flows.lib import clock
from elicit_flows.models import Entitlement, Payment
from tests.settlement.conftest import Till

AMOUNTS = {"pending": 0, "done": 500, "failed": 0}


@pytest.mark.parametrize(("known", "older"), [("done", "pending"), ("failed", "pending"), ("failed", "done")])
def test_t103_an_older_word_about_a_refund_changes_nothing(till: Till, known: str, older: str) -> None:
    row = till.ask()
    checkout = till.open(row)
    till.hear(checkout, State.PAID)
    till.hear(checkout, State.PAID, refunds=(RefundSeen("re_1", 500, known),))
    told = till.told(row)
    till.hear(checkout, State.PAID, refunds=(RefundSeen("re_1", 500, older),))
    till.hear(checkout, State.PAID)
    assert Payment.objects.get().refunded == AMOUNTS[known]
    assert till.told(row) == told
    assert till.stands(row) == ("completed", "paid")


@pytest.mark.parametrize(("state", "entitlement"), [("open", "suspended"), ("won", "active"), ("lost", "revoked")])
def test_t103_a_word_from_before_the_dispute_does_not_end_it(till: Till, state: str, entitlement: str) -> None:
    row = till.ask(item="report")
    checkout = till.open(row)
    till.hear(checkout, State.PAID)
    for one in {"open": None, state: None}:
        till.hear(checkout, State.PAID, disputes=(DisputeSeen("dp_1", 500, one),))
    told = till.told(row)
    till.hear(checkout, State.PAID)
    assert Payment.objects.get().disputed == state
    assert Entitlement.objects.get().status == entitlement
    assert till.told(row) == told
    assert till.stands(row) == ("completed", "paid")


def test_case_29_money_that_did_not_arrive_after_all_gives_back_what_was_paid_for(till: Till) -> None:
    row = till.ask(item="report")
    checkout = till.open(row)
    till.hear(checkout, State.PAID)
    for state, amount, entitlement in (("done", 500, "revoked"), ("failed", 0, "active")):
        till.hear(checkout, State.PAID, refunds=(RefundSeen("re_1", 500, state),))
        assert Payment.objects.get().refunded == amount
        assert Entitlement.objects.get().status == entitlement
    assert till.stands(row) == ("completed", "paid")
    assert till.told(row)[-2:] == ["payment.refunded", "payment.refund_failed"]


@pytest.mark.parametrize("why", ["late", "lost"])
def test_case_29_a_refund_that_fails_gives_nothing_that_was_taken_for_another_reason(till: Till, why: str) -> None:
    row = till.ask(item="report")
    checkout = till.open(row)
    if why == "late":
        elicitations.cancel(row)
    disputes = (DisputeSeen("dp_1", 500, "lost"),) if why == "lost" else ()
    for state in ("done", "failed"):
        till.hear(checkout, State.PAID, refunds=(RefundSeen("re_1", 500, state),), disputes=disputes)
    assert Entitlement.objects.get().status == "revoked"


def test_case_29_a_refund_that_fails_while_the_payment_is_disputed_leaves_it_suspended(till: Till) -> None:
    row = till.ask(item="report")
    checkout = till.open(row)
    dispute = (DisputeSeen("dp_1", 500, "open"),)
    for refunds in ((), (RefundSeen("re_1", 500, "done"),), (RefundSeen("re_1", 500, "failed"),)):
        till.hear(checkout, State.PAID, refunds=refunds, disputes=dispute)
    assert Entitlement.objects.get().status == "suspended"


@pytest.mark.parametrize(("refunded", "suspended", "won"), [(0, "suspended", "active"), (500, "revoked", "revoked")])
def test_case_29_a_dispute_that_is_won_on_appeal_gives_back_what_it_took(
    till: Till, refunded: int, suspended: str, won: str
) -> None:
    """PayPal takes a dispute up again when the merchant appeals its decision."""
    checkout = till.open(till.ask(item="report"))
    refunds = (RefundSeen("re_1", 500, "done"),) if refunded else ()
    for state, then in (("lost", "revoked"), ("open", suspended), ("won", won)):
        till.hear(checkout, State.PAID, refunds=refunds, disputes=(DisputeSeen("PP-D-1", 500, state),))
        assert Entitlement.objects.get().status == then


def test_case_29_another_dispute_that_is_won_gives_nothing_back_of_one_that_was_lost(till: Till) -> None:
    """A payer may ask PayPal first, and then the bank of their card."""
    checkout, due = till.open(till.ask(item="report")), clock.now() + timedelta(days=7)
    till.hear(checkout, State.PAID)
    lost = DisputeSeen("PP-D-1", 500, "lost")
    for state, evidence_due in (("open", due), ("won", None)):
        till.hear(checkout, State.PAID, disputes=(lost, DisputeSeen("PP-D-2", 500, state, evidence_due)))
        assert (Payment.objects.get().disputed, Payment.objects.get().evidence_due) == ("lost", evidence_due)
        assert Entitlement.objects.get().status == "revoked"


@pytest.mark.parametrize(("refunded", "entitlement"), [(0, "active"), (500, "revoked")])
def test_case_29_a_chargeback_that_is_reversed_gives_back_what_it_took(
    till: Till, refunded: int, entitlement: str
) -> None:
    """At Mollie a refund takes effect at once, and may be reversed."""
    row = till.ask(item="report")
    checkout = till.open(row)
    refunds = (RefundSeen("re_1", 500, "done"),) if refunded else ()
    for state, then in (("lost", "revoked"), ("won", entitlement)):
        till.hear(checkout, State.PAID, refunds=refunds, disputes=(DisputeSeen("chb_1", 500, state),))
        assert Entitlement.objects.get().status == then
    assert till.stands(row) == ("completed", "paid")
    assert till.told(row).count("payment.disputed") == 2
