"""The check that a webhook came from the service (Standard Webhooks), and the event in it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from standardwebhooks import Webhook, WebhookVerificationError

from elicit_flows.sdk.errors import ElicitError
from elicit_flows.sdk.shapes import Event


def verify_webhook(headers: Mapping[str, str], body: bytes, secret: str | Sequence[str]) -> Event:
    """The event in ``body``, the request's bytes as they came.

    ``secret`` is the agent's ``whsec_…``, or several while one replaces another. Raises ElicitError with code
    ``bad_signature`` when nobody who knows a secret signed these bytes within the last 300 seconds. A retry brings
    the same event id again: keep the ids you have dealt with.
    """
    fields = {name: headers[name] for name in headers}
    for one in [secret] if isinstance(secret, str) else secret:
        if _signed(one, fields, body):
            return Event.read(json.loads(body))
    raise ElicitError("bad_signature", "The webhook is not signed with this secret, or is too old")


def _signed(secret: str, headers: dict[str, str], body: bytes) -> bool:
    hook = Webhook(secret)
    try:
        hook.verify(body, headers, json_parse=False)
    except (WebhookVerificationError, ValueError):  # ValueError: malformed signatures and bodies that are no UTF-8
        return False
    return True
