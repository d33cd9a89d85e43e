"""Stripe's SDK, calling through our guarded dialer and within one deadline.

The SDK's own transports wait for each try anew, follow redirects and obey the environment's proxies and .netrc.
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

from elicit_flows.kinds.payment.providers.base import Refused
from elicit_flows.kinds.payment.providers.stripe.errors import is_refusal, translated
from elicit_flows.kinds.payment.values import Account
from elicit_flows.lib import http

SECONDS = 18.0  # for one verb of the plug-in, all its requests and tries together
TRY_SECONDS = 15.0
TRIES = 3
REPLY_BYTES = 8 * 1024 * 1024  # a page of 100 sessions is about half a megabyte

stripe.enable_telemetry = False  # it would keep an id below the home directory and send how long our calls took
logging.getLogger("stripe").setLevel(logging.WARNING)  # below that it writes Stripe's messages and our parameters


@dataclass(slots=True)
class Call:
    """When it has to be over (monotonic), and whether there was a try of which nobody knows what came of it."""

    ends: float
    lost: bool = False


_call: ContextVar[Call | None] = ContextVar("stripe_call", default=None)


@contextmanager
def calling(*, changes: bool) -> Iterator[None]:
    """Every request in here ends in time, and Stripe's errors come out as Refused, Busy or Unclear.

    ``changes``: something may have happened when no answer came; without it a lost answer is only a lost answer.
    One within another shares its time.
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
    """The SDK's transport. Its retries stay the SDK's: the same request with the same idempotency key."""

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
            raise _no_answer("There is no time left for another try.", again=False)
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
        """The connections are the process's, not the client's."""


def plain(answer: object, *names: str) -> dict[str, Any]:
    """An answer as plain JSON. One that lacks ``names`` is none of Stripe's, and what happened is not known by it."""
    found = answer.to_dict() if isinstance(answer, stripe.StripeObject) else {}
    if any(name not in found for name in names):
        raise stripe.APIError("The answer cannot be read.")
    return found


def _no_answer(message: str, *, again: bool) -> stripe.APIConnectionError:
    return stripe.APIConnectionError(message, should_retry=again)  # type: ignore[no-untyped-call]


@lru_cache(maxsize=64)
def client(account: Account) -> stripe.StripeClient:
    """One for each account, safe for many threads."""
    addresses: Any = {"api": account.api_base} if account.api_base else None
    return stripe.StripeClient(
        account.secret_key.reveal(),
        base_addresses=addresses,
        max_network_retries=TRIES - 1,
        http_client=Dialer(),
    )
