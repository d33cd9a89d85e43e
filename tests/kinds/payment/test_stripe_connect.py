"""Payments on the account of another business (Stripe Connect, direct charges), with the platform's share."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from elicit_flows.kinds.payment import providers
from elicit_flows.kinds.payment.providers.base import Refused
from elicit_flows.kinds.payment.providers.stripe import session
from elicit_flows.kinds.payment.values import Account, Charge, Snapshot, State
from elicit_flows.lib import clock
from tests.kinds.payment.answers import ask
from tests.kinds.payment.signing import signed
from tests.kinds.payment.stripe_house import SECRET, StripeHouse

pytestmark = pytest.mark.usefixtures("loopback", "no_pauses")
STRIPE = providers.get("stripe")
SHOP = "acct_sandbox_connected"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StripeHouse]:
    house = StripeHouse(tmp_path_factory.mktemp("stripe") / "log")
    yield house
    house.close()


@pytest.fixture
def shop(house: StripeHouse) -> Account:
    return replace(house.account, slug="shop", connected_account=SHOP, application_fee_basis_points=250)


def paid(house: StripeHouse, shop: Account, **changes: Any) -> Snapshot:
    started = STRIPE.start(shop, ask(**changes), f"key-{clock.now().timestamp()}")
    house.act(started.url, "pay")
    return STRIPE.fetch(shop, started.ref)


def charges(house: StripeHouse, said: Snapshot) -> list[dict[str, Any]]:
    return [one for one in house.state()["charges"] if one["payment_intent"] == said.payment_ref]


@pytest.mark.parametrize(("amount", "fee"), [(1999, 49), (10_000, 250), (40, 1), (39, 0), (99_999_999, 2_499_999)])
def test_the_platforms_share_is_rounded_down(shop: Account, amount: int, fee: int) -> None:
    assert shop.application_fee(amount) == fee
    asked = session.params(ask(amount=amount), shop)["payment_intent_data"]
    assert asked.get("application_fee_amount", 0) == fee


def test_t244_a_fee_is_never_above_the_amount(shop: Account) -> None:
    assert replace(shop, application_fee_basis_points=10_000).application_fee(1999) == 1999


def test_it_is_paid_refunded_and_found_on_the_connected_account_alone(house: StripeHouse, shop: Account) -> None:
    said = paid(house, shop)
    assert (said.state, said.amount) == (State.PAID, 1999)
    with pytest.raises(Refused):
        STRIPE.fetch(house.account, said.ref)
    assert STRIPE.find(house.account, "co_1") != said.ref == STRIPE.find(shop, "co_1")
    [charge] = charges(house, said)
    assert (charge["application_fee_amount"], charge["application_fee"][:4]) == (49, "fee_")
    assert said.payment_ref
    refund = STRIPE.refund(shop, said.payment_ref, 1999, "re_ours", "key-refund")
    assert refund.state == "done"
    [asked] = [one for one in house.state()["requests"] if one["path"] == "/v1/refunds" and one["method"] == "POST"][
        -1:
    ]
    assert asked["params"]["refund_application_fee"] == "true", "the platform keeps no share of what was given back"


def test_what_was_paid_without_a_share_is_refunded_without_one(house: StripeHouse, shop: Account) -> None:
    said = paid(house, replace(shop, application_fee_basis_points=0))
    assert said.payment_ref
    assert STRIPE.refund(shop, said.payment_ref, 1999, "re_two", "key-refund-2").state == "done"


def test_a_subscription_and_a_charge_of_a_saved_method_bring_the_share_as_well(
    house: StripeHouse, shop: Account
) -> None:
    going = paid(house, shop, mode="subscribe", interval="month")
    assert (going.state, going.payment_ref is not None) == (State.ACTIVE, True)
    house.next_period(str(going.payment_ref))
    shares = [one["application_fee_amount"] for one in house.state()["charges"] if one["amount"] == 1999]
    assert shares[-2:] == [49, 49]
    saved = paid(house, shop, mode="save", amount=0)
    charge = Charge("co_9", 1000, "eur", "A ticket", str(saved.customer), str(saved.method), clock.now())
    assert STRIPE.charge(shop, charge, "key-charge").state is State.PAID
    assert house.state()["charges"][-1]["application_fee_amount"] == 25


def test_the_balance_of_the_connected_account_has_its_payments_before_any_fee(
    house: StripeHouse, shop: Account
) -> None:
    before = clock.now()
    said = paid(house, shop)
    page = STRIPE.balance(shop, before.replace(microsecond=0), clock.now().replace(year=2100), "")
    assert [one.amount for one in page.lines if one.payment_ref == said.payment_ref] == [1999]


@pytest.mark.parametrize("thin", [False, True])
def test_an_event_says_whose_it_is(shop: Account, thin: bool) -> None:
    for whose, said in ((SHOP, SHOP), (None, "")):
        event = {"id": "evt_1", "object": "event", "type": "refund.created", "livemode": False, "account": whose,
                 "data": {"object": {"object": "refund", "payment_intent": "pi_1"}}}  # fmt: skip
        if thin:
            event = {"id": "evt_1", "object": "v2.core.event", "type": "v1.checkout.session.completed",
                     "livemode": False, "context": whose and f"org_1/{whose}",
                     "related_object": {"id": "cs_1", "type": "checkout.session"}}  # fmt: skip
        raw = json.dumps(event).encode()
        header = signed(raw, SECRET, stamp=int(clock.now().timestamp()))
        [notice] = STRIPE.receive(shop, {"stripe-signature": header}, raw)
        assert notice.connected_account == said
