"""The double against the pinned SDK, which is generated from Stripe's own definition of its API."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
import stripe

from sandbox.stripe import parameters, shop
from sandbox.stripe.off_session import OUTCOMES
from sandbox.stripe.routes import ROUTES
from tests.sandbox.stripe.conftest import Create, asked
from tests.support import stripe_params
from tests.support.stripe_control import KEY, StripeControl, StripeSandbox
from tests.support.stripe_types import faults

SESSION = "POST /v1/checkout/sessions"


def test_the_double_knows_just_the_parameters_that_the_sdk_knows() -> None:
    assert stripe_params.known() == parameters.KNOWN, "python -m tests.support.stripe_params writes them anew"
    assert stripe_params.FILE.read_text(encoding="utf-8") == stripe_params.text()


def test_every_call_has_its_parameters() -> None:
    assert parameters.KNOWN.keys() == ROUTES.keys()
    assert parameters.SIMULATED.keys() <= ROUTES.keys()


def test_the_parameters_read_from_the_sdk_are_what_its_pages_say() -> None:
    session = parameters.KNOWN[SESSION]
    assert "payment_method_types" not in session
    assert session["mode"] == "=payment|setup|subscription"
    assert session["ui_mode"] == "=elements|embedded_page|form|hosted_page"
    assert session["line_items"][0]["price_data"]["product_data"]["name"] == "string"
    assert (session["metadata"], session["expires_at"]) == ("map", "integer")
    assert parameters.KNOWN["GET /v1/refunds"]["created"][""] == "integer"


def test_nothing_is_simulated_that_stripe_does_not_have() -> None:
    for call, paths in parameters.SIMULATED.items():
        for path in paths:
            assert shape_at(parameters.KNOWN[call], path) is not None, f"{call}: {path}"


def shape_at(shape: Any, path: str) -> Any:
    for name in path.split("."):
        shape = shape.get(name.removesuffix("[]")) if isinstance(shape, dict) else None
        if name.endswith("[]"):
            shape = shape[0] if isinstance(shape, list) else None
    return shape


def test_the_double_speaks_the_version_of_the_sdk() -> None:
    assert stripe.api_version == shop.API_VERSION


@pytest.fixture
def busy(create: Create, client: stripe.StripeClient, control: StripeControl) -> StripeControl:
    """One of everything that can happen."""
    paid, slow, gone, kept = create(), create(), create(), create(**SETUP)
    control.press(create().id, "pay_declined")
    control.press(create().id, "pay_3ds")
    control.press(paid.id)
    control.press(slow.id, "pay_bank")
    control.settle(slow.id, "fail")
    control.press(create().id, "pay_bank")
    client.v1.checkout.sessions.expire(gone.id)
    control.press(kept.id)
    control.refund_outcome(control.refund(paid.id, 100, pending=True)["id"], "failed")
    control.refund(paid.id, 100)
    control.dispute(paid.id)
    control.dispute(paid.id, "won")
    for outcome in OUTCOMES:
        charge_later(client, control, kept.id, outcome)
    control.press(create(**SUBSCRIPTION).id)
    control.renew(control.state()["subscriptions"][0]["id"])
    return control


def charge_later(client: stripe.StripeClient, control: StripeControl, session: str, outcome: str) -> Any:
    """A charge of the method that the session saved; what Stripe says of it, or the error's body."""
    found: Any = client.v1.checkout.sessions.retrieve(session, {"expand": ["setup_intent"]})
    method = found.setup_intent.payment_method
    control.act("saved_method", payment_method=method, outcome=outcome)
    params: Any = {
        "amount": 1290, "currency": "eur", "customer": found.customer, "payment_method": method, "off_session": True,
        "confirm": True, "automatic_payment_methods": {"enabled": True, "allow_redirects": "never"},
    }  # fmt: skip
    try:
        return client.v1.payment_intents.create(params).to_dict()
    except stripe.CardError as refusal:
        return refusal.json_body


SETUP: dict[str, Any] = {"mode": "setup", "line_items": None, "payment_intent_data": None, "currency": "eur"}
SUBSCRIPTION: dict[str, Any] = {
    "mode": "subscription",
    "line_items": asked(recurring={"interval": "month"})["line_items"],
    "payment_intent_data": None,
}


def get(double: StripeSandbox, path: str) -> Any:
    answer = double.control.http.get(path, headers={"Authorization": f"Bearer {KEY}"})
    assert answer.status_code == 200, answer.text
    return answer.json()


EXPANDED = {
    "/v1/checkout/sessions": ["line_items", "payment_intent.latest_charge.refunds", "setup_intent", "subscription"],
    "/v1/payment_intents": ["latest_charge", "payment_method", "customer"],
    "/v1/charges": ["payment_intent", "customer"],
    "/v1/refunds": ["charge", "payment_intent"],
    "/v1/disputes": ["charge"],
    "/v1/balance_transactions": ["source"],
    "/v1/events": [],
    "/v1/invoice_payments": ["invoice"],
}


@pytest.mark.slow
@pytest.mark.parametrize("path", EXPANDED)
def test_what_is_answered_has_the_shape_that_stripe_gives_it(
    double: StripeSandbox, busy: StripeControl, path: str
) -> None:
    wanted = "&".join(f"expand[]=data.{one}" for one in EXPANDED[path])
    for query in ("limit=100", f"limit=100&{wanted}"):
        found = get(double, f"{path}?{query}")
        assert len(found["data"]) > 0
        assert faults(found) == []
    for one in found["data"]:
        if path != "/v1/invoice_payments":
            assert faults(get(double, f"{path}/{one['id']}")) == []


@pytest.mark.parametrize(
    ("prefix", "path"),
    [
        *(("payment_intent", "/v1/payment_intents"), ("setup_intent", "/v1/setup_intents")),
        *(("subscription", "/v1/subscriptions"), ("invoice", "/v1/invoices"), ("customer", "/v1/customers")),
    ],
)
def test_what_can_only_be_asked_for_by_id_has_it_too(
    double: StripeSandbox, busy: StripeControl, prefix: str, path: str
) -> None:
    sessions = [one[prefix] for one in busy.state()["sessions"] if one[prefix]]
    assert len(sessions) > 0
    for one in sessions:
        assert faults(get(double, f"{path}/{one}")) == []


def test_what_happened_is_of_the_kinds_that_stripe_has(busy: StripeControl) -> None:
    """The checker looks at the type of every event and at the object in it."""
    events = [{name: one[name] for name in one.keys() - {"_account"}} for one in busy.state()["events"]]
    assert len({one["type"] for one in events}) > 15
    assert [fault for one in events for fault in faults(one)] == []


def test_every_movement_of_money_is_in_the_balance(client: stripe.StripeClient, busy: StripeControl) -> None:
    found = client.v1.balance_transactions.list({"limit": 100, "expand": ["data.source"]}).to_dict()["data"]
    state = busy.state()
    paid = sum(one["amount_captured"] for one in state["charges"])
    back = sum(one["amount"] for one in state["refunds"] if one["status"] == "succeeded")
    assert sum(one["amount"] for one in found) == paid - back
    assert {one["reporting_category"] for one in found} == {
        "charge", "refund", "refund_failure", "dispute", "dispute_reversal"
    }  # fmt: skip
    assert all(one["net"] == one["amount"] - one["fee"] for one in found)


@pytest.mark.parametrize(
    ("spoil", "fault"),
    [
        (lambda one: one.pop("created"), ".created: missing"),
        (lambda one: one.update(extra=1), ".extra: Session has no such field"),
        (lambda one: one.update(amount_total="1999"), ".amount_total: '1999' is no int"),
        (lambda one: one.update(livemode=0), ".livemode: 0 is no bool"),
        (lambda one: one.update(status="paid"), ".status: 'paid' is not one of ['complete', 'expired', 'open']"),
        (lambda one: one.update(object="session"), None),
        (lambda one: one["automatic_tax"].pop("enabled"), ".automatic_tax.enabled: missing"),
        (lambda one: one.update(metadata={"a": 1}), ".metadata.a: 1 is no str"),
        (lambda one: one.update(payment_method_types="card"), ".payment_method_types: 'card' is no list"),
        (lambda one: one.update(payment_intent={"id": "pi_1"}), ".payment_intent.amount: missing"),
    ],
)
def test_the_checker_finds_what_is_wrong(create: Create, spoil: Any, fault: str | None) -> None:
    session = json.loads(json.dumps(create().to_dict()))
    assert faults(session) == []
    spoilt = copy.deepcopy(session)
    spoil(spoilt)
    if fault is None:
        with pytest.raises(KeyError):
            faults(spoilt)
    else:
        assert fault in faults(spoilt)


@pytest.mark.parametrize(
    ("outcome", "status", "code"),
    [("ok", "succeeded", None), ("declined", "requires_payment_method", "card_declined"),
     ("authentication_required", "requires_payment_method", "authentication_required"),
     ("requires_action", "requires_action", None), ("processing", "processing", None)],
)  # fmt: skip
def test_a_saved_method_is_charged_while_the_buyer_is_away(
    create: Create, client: stripe.StripeClient, control: StripeControl, outcome: str, status: str, code: str | None
) -> None:
    """docs.stripe.com/payments/save-and-reuse: a refusal is an error that has the PaymentIntent in its body."""
    kept = create(**SETUP)
    control.press(kept.id)
    said = charge_later(client, control, kept.id, outcome)
    intent = said["error"]["payment_intent"] if code else said
    assert intent["status"] == status
    assert (said["error"]["code"] if code else None) == code
    if status in ("requires_action", "requires_payment_method"):
        assert client.v1.payment_intents.cancel(intent["id"]).status == "canceled"
    else:
        with pytest.raises(stripe.InvalidRequestError):
            client.v1.payment_intents.cancel(intent["id"])
