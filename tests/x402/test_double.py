"""An agent that pays what answers 402, in its author's test: the double says what the service says."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import pytest

from elicit_flows.sdk import ConflictError, Declined, InvalidRequestError, SyncElicit
from elicit_flows.sdk.testing import Double
from tests.docs.page import found
from tests.support.http_user import HttpUser
from tests.x402.conftest import NETWORK, Buyer
from tests.x402.shop import PAYEE

URL = "https://shop.example/report"
USDC = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"


def challenge(**more: Any) -> dict[str, Any]:
    accepted = {
        "scheme": "exact", "network": NETWORK, "asset": USDC, "amount": "10000", "payTo": PAYEE,
        "maxTimeoutSeconds": 300, **more,
    }  # fmt: skip
    return {"x402Version": 2, "resource": {"url": URL, "description": "A weather report"}, "accepts": [accepted]}


def shape(value: Any) -> Any:
    """The names in it, all the way down."""
    if isinstance(value, dict):
        return {name: shape(one) for name, one in value.items() if name not in ("params", "metadata")}
    return None


def paid(elicit: SyncElicit, user: Any, asked: dict[str, Any], say: Any) -> list[Any]:
    """What the API says, from the yes to the event, without the values."""
    outcome = elicit.x402(user, asked["resource"]["url"], asked, message="?", on_url=say)
    header = elicit.payment_header(outcome, idempotency_key="once")
    assert elicit.payment_header(outcome, idempotency_key="once") == header, "the same call has it again"
    with pytest.raises(ConflictError) as refused:
        elicit.payment_header(outcome, idempotency_key="another")
    assert refused.value.code == "already_consumed"
    said = json.loads(base64.b64decode(header["value"]))
    assert (said["accepted"], said["payload"]["authorization"]["to"]) == (asked["accepts"][0], PAYEE)
    event = next(one for one in elicit.events(stream=False) if one.type == "payment.authorized")
    return [shape(outcome.result), shape(header), shape(said["payload"]), shape(event.data)]


@pytest.mark.slow
def test_the_double_says_what_the_service_says(buyer: Buyer, http_user: HttpUser) -> None:
    real = buyer.params()["challenge"]
    with Double() as double, double.sync_elicit() as at_double, buyer.sdk() as at_service:
        alice = double.user()
        assert paid(at_double, alice.claim, real, alice.submit) == paid(
            at_service, buyer.user, real, lambda url: buyer.says(http_user, {"url": url})
        )


def test_a_no_signs_nothing() -> None:
    with Double() as double, double.sync_elicit() as elicit:
        alice = double.user()
        outcome = elicit.x402(alice.claim, URL, challenge(), message="?", on_url=alice.decline)
        assert isinstance(outcome, Declined)
        assert double.state.authorizations == {}


@pytest.mark.parametrize("wrong", [{"network": "eip155:5"}, {"asset": PAYEE}, {"scheme": "upto"}], ids=str)
def test_what_no_wallet_of_the_service_could_pay_is_refused(wrong: dict[str, str]) -> None:
    with Double() as double, double.sync_elicit() as elicit, pytest.raises(InvalidRequestError, match="not paid"):
        elicit.x402(double.user().claim, URL, challenge(**wrong), message="?", on_url=print)


def test_the_program_of_the_page() -> None:
    """``pay_request`` with a shop that the author's test puts in its place."""
    [program] = found("how-to/x402.md", "x402-double")
    scope: dict[str, Any] = {"challenge": challenge()}
    exec(program.text, scope)
    asyncio.run(scope["test_the_report_is_paid_for"]())
