"""Several accounts: keys, things and events never cross."""

from __future__ import annotations

from typing import Any

import pytest
import stripe

from tests.sandbox.stripe.conftest import INBOUND, asked
from tests.support.sink import Sink
from tests.support.stripe_control import SECRET, Refused, StripeControl, StripeSandbox

SECOND_KEY = "sk_test_of_the_second_shop"
CONNECTED = "acct_sandbox_connected"


@pytest.fixture
def second(double: StripeSandbox, control: StripeControl) -> stripe.StripeClient:
    control.account("acct_second", SECOND_KEY)
    return double.client(SECOND_KEY)


def buy(client: stripe.StripeClient, options: Any = None) -> stripe.checkout.Session:
    params: Any = asked()
    return client.v1.checkout.sessions.create(params, options or {})


def test_what_one_account_has_is_not_there_for_another(
    client: stripe.StripeClient, second: stripe.StripeClient, control: StripeControl
) -> None:
    session = buy(client)
    with pytest.raises(stripe.InvalidRequestError) as refusal:
        second.v1.checkout.sessions.retrieve(session.id)
    assert refusal.value.code == "resource_missing"
    control.press(session.id)
    intent = control.session(session.id)["payment_intent"]
    with pytest.raises(stripe.InvalidRequestError, match="No such payment_intent"):
        second.v1.refunds.create({"payment_intent": intent})
    customer = client.v1.customers.create({})
    with pytest.raises(stripe.InvalidRequestError, match="No such customer"):
        second.v1.checkout.sessions.create({**asked(), "customer": customer.id})
    assert second.v1.checkout.sessions.list().data == []
    assert second.v1.events.list().data == []


def test_an_idempotency_key_is_the_accounts_own(client: stripe.StripeClient, second: stripe.StripeClient) -> None:
    key = {"idempotency_key": "the-same"}
    assert buy(client, key).id != buy(second, key).id


def test_events_go_to_the_endpoint_of_their_account(
    client: stripe.StripeClient, second: stripe.StripeClient, control: StripeControl, hooks: Sink
) -> None:
    control.endpoints(
        {"url": hooks.url("/inbound/one"), "secrets": [SECRET], "account": "acct_sandbox"},
        {"url": hooks.url("/inbound/two"), "secrets": ["whsec_two"], "account": "acct_second"},
    )
    control.press(buy(second).id)
    assert hooks.received("/inbound/one") == []
    assert len(hooks.received("/inbound/two")) == 1
    control.press(buy(client).id)
    assert len(hooks.received("/inbound/one")) == 1


def test_a_connected_account_is_reached_through_its_platform(
    double: StripeSandbox, client: stripe.StripeClient, control: StripeControl, hooks: Sink
) -> None:
    control.endpoints(
        {"url": hooks.url(INBOUND), "secrets": [SECRET]},
        {"url": hooks.url("/connect"), "secrets": [SECRET], "connect": True},
    )
    as_connected = double.client(stripe_account=CONNECTED)
    session = buy(as_connected)
    control.press(session.id)
    assert hooks.received(INBOUND) == []
    assert hooks.received("/connect")[0].event["account"] == CONNECTED
    with pytest.raises(stripe.InvalidRequestError):
        client.v1.checkout.sessions.retrieve(session.id)
    assert as_connected.v1.checkout.sessions.retrieve(session.id).status == "complete"


def test_an_account_of_somebody_else_cannot_be_named(double: StripeSandbox, second: stripe.StripeClient) -> None:
    for key, account in ((SECOND_KEY, CONNECTED), (SECOND_KEY, "acct_sandbox")):
        with pytest.raises(stripe.PermissionError) as refusal:
            buy(double.client(key, stripe_account=account))
        assert refusal.value.http_status == 403


def test_an_account_with_a_live_key_is_not_made(control: StripeControl) -> None:
    with pytest.raises(Refused, match="test key"):
        control.account("acct_real", "sk_live_51abcdefgh")
