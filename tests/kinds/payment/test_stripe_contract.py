"""Stripe, in the sandbox, passes the contract of every payment provider."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from elicit_flows.kinds.payment import providers
from elicit_flows.kinds.payment.providers.base import Refused, Unclear
from elicit_flows.kinds.payment.values import State
from tests.kinds.payment.answers import ask
from tests.kinds.payment.contract import ProviderContract
from tests.kinds.payment.stripe_house import OTHER_SECRET, SECRET, USUAL, StripeHouse

pytestmark = pytest.mark.usefixtures("loopback", "no_pauses")
STRIPE = providers.get("stripe")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StripeHouse]:
    house = StripeHouse(tmp_path_factory.mktemp("stripe") / "log")
    yield house
    house.close()


@pytest.fixture
def house(shared: StripeHouse) -> StripeHouse:
    shared.order("reset")
    return shared


class TestStripe(ProviderContract):
    name = "stripe"
    stranger = "sk_test_canary_of_nobody"

    @pytest.fixture
    def house(self, house: StripeHouse) -> StripeHouse:
        return house


def start(house: StripeHouse, key: str = "key", **changes: object) -> str:
    return STRIPE.start(house.account, ask(**changes), key).ref


def test_an_answer_that_is_kept_under_its_key_needs_another_key(house: StripeHouse) -> None:
    house.order("fault", name="500")
    for _ in range(2):
        with pytest.raises(Unclear) as told:
            start(house)
        assert told.value.stored
    assert start(house, "key 2")


def test_a_checkout_that_was_made_behind_an_error_is_found(house: StripeHouse) -> None:
    house.order("fault", name="500_executed")
    with pytest.raises(Unclear):
        start(house)
    ref = STRIPE.find(house.account, "co_1")
    assert ref
    assert STRIPE.close(house.account, ref, "close").state is State.EXPIRED


def test_a_key_with_other_parameters_needs_another_key(house: StripeHouse) -> None:
    start(house)
    with pytest.raises(Unclear) as told:
        start(house, amount=2000)
    assert told.value.stored


def test_the_key_is_the_same_in_every_try(house: StripeHouse) -> None:
    house.order("fault", name="503", times=2)
    start(house, "ef:co_1:start:1")
    posts = [one for one in house.state()["requests"] if one["method"] == "POST"]
    assert [one["key"] for one in posts] == ["ef:co_1:start:1"] * 3
    assert house.checkouts() == 1


def test_nothing_that_is_asked_is_unknown_to_the_strict_double(house: StripeHouse) -> None:
    for mode in sorted(STRIPE.modes - {"mandate"}):  # which begins as a saved method
        start(
            house, mode, mode=mode, amount=0 if mode == "save" else 500, interval="day" if mode == "subscribe" else None
        )
    assert [one["error"] for one in house.state()["requests"] if one["error"]] == []


def test_what_stripe_finds_too_little_is_refused_by_its_own_code(house: StripeHouse) -> None:
    with pytest.raises(Refused) as told:
        start(house, amount=1)
    assert told.value.code == "amount_too_small"


def test_thin_events_and_whole_ones_point_at_the_same_checkout_as_one(house: StripeHouse) -> None:
    endpoint = {"url": house.sink.url("/both"), "secrets": [SECRET], "account": USUAL, "form": "both"}
    house.order("endpoints", endpoints=[endpoint])
    made = STRIPE.start(house.account, ask(), "key")
    house.act(made.url, "pay")
    notices = [
        notice
        for headers, body in house.webhooks(made.ref)
        for notice in STRIPE.receive(house.account, headers, body)
        if notice.ref == made.ref
    ]
    assert sorted(notice.type for notice in notices) == ["checkout.session.completed", "v1.checkout.session.completed"]
    assert len({notice.id for notice in notices}) == 1


def test_while_secrets_change_stripe_signs_with_both(house: StripeHouse) -> None:
    endpoint = {"url": house.sink.url("/two"), "secrets": [OTHER_SECRET, SECRET], "account": USUAL}
    house.order("endpoints", endpoints=[endpoint])
    made = STRIPE.start(house.account, ask(), "key")
    house.act(made.url, "pay")
    for headers, body in house.webhooks(made.ref):
        assert STRIPE.receive(house.account, headers, body) == STRIPE.receive(house.other, headers, body) != []


def test_the_payment_of_a_renewed_subscription_is_its_latest(house: StripeHouse) -> None:
    made = STRIPE.start(house.account, ask(mode="subscribe", interval="month"), "key")
    house.act(made.url, "pay")
    first = STRIPE.fetch(house.account, made.ref)
    house.order("renew", subscription=first.payment_ref)
    again = STRIPE.fetch(house.account, made.ref)
    assert first.period_end
    assert again.period_end
    assert (again.state, again.amount, again.period_end > first.period_end) == (State.ACTIVE, 1999, True)
    assert STRIPE.refund(house.account, first.payment_ref or "", 1999, "row", "key of the refund").state == "done"
    assert len(STRIPE.fetch(house.account, made.ref).refunds) == 1


def subscribed(house: StripeHouse) -> tuple[str, str]:
    """The checkout, and Stripe's id of the subscription."""
    made = STRIPE.start(house.account, ask(mode="subscribe", interval="month"), "key")
    house.act(made.url, "pay")
    return made.ref, STRIPE.fetch(house.account, made.ref).payment_ref or ""


def test_who_cancels_while_a_renewal_is_unpaid_is_not_charged_for_it_later(house: StripeHouse) -> None:
    """At the end of the period that has begun, Stripe would go on trying to charge for it until then."""
    ref, subscription = subscribed(house)
    paid = STRIPE.fetch(house.account, ref)
    house.order("renew", subscription=subscription, outcome="fail")
    for _ in range(2):
        said = STRIPE.cancel(house.account, ref, "key")
        assert (said.state, [one.state for one in said.invoices]) == (State.CANCELLED, ["paid", "failed"])
    with pytest.raises(AssertionError, match="no invoice that can be paid"):
        house.order("collect", subscription=subscription, outcome="ok")
    assert STRIPE.fetch(house.account, ref).invoices[0] == paid.invoices[0]


def test_who_cancels_once_a_refused_renewal_is_paid_keeps_what_is_paid(house: StripeHouse) -> None:
    ref, subscription = subscribed(house)
    house.order("renew", subscription=subscription, outcome="fail")
    house.order("collect", subscription=subscription, outcome="ok")
    said = STRIPE.cancel(house.account, ref, "key")
    assert (said.state, said.ends_at) == (State.ACTIVE, said.period_end)


def updates(house: StripeHouse) -> int:
    return len(
        [one for one in house.state()["requests"] if one["method"] == "POST" and "/subscriptions/" in one["path"]]
    )


def test_a_new_price_is_charged_with_the_next_period_and_changed_once(house: StripeHouse) -> None:
    ref, subscription = subscribed(house)
    before = STRIPE.fetch(house.account, ref)
    assert (before.price, before.interval) == (1999, "month")
    for _ in range(2):
        said = providers.subscribing("stripe").change_price(house.account, ref, 2499)
        assert (said.state, said.price, said.interval, said.period_end) == (
            State.ACTIVE, 2499, "month", before.period_end,
        )  # fmt: skip
        assert len(said.invoices) == 1, "nothing is charged now"
    assert updates(house) == 1
    house.next_period(subscription)
    assert [one.amount for one in STRIPE.fetch(house.account, ref).invoices] == [1999, 2499]


def test_the_price_of_one_that_has_ended_is_not_changed(house: StripeHouse) -> None:
    ref, subscription = subscribed(house)
    house.end_subscription(subscription)
    said = providers.subscribing("stripe").change_price(house.account, ref, 2499)
    assert (said.state, said.price, updates(house)) == (State.CANCELLED, 1999, 0)


def test_a_look_that_fails_after_the_change_says_that_the_result_is_unknown(house: StripeHouse) -> None:
    """Refused would say that nothing was changed."""
    ref, _ = subscribed(house)
    house.order("fault", name="503", on="GET /v1/invoices", times=20)
    with pytest.raises(Unclear):
        providers.subscribing("stripe").change_price(house.account, ref, 2499)
    house.order("calm")
    assert STRIPE.fetch(house.account, ref).price == 2499
