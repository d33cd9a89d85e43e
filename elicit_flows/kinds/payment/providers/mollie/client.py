"""Mollie's library, which calls through our guarded HTTP client and within one deadline.

The library by itself treats every error body as Mollie's. Here it sees successful answers only.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import requests
from mollie.api.client import Client

from elicit_flows import http
from elicit_flows.http import for_requests
from elicit_flows.kinds.payment.providers.base import Refused
from elicit_flows.kinds.payment.providers.mollie import errors
from elicit_flows.kinds.payment.values import Account

SECONDS = 18.0  # for one call of the plug-in, with all its requests and attempts
TRY_SECONDS = 15.0
TRIES = 3
PAUSE = 0.5  # seconds before the second try, twice that before the third
REPLY_BYTES = 8 * 1024 * 1024  # a page of 250 payments is about half a megabyte
_KEY = re.compile(r"(test|live)_[A-Za-z0-9_]+")  # checked here because the library's own error shows the key


@dataclass(slots=True)
class Call:
    """The deadline (monotonic), whether the call changes anything at Mollie, and whether the answer to an attempt was
    lost.
    """

    ends: float
    changes: bool
    lost: bool = False

    def failure(self, reply: http.Reply | None) -> Exception:
        return errors.failure(reply, unclear=self.changes and self.lost)


_call: ContextVar[Call] = ContextVar("mollie_call")


@contextmanager
def calling(*, changes: bool) -> Iterator[None]:
    """A deadline for all requests in the block; a nested block shares the outer one's.

    ``changes``: the requests change something at Mollie, so a lost answer is Unclear and not Busy.
    """
    outer = _call.get(None)
    token = _call.set(Call(outer.ends if outer else time.monotonic() + SECONDS, changes))
    try:
        yield
    finally:
        _call.reset(token)


class ToMollie(for_requests.Transport):
    def answer_to(self, request: requests.PreparedRequest) -> http.Reply:
        """The library's transport. It sees successful answers only; what this raises is ours, and passes through it."""
        call = _call.get()
        for pause in (*(PAUSE * 2**number for number in range(TRIES - 1)), None):
            reply = _once(call, request)
            if reply is not None and not errors.is_passing(reply.status):
                if not (200 <= reply.status < 300 and _is_object(reply)):
                    raise call.failure(reply)
                return reply
            if pause is None or time.monotonic() + pause >= call.ends:
                break
            time.sleep(pause)
        raise call.failure(reply)


def _once(call: Call, request: requests.PreparedRequest) -> http.Reply | None:
    """One attempt, with the idempotency key of the others; None if no answer came. Raises Refused."""
    left = call.ends - time.monotonic()
    if left <= 0:
        raise call.failure(None)
    try:
        reply = for_requests.sent(request, deadline=min(left, TRY_SECONDS), limit=REPLY_BYTES)
    except http.Refused as refusal:
        raise Refused("not_allowed", f"The payment provider's address is refused: {refusal}") from None
    except http.Unreachable as failure:
        call.lost |= failure.sent
        return None
    if errors.is_refusal(reply.status):
        raise errors.refused(reply)
    call.lost |= reply.status != 429
    return reply


def _is_object(reply: http.Reply) -> bool:
    try:
        return reply.status == 204 or isinstance(reply.json(), dict)
    except ValueError:
        return False


def plain(answer: object, *names: str) -> dict[str, Any]:
    """An answer as plain JSON. If one of ``names`` is missing, the answer is not Mollie's, and the result is
    unknown.
    """
    found = dict(answer) if isinstance(answer, dict) else {}
    if any(name not in found for name in names):
        raise _call.get().failure(None)
    return found


@lru_cache(maxsize=64)
def client(account: Account) -> Client:
    """One client for each account, safe for threads. Raises Refused for a key that cannot be Mollie's."""
    key = account.secret_key.reveal()
    if not _KEY.fullmatch(key):
        raise Refused(
            "authentication_failed", "The account's key is not a Mollie key, which begins with test_ or live_."
        )
    made = Client(api_endpoint=account.api_base or "")
    made.set_api_key(key)
    made.UNAME = "elicit-flows"  # by default the library sends this machine's name
    made._client = for_requests.guarded_session(ToMollie())
    return made
