"""Mollie's answers that are none, in our words (docs.mollie.com/reference/handling-errors).

Its own sentences are for operators: they may quote parameters.
"""

from __future__ import annotations

import re

from elicit_flows.kinds.payment.providers.base import Busy, Refused, Unclear
from elicit_flows.lib.http import Reply

_CODES = {400: "bad_request", 404: "not_found", 410: "gone", 422: "unprocessable_entity"}
_FIELD = re.compile(r"[a-z0-9_]{1,90}")


def is_refusal(status: int) -> bool:
    """Whether nothing came of the request. With 409 another one with the same key is still under way, or it looked like
    one that was made before.
    """
    return 400 <= status < 500 and status not in (408, 409, 429)


def is_passing(status: int) -> bool:
    """Whether the same request may do better a moment later."""
    return status in (408, 409) or status >= 500


def refused(reply: Reply) -> Refused:
    """By the status, or by the field that Mollie finds wrong: it has no codes of its own."""
    if reply.status in (401, 403):
        return Refused("authentication_failed", "The payment provider does not accept this account's key.")
    code = _code(reply)
    return Refused(code, f"The payment provider refuses this: {code}.")


def failure(reply: Reply | None, *, unclear: bool) -> Busy | Unclear:
    """``unclear``: some try may have changed something, and its answer is lost."""
    if not unclear:
        return Busy("The payment provider cannot answer now. Try again.")
    replayed = reply is not None and reply.headers.get("idempotent-replayed") == "true"
    stored = replayed and reply is not None and reply.status >= 500
    return Unclear("The payment provider did not say what became of it.", stored=stored)


def _code(reply: Reply) -> str:
    try:
        said = reply.json()
    except ValueError:
        said = None
    field = said.get("field") if isinstance(said, dict) else None
    name = field.lower().replace(".", "_") if isinstance(field, str) else ""
    return f"invalid_{name}" if _FIELD.fullmatch(name) else _CODES.get(reply.status, "invalid_request")
