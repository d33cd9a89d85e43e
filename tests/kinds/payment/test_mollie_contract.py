"""Mollie, in the sandbox, passes the contract of every payment provider."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.conf import settings

from elicit_flows.kinds.payment import providers
from elicit_flows.kinds.payment.providers.base import Refused, Unclear
from elicit_flows.kinds.payment.values import State
from tests.kinds.payment.answers import ask
from tests.kinds.payment.contract import ProviderContract
from tests.kinds.payment.mollie_house import MollieHouse

pytestmark = pytest.mark.usefixtures("loopback", "no_pauses")
MOLLIE = providers.get("mollie")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MollieHouse]:
    house = MollieHouse(tmp_path_factory.mktemp("mollie") / "log")
    yield house
    house.close()


@pytest.fixture
def house(shared: MollieHouse) -> MollieHouse:
    shared.order("reset")
    return shared


class TestMollie(ProviderContract):
    name = "mollie"
    stranger = "test_canary_of_nobody"
    keeps_our_time = False
    has_receipts = False
    refunded = "pending"
    disputed = "lost"

    @pytest.fixture
    def house(self, house: MollieHouse) -> MollieHouse:
        return house


def start(house: MollieHouse, key: str = "key", **changes: object) -> str:
    return MOLLIE.start(house.account, ask(**changes), key).ref


def test_nothing_that_is_asked_is_unknown_to_the_strict_double(house: MollieHouse) -> None:
    ref = start(house, amount=500, currency="jpy")
    MOLLIE.find(house.account, "co_1")
    MOLLIE.close(house.account, ref, "key")
    assert [one["error"] for one in house.state()["requests"] if one["error"]] == []


@pytest.mark.parametrize("code", [code for code, _ in settings.LANGUAGES])
def test_mollie_takes_each_language_that_it_is_given(house: MollieHouse, code: str) -> None:
    assert start(house, language=code)
    assert [one["error"] for one in house.state()["requests"] if one["error"]] == []


def test_the_key_is_the_same_in_every_try(house: MollieHouse) -> None:
    house.order("fault", name="503", times=2)
    start(house, "ef:co_1:start:1")
    assert [one["key"] for one in house.state()["requests"]] == ["ef:co_1:start:1"] * 3
    assert house.checkouts() == 1


def test_an_answer_that_is_kept_under_its_key_needs_another_key(house: MollieHouse) -> None:
    house.order("fault", name="500")
    with pytest.raises(Unclear) as told:
        start(house)
    assert told.value.stored
    assert start(house, "key 2")


def test_a_key_with_other_parameters_is_refused(house: MollieHouse) -> None:
    start(house)
    with pytest.raises(Refused) as told:
        start(house, amount=2000)
    assert told.value.code == "bad_request"


def test_what_mollie_does_not_let_us_close_stays_open_until_it_runs_out(house: MollieHouse) -> None:
    house.order("cancelable", yes=False)
    ref = start(house)
    assert MOLLIE.close(house.account, ref, "close").state is State.OPEN
    assert [one["method"] for one in house.state()["requests"]] == ["POST", "GET"]
    house.forward(901)
    assert MOLLIE.close(house.account, ref, "close").state is State.EXPIRED


def test_one_who_goes_back_has_cancelled_and_one_who_fails_for_good_has_failed(house: MollieHouse) -> None:
    for button, state in (("back", State.CANCELLED), ("fail", State.FAILED)):
        made = MOLLIE.start(house.account, ask(our_id=f"co_{button}"), button)
        house.act(made.url, button)
        assert MOLLIE.fetch(house.account, made.ref).state is state


def test_a_lost_checkout_is_found_behind_a_page_of_others(house: MollieHouse) -> None:
    first = start(house, our_id="co_first")
    for number in range(250):
        start(house, f"key {number}", our_id=f"co_{number}")
    assert MOLLIE.find(house.account, "co_first") == first
    assert len([one for one in house.state()["requests"] if one["method"] == "GET"]) == 2
