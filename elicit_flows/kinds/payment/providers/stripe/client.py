"""Stripe's SDK, which calls through our guarded HTTP client and within one deadline.

The SDK's own transports give each attempt its own time-out, follow redirects and obey the environment's proxies and
.netrc.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import stripe

from elicit_flows import http
from elicit_flows.kinds.payment.providers.base import Refused
from elicit_flows.kinds.payment.providers.stripe.errors import is_refusal, translated
from elicit_flows.kinds.payment.values import Account

SECONDS = 18.0  # for one call of the plug-in, with all its requests and attempts
TRY_SECONDS = 15.0
TRIES = 3
REPLY_BYTES = 8 * 1024 * 1024  # a page of 100 sessions is about half a megabyte

stripe.enable_telemetry = False  # it stores an id in the home directory and sends the duration of our calls
logging.getLogger("stripe").setLevel(logging.WARNING)  # lower levels log Stripe's messages and our parameters


@dataclass(slots=True)
class Call:
    """The deadline (monotonic), and whether the answer to an attempt was lost."""

    ends: float
    lost: bool = False


_call: ContextVar[Call | None] = ContextVar("stripe_call", default=None)


@contextmanager
def calling(*, changes: bool) -> Iterator[None]:
    """A deadline for all requests in the block; Stripe's errors become Refused, Busy or Unclear.

    ``changes``: the requests change something at Stripe, so a lost answer is Unclear and not Busy. A nested block
    shares the outer one's deadline.
    """
    outer = _call.get()
    call = Call(outer.ends if outer else time.monotonic() + SECONDS)
    token = _call.set(call)
    try:
        yield
    except stripe.StripeError as error:
        raise translated(error, unclear=changes and call.lost) from None
    finally:
        _call.reset(token)


class Dialer(stripe.HTTPClient):
    """The SDK's transport. The SDK itself retries: the same request with the same idempotency key."""

    name = "elicit-flows"

    def request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str] | None,
        post_data: Any = None,
        *,
        _usage: list[str] | None = None,
    ) -> tuple[str, int, Mapping[str, str]]:
        call = _call.get() or Call(time.monotonic() + SECONDS)
        left = call.ends - time.monotonic()
        if left <= 0:
            raise _no_answer("There is no time left for another attempt.", again=False)
        body = (post_data or "").encode()
        try:
            reply = http.send(
                method.upper(), url, headers=headers, body=body, deadline=min(left, TRY_SECONDS), limit=REPLY_BYTES
            )
        except http.Refused as refusal:
            raise Refused("not_allowed", f"The payment provider's address is refused: {refusal}") from None
        except http.Unreachable as failure:
            call.lost |= failure.sent
            raise _no_answer(str(failure), again=True) from None
        call.lost |= not is_refusal(reply.status)
        return reply.body.decode("utf-8", "replace"), reply.status, reply.headers

    def close(self) -> None:
        """Nothing to close: the connections belong to the process, not to the client."""


def plain(answer: object, *names: str) -> dict[str, Any]:
    """An answer as plain JSON. If one of ``names`` is missing, the answer is not Stripe's, and the result is
    unknown.
    """
    found = answer.to_dict() if isinstance(answer, stripe.StripeObject) else {}
    if any(name not in found for name in names):
        raise stripe.APIError("The answer cannot be read.")
    return found


def _no_answer(message: str, *, again: bool) -> stripe.APIConnectionError:
    return stripe.APIConnectionError(message, should_retry=again)  # type: ignore[no-untyped-call]


@lru_cache(maxsize=64)
def client(account: Account) -> stripe.StripeClient:
    """One client for each account, safe for threads."""
    addresses: Any = {"api": account.api_base} if account.api_base else None
    return stripe.StripeClient(
        account.secret_key.reveal(),
        base_addresses=addresses,
        stripe_account=account.connected_account or None,
        max_network_retries=TRIES - 1,
        http_client=Dialer(),
    )
