"""Stripe's webhooks: check the signature and the time, and find the payment to look at.

Nothing else in them is trusted: what happened is read from the API.
"""

from __future__ import annotations

import re
from typing import Any

import stripe

from elicit_flows.http import strict_json
from elicit_flows.kinds.payment.providers.base import BadNotice
from elicit_flows.kinds.payment.providers.stripe.reading import Thing, id_of, payment_ref, within
from elicit_flows.kinds.payment.values import Account, Notice
from elicit_flows.lib import clock

TOLERANCE = 300  # seconds, both ways; the SDK takes timestamps from the future
MAX_HEADER = 4096
MAX_ID = 255
_STAMP = re.compile(r"[0-9]{1,12}")


def receive(account: Account, header: str, body: bytes) -> list[Notice]:
    """``header`` is Stripe-Signature. Events about other objects give no notice. Those of a connected account say whose
    they are.

    Raises BadNotice.
    """
    try:
        payload = body.decode("utf-8")
    except UnicodeDecodeError:
        raise BadNotice("The body is not UTF-8.") from None
    _check_time(header)
    if not any(_signed(payload, header, secret.reveal()) for secret in account.webhook_secrets):
        raise BadNotice("The signature is not one of this account's.")
    try:
        event: Any = strict_json.loads(payload)
    except ValueError:
        raise BadNotice("The body is not JSON.") from None
    if not isinstance(event, dict) or event.get("object") not in ("event", "v2.core.event"):
        raise BadNotice("The body is not an event.")
    names = [event.get("id"), event.get("type")]
    well_named = all(isinstance(one, str) and 0 < len(one) <= MAX_ID for one in names)
    if not (well_named and isinstance(event.get("livemode"), bool)):
        raise BadNotice("The event lacks its id, type or mode.")
    notice = _thin(event) if event["object"] == "v2.core.event" else _snapshot(event)
    return [notice] if notice.ref or notice.payment_ref else []


def _check_time(header: str) -> None:
    if len(header) > MAX_HEADER or not header.isascii():
        raise BadNotice("The signature header cannot be read.")
    stamps = [value for name, _, value in (part.partition("=") for part in header.split(",")) if name == "t"]
    if len(stamps) != 1 or not _STAMP.fullmatch(stamps[0]):
        raise BadNotice("The signature header does not say when it was made.")
    if abs(clock.now().timestamp() - int(stamps[0])) > TOLERANCE:
        raise BadNotice("The signature is more than 300 seconds old, or dated more than 300 seconds ahead.")


def _signed(payload: str, header: str, secret: str) -> bool:
    try:
        stripe.WebhookSignature.verify_header(payload, header, secret)
    except stripe.SignatureVerificationError:
        return False
    return True


def _snapshot(event: Thing) -> Notice:
    about = within(event, "data", "object")
    kind, ref, paid = about.get("object"), None, None
    if kind == "checkout.session":
        ref, paid = id_of(about), payment_ref(about)
    elif kind in ("payment_intent", "subscription"):
        paid = id_of(about)
    elif kind in ("charge", "refund", "dispute"):
        paid = id_of(about.get("payment_intent"))
    elif kind == "invoice":
        paid = id_of(within(about, "parent", "subscription_details").get("subscription"))
    return _notice(event, event["id"], ref, paid)


def _thin(event: Thing) -> Notice:
    """A thin event names one object only. If it has a snapshot event, both count as one notice."""
    about, twin = within(event, "related_object"), id_of(event.get("snapshot_event"))
    ref = id_of(about) if about.get("type") == "checkout.session" else None
    paid = id_of(about) if about.get("type") in ("payment_intent", "subscription") else None
    return _notice(event, twin or event["id"], ref, paid)


def _notice(event: Thing, id: str, ref: str | None, paid: str | None) -> Notice:
    # A thin event says it in its context, which begins with the organisation where there is one.
    whose = event.get("account") or str(event.get("context") or "").rpartition("/")[2]
    return Notice(id, event["type"], ref, paid, event["livemode"], whose)
