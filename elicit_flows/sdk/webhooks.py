"""Check that a webhook came from the service (Standard Webhooks), and read its event."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from standardwebhooks import Webhook, WebhookVerificationError

from elicit_flows.sdk.errors import ElicitError
from elicit_flows.sdk.shapes import Event


def verify_webhook(headers: Mapping[str, str], body: bytes, secret: str | Sequence[str]) -> Event:
    """Return the event in ``body``, the bytes of the request as they arrived.

    ``secret`` is the agent's ``whsec_…``, or several while one replaces another. Raises ElicitError ``bad_signature``
    if the bytes were not signed with one of them within the last 300 seconds. A retry carries the same event id:
    remember the ids that you have handled.
    """
    fields = {name: headers[name] for name in headers}
    for one in [secret] if isinstance(secret, str) else secret:
        hook = Webhook(one)
        try:
            hook.verify(body, fields, json_parse=False)
        except (WebhookVerificationError, ValueError):  # ValueError: a malformed signature, or a body that is not UTF-8
            continue
        return Event.read(json.loads(body))
    raise ElicitError("bad_signature", "The webhook is not signed with this secret, or is too old")
