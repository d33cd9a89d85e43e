"""Events: signed, sent at least once, as late and as often as ordered."""

from __future__ import annotations

import json
from typing import Any

import pytest
import stripe

from sandbox.stripe.signing import PATHS
from tests.sandbox.stripe.conftest import INBOUND, Create
from tests.support.process import until
from tests.support.sink import Delivery, Sink
from tests.support.stripe_control import SECRET, StripeControl
from tests.support.stripe_types import faults, find_class

COMPLETED = "checkout.session.completed"
OTHER = "whsec_another_one"


def read(delivery: Delivery, secret: str = SECRET) -> Any:
    """The event, by the SDK's own verifier."""
    return stripe.Webhook.construct_event(delivery.body, delivery.headers["stripe-signature"], secret).to_dict()


def kinds(deliveries: list[Delivery]) -> list[str]:
    return [json.loads(one.body)["type"] for one in deliveries]


def states(control: StripeControl) -> list[str]:
    return [one["state"] for one in control.state()["deliveries"]]


def test_the_event_is_there_before_the_buyer_is(create: Create, control: StripeControl, hooks: Sink) -> None:
    session = create({"idempotency_key": "k"})
    control.press(session.id)
    (delivery,) = hooks.received(INBOUND)
    event = read(delivery)
    assert faults(event) == []
    assert (event["type"], event["data"]["object"]["id"]) == (COMPLETED, session.id)
    assert (event["api_version"], event["pending_webhooks"]) == (stripe.api_version, 1)
    assert (event["livemode"], event["request"]["id"]) == (False, None)


def test_an_event_can_come_after_the_buyer(create: Create, control: StripeControl, hooks: Sink) -> None:
    control.weather(timing="after", delay=0.5)
    assert control.press(create().id)
    assert hooks.received(INBOUND) == []
    assert kinds(hooks.wait_for(INBOUND)) == [COMPLETED]


def test_a_receiver_that_does_not_answer_does_not_keep_the_buyer_for_ever(
    create: Create, control: StripeControl, hooks: Sink
) -> None:
    hooks.status(INBOUND, 500)
    control.weather(retry_seconds=[])
    assert control.press(create().id)
    until(lambda: states(control) == ["given_up"], "the only try is over")


def test_the_event_names_the_request_that_caused_it(
    create: Create, client: stripe.StripeClient, control: StripeControl, hooks: Sink
) -> None:
    session = create()
    gone = client.v1.checkout.sessions.expire(session.id, options={"idempotency_key": "ef:1:expire"})
    event = read(hooks.wait_for(INBOUND)[0])
    assert event["request"] == {"id": gone.last_response.request_id, "idempotency_key": "ef:1:expire"}


def test_it_is_sent_again_until_it_is_received(create: Create, control: StripeControl, hooks: Sink) -> None:
    hooks.status(INBOUND, 503, times=2)
    control.weather(retry_seconds=[0.05, 0.1, 0.2])
    control.press(create().id)
    first, *rest = hooks.wait_for(INBOUND, 3)
    assert [read(one)["id"] for one in rest] == [read(first)["id"]] * 2
    until(lambda: states(control) == ["delivered"], "the third try is taken down as received")
    assert [one["status"] for one in control.state()["deliveries"][0]["tries"]] == [503, 503, 200]


def test_every_secret_signs(create: Create, control: StripeControl, hooks: Sink) -> None:
    control.endpoints({"url": hooks.url(INBOUND), "secrets": [SECRET, OTHER]})
    control.press(create().id)
    (delivery,) = hooks.received(INBOUND)
    assert read(delivery, SECRET)["id"] == read(delivery, OTHER)["id"]


@pytest.mark.parametrize("weather", [{"wrong_secret": True}, {"signature_age": 301}])
def test_a_signature_can_be_wrong_or_old(
    create: Create, control: StripeControl, hooks: Sink, weather: dict[str, Any]
) -> None:
    control.weather(**weather)
    control.press(create().id)
    with pytest.raises(stripe.SignatureVerificationError):
        read(hooks.received(INBOUND)[0])


def test_an_event_can_claim_to_be_of_real_money(create: Create, control: StripeControl, hooks: Sink) -> None:
    control.weather(livemode=True)
    session = create()
    control.press(session.id)
    assert read(hooks.received(INBOUND)[0])["livemode"] is True
    assert control.session(session.id)["livemode"] is False


def test_a_dropped_event_is_never_sent(create: Create, control: StripeControl, hooks: Sink) -> None:
    control.weather(drop=True, types=[COMPLETED])
    session = create()
    control.press(session.id)
    control.refund(session.id)
    assert sorted(kinds(hooks.wait_for(INBOUND, 2))) == ["charge.refunded", "refund.created"]
    assert states(control)[0] == "dropped"


def test_copies_have_one_id(create: Create, control: StripeControl, hooks: Sink) -> None:
    control.weather(duplicate=2)
    control.press(create().id)
    assert len({read(one)["id"] for one in hooks.wait_for(INBOUND, 3)}) == 1


@pytest.mark.parametrize("order", ["fifo", "lifo", "random"])
def test_held_events_come_in_the_order_that_is_wanted(
    create: Create, control: StripeControl, hooks: Sink, order: Any
) -> None:
    control.weather(hold=True)
    session = create()
    control.press(session.id, "pay_bank")
    control.settle(session.id)
    assert hooks.received(INBOUND) == []
    told = ["checkout.session.completed", "checkout.session.async_payment_succeeded"]
    assert [one["state"] for one in control.release(order)] == ["delivered"] * 2
    got = kinds(hooks.received(INBOUND))
    assert got == {"fifo": told, "lifo": told[::-1]}.get(order, got)
    assert sorted(got) == sorted(told)
    late = [read(one)["data"]["object"]["payment_status"] for one in hooks.received(INBOUND)]
    assert sorted(late) == ["paid", "unpaid"], "an event shows the thing as it was then"


def test_an_event_can_be_sent_again(create: Create, control: StripeControl, hooks: Sink) -> None:
    control.press(create().id)
    (first,) = hooks.received(INBOUND)
    control.resend(read(first)["id"], times=2)
    assert [read(one)["id"] for one in hooks.received(INBOUND)] == [read(first)["id"]] * 3


def test_a_thin_event_says_only_where_to_look(
    create: Create, client: stripe.StripeClient, control: StripeControl, hooks: Sink
) -> None:
    control.endpoints({"url": hooks.url(INBOUND), "secrets": [SECRET], "form": "both"})
    session = create()
    control.press(session.id)
    by_kind = {one.event["object"]: one for one in hooks.wait_for(INBOUND, 2)}
    thin = by_kind["v2.core.event"]
    note: Any = client.parse_event_notification(thin.body, thin.headers["stripe-signature"], SECRET)
    assert type(note).__name__ == "V1CheckoutSessionCompletedEventNotification"
    assert (note.livemode, thin.event["snapshot_event"]) == (False, by_kind["event"].event["id"])
    assert note.related_object.id == session.id
    assert note.fetch_related_object().payment_status == "paid"
    about = {name: thin.event[name] for name in thin.event.keys() - {"related_object"}}
    assert faults(about) == []


def test_of_each_thing_that_events_are_about_the_address_is_one_of_the_api() -> None:
    for kind, path in PATHS.items():
        module = kind if "." in kind else f"_{kind}"
        name = "".join(part.title() for part in kind.rpartition(".")[2].split("_"))
        node, _ = find_class(f"stripe.{module.replace('.', '._')}", name)
        assert node.name == name
        assert path.startswith("/v1/")


def test_an_endpoint_hears_what_it_asked_for(create: Create, control: StripeControl, hooks: Sink) -> None:
    control.endpoints({"url": hooks.url("/all"), "secrets": [SECRET], "events": "all"})
    control.press(create().id)
    told = {"payment_intent.succeeded", "charge.succeeded", COMPLETED}
    assert set(kinds(hooks.wait_for("/all", 3))) == told
    control.endpoints({"url": hooks.url("/one"), "secrets": [SECRET], "events": ["charge.succeeded"]})
    control.press(create().id)
    assert kinds(hooks.wait_for("/one")) == ["charge.succeeded"]


def test_events_can_be_looked_up(create: Create, client: stripe.StripeClient, control: StripeControl) -> None:
    control.press(create().id)
    found = client.v1.events.list({"types": [COMPLETED]})
    assert [one.type for one in found.data] == [COMPLETED]
    assert client.v1.events.retrieve(found.data[0].id).to_dict() == found.data[0].to_dict()
