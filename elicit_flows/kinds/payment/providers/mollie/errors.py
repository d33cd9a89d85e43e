"""Mollie's errors as our exceptions (docs.mollie.com/reference/handling-errors).

Mollie's own sentences are not shown, because they may quote parameters.
"""

from __future__ import annotations

import re

from elicit_flows.http import Reply
from elicit_flows.kinds.payment.providers.base import Busy, Refused, Unclear

_CODES = {400: "bad_request", 404: "not_found", 410: "gone", 422: "unprocessable_entity"}
_FIELD = re.compile(r"[a-z0-9_]{1,90}")


def refused(reply: Reply) -> Refused:
    """The refusal, named after the status or the field that Mollie complains about: it has no error codes."""
    if reply.status in (401, 403):
        return Refused("authentication_failed", "The payment provider does not accept this account's key.")
    try:
        said = reply.json()
    except ValueError:
        said = None
    field = said.get("field") if isinstance(said, dict) else None
    name = field.lower().replace(".", "_") if isinstance(field, str) else ""
    code = f"invalid_{name}" if _FIELD.fullmatch(name) else _CODES.get(reply.status, "invalid_request")
    return Refused(code, f"The payment provider refused the request: {code}.")


def failure(reply: Reply | None, *, unclear: bool) -> Busy | Unclear:
    """``unclear``: an attempt may have changed something, and its answer is lost."""
    if not unclear:
        return Busy("The payment provider is not available. Try again.")
    replayed = reply is not None and reply.headers.get("idempotent-replayed") == "true"
    stored = replayed and reply is not None and reply.status >= 500
    return Unclear("The payment provider did not report a result.", stored=stored)
