"""Stripe's errors as our exceptions. Stripe's own messages are not shown, because they may quote keys and
parameters.
"""

from __future__ import annotations

import re

import stripe

from elicit_flows.kinds.payment.providers.base import Busy, PaymentError, Refused, Unclear

STALE_KEY = "idempotency_error"
CODE = re.compile(r"[a-z0-9_]{1,100}")


def translated(error: stripe.StripeError, *, unclear: bool) -> PaymentError:
    """``unclear``: an attempt may have changed something, and its answer is lost."""
    if isinstance(error, stripe.AuthenticationError | stripe.PermissionError):
        return Refused("authentication_failed", "The payment provider does not accept this account's key.")
    if isinstance(error, stripe.IdempotencyError):
        return Refused(STALE_KEY, "This idempotency key was used for another request.")
    if isinstance(error, stripe.APIConnectionError | stripe.RateLimitError) or not is_refusal(error.http_status):
        if not unclear:
            return Busy("The payment provider is not available. Try again.")
        # Stripe stores the first answer under a key, even a 500 (docs.stripe.com/api/idempotent_requests).
        replayed = (error.headers or {}).get("idempotent-replayed") == "true"
        stored = error.http_status == 500 or (replayed and (error.http_status or 0) >= 500)
        return Unclear("The payment provider did not report a result.", stored=stored)
    code = error.code if error.code and CODE.fullmatch(error.code) else "invalid_request"
    return Refused(code, f"The payment provider refused the request: {code}.")


def is_refusal(status: int | None) -> bool:
    """Whether the request had no effect. 409 is none: another request with the same key may still be running."""
    return status is not None and 400 <= status < 500 and status not in (408, 409)
