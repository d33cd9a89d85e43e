"""PayPal's errors as our exceptions (developer.paypal.com/api/rest/responses/#error-messages).

PayPal's own sentences are not shown, because they may quote parameters.
"""

from __future__ import annotations

import re

from elicit_flows.http import Reply
from elicit_flows.kinds.payment.providers.base import Busy, Refused, Unclear
from elicit_flows.kinds.payment.providers.parts import text

_CODES = {400: "bad_request", 403: "not_authorized", 404: "not_found", 422: "unprocessable_entity"}
_ISSUE = re.compile(r"[A-Z0-9_]{1,90}")


def refused(reply: Reply) -> Refused:
    """The refusal, named after PayPal's issue: ``instrument_declined``. Code ``unauthorized``: of the token."""
    if reply.status == 401:
        return Refused("unauthorized", "The payment provider does not accept this account's client id and secret.")
    if reply.status == 404:  # whatever the issue
        return Refused("not_found", "The payment provider knows no such thing.")
    try:
        said = reply.json()
    except ValueError:
        said = None
    details = said.get("details") if isinstance(said, dict) else None
    first = details[0] if isinstance(details, list) and details else None
    issue = text(first.get("issue")) if isinstance(first, dict) else ""
    code = issue.lower() if _ISSUE.fullmatch(issue) else _CODES.get(reply.status, "invalid_request")
    return Refused(code, f"The payment provider refused the request: {code}.")


def failure(reply: Reply | None, *, unclear: bool) -> Busy | Unclear:
    """A repeated key gets the latest status of what it did, so no useless answer is stored under it."""
    if unclear:
        return Unclear("The payment provider did not report a result.")
    return Busy("The payment provider is not available. Try again.")
