"""Mollie's webhooks. They only say which payment to look at; what happened is read from the API.

Classic webhooks, for which each payment has an address, are not signed: ``id=tr_…`` and nothing else
(docs.mollie.com/reference/webhooks). They are hints that anybody may send. Next-generation webhooks, to which an
operator subscribes in the dashboard, are JSON with the HMAC-SHA256 of their raw bytes in ``X-Mollie-Signature``
(docs.mollie.com/reference/webhooks-new); while a secret is being replaced, there are two signatures.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

from elicit_flows.http import strict_json
from elicit_flows.kinds.payment.providers.base import BadNotice
from elicit_flows.kinds.payment.providers.mollie.reading import livemode
from elicit_flows.kinds.payment.providers.parts import Thing, text, within
from elicit_flows.kinds.payment.values import Account, Notice

PAYMENT_ID = re.compile(r"tr_[A-Za-z0-9]{1,100}")
MAX_HINT = 1000
MAX_SIGNATURE = 1000
PREFIX = "sha256="


def receive(account: Account, headers: Mapping[str, str], body: bytes) -> list[Notice]:
    """One notice or none. Raises BadNotice."""
    signature = headers.get("x-mollie-signature")
    if signature is None:
        # A notice for a payment's id; none for the id of something else.
        ids = parse_qs(body.decode("ascii", "replace")).get("id", []) if len(body) <= MAX_HINT else []
        if len(ids) != 1:
            raise BadNotice("The body does not name one thing by its id.")
        return _notices(ids[0], "hint", account.livemode)
    if not _signed(account, signature, body):
        raise BadNotice("The signature is not one of this account's.")
    try:
        event: Any = strict_json.loads(body)
    except ValueError:
        raise BadNotice("The body is not JSON.") from None
    if not isinstance(event, dict) or event.get("resource") != "event":
        raise BadNotice("The body is not an event.")
    entity: Thing = within(event, "_embedded", "entity")
    about = text(entity.get("paymentId")) or text(event.get("entityId"))
    return _notices(about, text(event.get("type")), livemode(entity) if "mode" in entity else account.livemode)


def _signed(account: Account, signature: str, body: bytes) -> bool:
    if len(signature) > MAX_SIGNATURE or not signature.isascii():
        return False
    given = [one.strip().removeprefix(PREFIX) for one in signature.split(",")]
    wanted = [hmac.new(one.reveal().encode(), body, hashlib.sha256).hexdigest() for one in account.webhook_secrets]
    return any(hmac.compare_digest(one, other) for one in given for other in wanted)


def _notices(ref: str, kind: str, live: bool) -> list[Notice]:
    return [Notice(ref, kind[:100], ref, None, live)] if PAYMENT_ID.fullmatch(ref) else []
