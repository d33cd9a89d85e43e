"""What becomes of money that came otherwise than it was asked for is the account's policy (cases 12 and 25)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests.payments.till import Till
from tests.support.http_user import HttpUser
from tests.support.process import until


@contextmanager
def policy(till: Till, name: str) -> Iterator[None]:
    """The account of these tests is everybody's: it is as it was when the test is over."""
    change = f"UPDATE elicit_flows_paymentaccount SET {name} = %s WHERE slug = 'sandbox'"
    till.sql(change, True)
    try:
        yield
    finally:
        till.sql(change, False)


def sent_back(till: Till, page: str) -> list[tuple[int, str]]:
    intent = till.session_of(page)["payment_intent"]
    made = [one for one in till.stripe.state()["refunds"] if one["payment_intent"] == intent]
    return [(one["amount"], one["status"]) for one in made]


def test_case_12_what_came_in_another_amount_goes_back_by_itself_where_the_account_says_so(
    till: Till, http_user: HttpUser
) -> None:
    asked = till.ask()
    page = till.at_stripe(http_user, asked)
    till.stripe.order("bend", amount=499)
    with policy(till, "refund_mismatch"):
        http_user.press("pay")
        till.becomes(asked, "failed")
        until(lambda: "payment.refunded" in till.events(asked), "the agent was told", timeout=20)
    assert sent_back(till, page) == [(499, "succeeded")]
    status, payment, events = till.stands(asked)
    assert (status, payment) == ("failed", "mismatch")
    assert sorted(events) == ["created", "failed", "payment.mismatch", "payment.refunded", "started"]


def test_case_12_money_of_another_currency_waits_for_a_person_all_the_same(till: Till, http_user: HttpUser) -> None:
    asked = till.ask()
    page = till.at_stripe(http_user, asked)
    till.stripe.order("bend", currency="usd")
    with policy(till, "refund_mismatch"):
        http_user.press("pay")
        till.becomes(asked, "failed")
    assert till.sql("SELECT COUNT(*) FROM elicit_flows_refund WHERE payment_id = %s", till.payment_id(asked)) == [(0,)]
    assert sent_back(till, page) == []


def test_case_25_what_is_paid_after_the_end_is_kept_where_the_account_says_so(till: Till, http_user: HttpUser) -> None:
    till.stripe.order("fault", name="503", on="POST /v1/checkout/sessions/*/expire", times=20)
    asked = till.ask()
    page = till.at_stripe(http_user, asked)
    assert till.agent.post(f"/v1/elicitations/{asked['id']}/cancel").json()["status"] == "cancelled"
    with policy(till, "keep_late"):
        http_user.press("pay")
        until(lambda: "payment.mismatch" in till.events(asked), "the agent was told", timeout=20)
    assert till.stands(asked) == ("cancelled", "paid", ["created", "started", "cancelled", "payment.mismatch"])
    assert sent_back(till, page) == []
