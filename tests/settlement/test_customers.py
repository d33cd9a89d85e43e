"""D8: the provider's customer is known by the claim that was proved, at one account."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from django.db import connections, transaction

from elicit_flows.kinds.payment.values import Snapshot, State
from elicit_flows.models import Customer, Payment, PaymentAccount
from elicit_flows.payments import customers
from tests.settlement.conftest import Till
from tests.support.rows import ISSUER


def of(till: Till, **params: object) -> tuple[Payment, str | None]:
    payment = Payment.objects.get(elicitation=till.ask(**params))
    return payment, customers.of(payment)


def test_who_paid_is_known_the_next_time_and_by_the_latest_name(till: Till) -> None:
    for customer in ("cus_1", "cus_2"):
        till.hear(till.open(till.ask()), State.PAID, customer=customer)
        assert of(till)[1] == customer
    assert Customer.objects.count() == 1


def test_nobody_else_is_taken_for_them(till: Till) -> None:
    till.hear(till.open(till.ask()), State.PAID, customer="cus_1")
    payment, _ = of(till)
    for change in ({"iss": payment.iss + "/"}, {"sub": "Alice"}):
        other = Payment(account=payment.account, **{"iss": payment.iss, "sub": payment.sub, **change})
        assert customers.of(other) is None


def test_a_payment_that_was_not_as_asked_makes_nobody_known(till: Till) -> None:
    till.hear(till.open(till.ask()), State.PAID, amount=1, customer="cus_1")
    assert of(till)[1] is None


def test_one_that_the_provider_forgot_is_forgotten(till: Till) -> None:
    till.hear(till.open(till.ask()), State.PAID, customer="cus_1")
    payment, _ = of(till)
    assert customers.forget(payment)
    assert not customers.forget(payment)
    assert customers.of(payment) is None


@pytest.mark.slow
def test_payments_are_settled_while_the_customer_is_written_and_forgotten_elsewhere(on_postgres: str) -> None:
    """Between looking for the row and writing it, another process may write it, and a third may delete it."""
    account = PaymentAccount.objects.create(slug="main", provider="stripe")
    payment = Payment(account=account, iss=ISSUER, sub="alice")
    paid = Snapshot("cs_1", State.PAID, 500, "eur", livemode=False, our_id=None)

    def settle(number: int) -> None:
        try:
            for turn in range(200):
                if number % 3 == 0:
                    customers.forget(payment)
                else:
                    with transaction.atomic():
                        customers.remember(payment, replace(paid, customer=f"cus_{turn}"))
        finally:
            connections.close_all()

    with ThreadPoolExecutor(9) as pool:
        list(pool.map(settle, range(9)))
