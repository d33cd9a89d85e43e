"""D8: the provider's customer is known by the claim that was proved, at one account."""

from __future__ import annotations

from elicit_flows.kinds.payment.values import State
from elicit_flows.models import Customer, Payment
from elicit_flows.payments import customers
from tests.settlement.conftest import Till


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
