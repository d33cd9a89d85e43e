"""PayPal, in the sandbox, passes the contract of every payment provider."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.conf import settings

from elicit_flows.kinds.payment import providers
from elicit_flows.kinds.payment.providers.base import Refused
from elicit_flows.kinds.payment.values import State
from tests.kinds.payment.answers import ask
from tests.kinds.payment.contract import ProviderContract
from tests.kinds.payment.paypal_house import PayPalHouse

pytestmark = pytest.mark.usefixtures("loopback", "no_pauses")
PAYPAL = providers.get("paypal")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PayPalHouse]:
    house = PayPalHouse(tmp_path_factory.mktemp("paypal") / "log")
    yield house
    house.close()


@pytest.fixture
def house(shared: PayPalHouse) -> PayPalHouse:
    shared.order("reset")
    return shared


class TestPayPal(ProviderContract):
    name = "paypal"
    stranger = "canary_of_nobody"
    keeps_our_time = False
    lapses_silently = True
    can_search = False
    closes_pages = False
    has_receipts = False

    @pytest.fixture
    def house(self, house: PayPalHouse) -> PayPalHouse:
        return house


def start(house: PayPalHouse, key: str = "key", **changes: object) -> str:
    return PAYPAL.start(house.account, ask(**changes), key).ref


def errors(house: PayPalHouse) -> list[str]:
    return [one["error"] for one in house.state()["requests"] if one["error"]]


def test_nothing_that_is_asked_is_unknown_to_the_strict_double(house: PayPalHouse) -> None:
    made = PAYPAL.start(house.account, ask(amount=500, currency="jpy"), "key")
    house.act(made.url, "pay")
    said = PAYPAL.complete(house.account, made.ref, "key 2")
    PAYPAL.refund(house.account, said.payment_ref or "", 100, "row_1", "key 3")
    PAYPAL.fetch(house.account, made.ref)
    assert errors(house) == []


@pytest.mark.parametrize("code", [code for code, _ in settings.LANGUAGES])
def test_paypal_takes_each_language_that_it_is_given(house: PayPalHouse, code: str) -> None:
    assert start(house, language=code)
    assert errors(house) == []


def test_one_token_serves_many_calls_and_is_replaced_when_paypal_ends_it(house: PayPalHouse) -> None:
    refs = [start(house, f"key {number}") for number in range(3)]
    asked = [one for one in house.state()["requests"] if one["path"] == "/v1/oauth2/token"]
    assert len(asked) <= 1  # it may be there from an earlier test
    house.order("tokens")
    assert PAYPAL.fetch(house.account, refs[0]).state is State.OPEN
    assert len([one for one in house.state()["requests"] if one["path"] == "/v1/oauth2/token"]) == len(asked) + 1


@pytest.mark.parametrize(
    ("amount", "currency", "value"), [(1900, "huf", "19"), (2500, "twd", "25"), (500, "jpy", "500")]
)
def test_currencies_without_decimals_at_paypal_are_written_and_read_whole(
    house: PayPalHouse, amount: int, currency: str, value: str
) -> None:
    made = PAYPAL.start(house.account, ask(amount=amount, currency=currency), "key")
    house.act(made.url, "pay")
    said = PAYPAL.complete(house.account, made.ref, "key 2")
    assert (said.state, said.amount, said.currency) == (State.PAID, amount, currency)
    [order] = house.state()["orders"]
    assert order["purchase_units"][0]["amount"] == {"currency_code": currency.upper(), "value": value}


@pytest.mark.parametrize(
    ("amount", "currency", "code"),
    [(1950, "huf", "decimals_not_supported"), (1999, "ron", "currency_not_supported")],
)
def test_what_paypal_cannot_charge_to_the_cent_is_refused_before_it_is_asked(
    house: PayPalHouse, amount: int, currency: str, code: str
) -> None:
    with pytest.raises(Refused) as told:
        start(house, amount=amount, currency=currency)
    assert told.value.code == code
    assert house.checkouts() == 0


def test_an_app_that_may_not_read_disputes_sees_what_was_paid(house: PayPalHouse) -> None:
    made = PAYPAL.start(house.account, ask(), "key")
    house.act(made.url, "pay")
    PAYPAL.complete(house.account, made.ref, "key 2")
    house.dispute(made.ref, "open")
    house.order("disputes", yes=False)
    said = PAYPAL.fetch(house.account, made.ref)
    assert (said.state, said.disputes) == (State.PAID, ())


def test_an_amount_that_was_captured_otherwise_is_what_counts(house: PayPalHouse) -> None:
    made = PAYPAL.start(house.account, ask(), "key")
    house.act(made.url, "pay")
    house.order("bend", amount=1)
    assert PAYPAL.complete(house.account, made.ref, "key 2").amount == 1
    assert PAYPAL.fetch(house.account, made.ref).amount == 1
