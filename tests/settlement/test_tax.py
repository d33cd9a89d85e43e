"""Tax that the provider computes: it is charged with it if the total is no more than the person agreed to."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from elicit_flows import elicitations
from elicit_flows.domain.errors import Invalid, OverLimit
from elicit_flows.elicitations import agent_access, payment
from elicit_flows.kinds.payment.providers.base import Unclear
from elicit_flows.kinds.payment.values import State
from elicit_flows.lib import clock
from elicit_flows.models import Checkout, Elicitation, Entitlement, Payment, PaymentAccount, Refund, SpendLimit
from elicit_flows.payments import refunds
from elicit_flows.payments.bookkeeping import Period, entries
from elicit_flows.payments.spend_limits import DAY
from tests.settlement.conftest import Charges, Till
from tests.support import jobs

LINES = [{"name": "A notebook", "quantity": 2, "unit_amount": 450}, {"name": "A pen", "unit_amount": 99}]
ORDER: dict[str, Any] = {"lines": LINES, "tax": "provider", "number": "PO-17"}


def ask(till: Till, most: int = 1300, **more: Any) -> Elicitation:
    return till.ask(amount=most, order=ORDER, **more)


def agreed(till: Till, charges: Charges, total: int = 1189, tax: int | None = 190, **more: Any) -> Checkout:
    """What the person has agreed to at the provider, which holds it."""
    checkout = till.open(ask(till, **more))
    charges.said[checkout.ref or ""] = till.says(checkout, State.APPROVED, amount=total, tax=tax, agreed="pi_1")
    return checkout


def row_of(checkout: Checkout) -> Elicitation:
    assert checkout.payment.elicitation
    return checkout.payment.elicitation


@pytest.mark.parametrize(("total", "tax"), [(1189, 190), (1300, 301), (999, 0)])
def test_t243_a_total_up_to_the_maximum_is_charged_as_it_is(till: Till, charges: Charges, total: int, tax: int) -> None:
    checkout = agreed(till, charges, total, tax)
    for _ in range(2):
        payment.settle(checkout)
    assert charges.charged == [checkout.ref]
    row = row_of(checkout)
    assert till.stands(row) == ("completed", "paid")
    assert row.result is not None
    assert (row.result["amount"], row.result["tax"], row.result["order_number"]) == (total, tax, "PO-17")
    paid = Payment.objects.get().summary()
    assert (paid["amount"], paid["tax"], paid["max_amount"], paid["order"]["tax"]) == (total, tax, 1300, "provider")


@pytest.mark.parametrize("total", [1301, 99_999_999])
def test_t243_a_total_above_the_maximum_is_let_go_and_the_agent_is_told_why(
    till: Till, charges: Charges, total: int
) -> None:
    checkout = agreed(till, charges, total, total - 999)
    assert payment.settle(checkout)
    row = row_of(checkout)
    assert (charges.charged, charges.said[checkout.ref or ""].state) == ([], State.CANCELLED)
    assert till.stands(row) == ("failed", "closed")
    assert row.error is not None
    assert row.error["code"] == "total_above_maximum"
    assert "€13.00" in row.error["message"]
    assert till.told(row)[-1] == "elicitation.failed"
    payment.settle(Checkout.objects.select_related("payment__elicitation", "account").get(pk=checkout.pk))
    jobs.sweep_payments()
    assert (charges.charged, till.told(row).count("elicitation.failed")) == ([], 1)


@pytest.mark.parametrize(
    "differs",
    [
        {"tax": None}, {"tax": -1, "amount": 998}, {"tax": 190, "amount": 1190}, {"tax": 191, "amount": 1189},
        {"currency": "usd"}, {"our_id": "co_of_another"}, {"livemode": True},
    ],
    ids=str,
)  # fmt: skip
def test_t243_what_is_not_the_lines_and_a_tax_is_not_charged(
    till: Till, charges: Charges, differs: dict[str, Any]
) -> None:
    checkout = agreed(till, charges)
    asked = {"amount": 1189, "tax": 190, "agreed": "pi_1"}
    charges.said[checkout.ref or ""] = till.says(checkout, State.APPROVED, **asked | differs)
    assert payment.settle(checkout)
    assert charges.charged == []
    assert till.stands(row_of(checkout)) == ("started", "open")


@pytest.mark.parametrize("differs", [{"amount": 1301, "tax": 302}, {"amount": 100}, {"tax": None}], ids=str)
def test_t243_what_was_captured_by_somebody_else_counts_only_as_agreed(till: Till, differs: dict[str, Any]) -> None:
    """In the provider's dashboard, where nobody asks us first."""
    row = ask(till, item="desk")
    till.hear(till.open(row), State.PAID, **{"amount": 1189, "tax": 190, "agreed": "pi_1"} | differs)
    assert till.stands(row) == ("failed", "mismatch")
    assert (row.error or {})["code"] == "payment_mismatch"
    assert not Entitlement.objects.exists()


def test_t243_a_process_that_dies_between_the_two_steps_charges_once(till: Till, charges: Charges) -> None:
    checkout = agreed(till, charges)
    charges.loses = True
    with pytest.raises(Unclear):
        payment.settle(checkout)
    jobs.sweep_payments()
    Checkout.objects.update(look_at=clock.now())
    jobs.sweep_payments()
    assert charges.charged == [checkout.ref]
    assert till.stands(row_of(checkout)) == ("completed", "paid")


def test_t243_a_process_that_dies_after_letting_go_still_says_why(till: Till, charges: Charges) -> None:
    checkout = agreed(till, charges, 1400, 401)
    charges.release(None, checkout.ref or "", "key")
    payment.settle(checkout)
    row = row_of(checkout)
    assert till.stands(row) == ("failed", "closed")
    assert (row.error or {})["code"] == "total_above_maximum"


def test_a_page_that_ran_out_with_a_tax_on_it_is_no_refusal(till: Till) -> None:
    """Nobody agreed: the address of an unfinished page may be any."""
    row = ask(till)
    till.hear(till.open(row), State.EXPIRED, amount=1400, tax=401, unpaid=True)
    assert till.stands(row) == ("started", "open")


def test_t106_what_the_agent_took_back_is_let_go(till: Till, charges: Charges) -> None:
    checkout = agreed(till, charges)
    elicitations.cancel(row_of(checkout))
    assert payment.settle(checkout)
    assert (charges.charged, charges.said[checkout.ref or ""].state) == ([], State.CANCELLED)
    assert till.stands(row_of(checkout)) == ("cancelled", "closed")


def test_what_was_charged_is_what_limits_refunds_books_and_receipt_say(till: Till, charges: Charges) -> None:
    SpendLimit.objects.create(agent=till.known.row, currency="eur", per_day=2500)
    payment.settle(agreed(till, charges))
    with pytest.raises(OverLimit):
        ask(till, most=1312)
    ask(till, most=1311)  # 11.89 of 25.00 are spent: of an open question the maximum counts
    paid = Payment.objects.get(status="paid")
    now = clock.now()
    [entry] = entries(Period(now - DAY, now + DAY))
    assert (entry.amount, entry.tax) == (1189, 190)
    with pytest.raises(Invalid, match="1 to 1189"):
        refunds.ask(paid, 1190, Refund.By.AGENT)
    assert refunds.ask(paid, None, Refund.By.AGENT)[0].amount == 1189
    claims = elicitations.receipt(paid).split(".")[1]
    said = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
    assert (said["amount"], said["tax"], said["order"]["tax"]) == (1189, 190, "provider")


def test_t243_what_was_paid_up_to_one_maximum_answers_no_other(till: Till, charges: Charges) -> None:
    payment.settle(agreed(till, charges, item="desk"))
    assert ask(till, item="desk").reused
    for most in (1189, 1400):
        assert not ask(till, most=most, item="desk").reused


def test_the_tax_that_was_given_is_that_of_the_payment(till: Till) -> None:
    row = till.ask(amount=1189, order={**ORDER, "tax": 190})
    summary = Payment.objects.get(elicitation=row).summary()
    assert (summary["tax"], summary["max_amount"]) == (190, None)


def test_t243_an_account_that_computes_no_tax_is_not_asked_for_it(till: Till) -> None:
    PaymentAccount.objects.update(computes_tax=False)
    agent_access.forget()
    with pytest.raises(Invalid, match="computes_tax") as refused:
        ask(till)
    assert refused.value.errors[0]["loc"] == ["params", "order", "tax"]
    assert not Payment.objects.exists()
