"""Charges of a saved method: PaymentIntents that are confirmed while the person is away.

docs.stripe.com/payments/save-and-reuse, "Charge the saved payment method later".
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import stripe

from elicit_flows.kinds.payment.providers.base import Busy
from elicit_flows.kinds.payment.providers.stripe import reading
from elicit_flows.kinds.payment.providers.stripe.client import plain
from elicit_flows.kinds.payment.providers.stripe.session import OUR_ID
from elicit_flows.kinds.payment.values import AUTHENTICATION_REQUIRED, Charge, Snapshot, State

PAGE = 100
PAGES = 20
PAUSE = 0.1  # seconds between pages: Stripe allows an endpoint 25 requests a second, for all callers together
SLACK = 300  # seconds between our clock and Stripe's


def is_one(ref: str) -> bool:
    return ref.startswith("pi_")


def make(client: stripe.StripeClient, charge: Charge, key: str, fee: int) -> Snapshot:
    """A bank that refuses is an answer, not an error: the PaymentIntent is in the error's body. OPEN: it waits for the
    person, and has to be closed. ``fee``: the platform's, in minor units.
    """
    params: Any = {
        "amount": charge.amount,
        "currency": charge.currency,
        "customer": charge.customer,
        "payment_method": charge.method,
        "description": charge.description,
        "metadata": {OUR_ID: charge.our_id},
        "off_session": True,
        "confirm": True,
        # Nobody is there who could be sent to another page.
        "automatic_payment_methods": {"enabled": True, "allow_redirects": "never"},
        "expand": reading.CHARGE_EXPANDED,
        **({"application_fee_amount": fee} if fee else {}),
    }
    try:
        made = plain(client.v1.payment_intents.create(params, {"idempotency_key": key}), "id", "status")
    except stripe.CardError as refusal:
        body: Any = refusal.json_body
        made = reading.within(body if isinstance(body, dict) else {}, "error", "payment_intent")
        if "id" not in made or "status" not in made:
            raise
    return reading.charge_snapshot(made, [], [])


def close(client: stripe.StripeClient, ref: str) -> Snapshot:
    """Cancel it if it waits for the person, so that it cannot be paid beside the page that they are sent to."""
    said = look(client, ref)
    if said.state is not State.OPEN:
        return said
    gone = client.v1.payment_intents.cancel(ref, {"cancellation_reason": "abandoned"})
    said = reading.charge_snapshot(plain(gone, "id", "status"), [], [])
    return replace(said, failure=AUTHENTICATION_REQUIRED) if said.state is State.CANCELLED else said


def look(client: stripe.StripeClient, ref: str) -> Snapshot:
    found = plain(client.v1.payment_intents.retrieve(ref, {"expand": reading.CHARGE_EXPANDED}), "id", "status")
    if found["status"] != "succeeded":
        return reading.charge_snapshot(found, [], [])
    return reading.charge_snapshot(found, *refunds_and_disputes(client, ref))


def find(client: stripe.StripeClient, charge: Charge) -> str | None:
    """Read the customer's PaymentIntents. The list is exact; Stripe's search is late by up to a minute."""
    since = int(charge.since.timestamp()) - SLACK
    params: Any = {"customer": charge.customer, "created": {"gte": since}, "limit": PAGE}
    for _ in range(PAGES):
        page = plain(client.v1.payment_intents.list(params), "data")
        for one in page["data"]:
            if reading.within(one, "metadata").get(OUR_ID) == charge.our_id:
                return str(one["id"])
        if not page.get("has_more") or not page["data"]:
            return None
        params |= {"starting_after": page["data"][-1]["id"]}
        time.sleep(PAUSE)
    raise Busy("There are too many charges to search.")


def refunds_and_disputes(client: stripe.StripeClient, intent: str) -> tuple[list[reading.Thing], list[reading.Thing]]:
    """As Stripe lists them, newest first."""
    disputes = plain(client.v1.disputes.list({"payment_intent": intent, "limit": PAGE}), "data")
    return refunds(client, intent), disputes["data"]


def has_fee(client: stripe.StripeClient, intent: str) -> bool:
    """Whether a platform took a share of it."""
    return bool(plain(client.v1.payment_intents.retrieve(intent), "id").get("application_fee_amount"))


def refunds(client: stripe.StripeClient, intent: str) -> list[reading.Thing]:
    found: list[reading.Thing] = plain(client.v1.refunds.list({"payment_intent": intent, "limit": PAGE}), "data")[
        "data"
    ]
    return found
