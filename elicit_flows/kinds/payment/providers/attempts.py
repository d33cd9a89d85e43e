"""Requests of a provider's library that calls by ``requests``: through our guarded client, within one deadline.

A request is tried again with the same idempotency key. The library sees successful answers only, because each library
reads error bodies in its own way; what is raised here is ours, and passes through it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

import requests

from elicit_flows import http
from elicit_flows.http import for_requests
from elicit_flows.kinds.payment.providers.base import Busy, Refused, Unclear

SECONDS = 18.0  # for one call of the plug-in, with all its requests and attempts
TRY_SECONDS = 15.0
TRIES = 3
PAUSE = 0.5  # seconds before the second try, twice that before the third
REPLY_BYTES = 8 * 1024 * 1024  # a page of 250 payments is about half a megabyte


class Errors(Protocol):
    """How a provider's error bodies are read: a module with these functions."""

    def refused(self, reply: http.Reply) -> Refused:
        """The refusal that this answer is."""

    def failure(self, reply: http.Reply | None, *, unclear: bool) -> Busy | Unclear:
        """``unclear``: an attempt may have changed something, and its answer is lost."""


@dataclass(slots=True)
class Call:
    """The deadline (monotonic), whether the call changes anything at the provider, and whether the answer to an
    attempt was lost.
    """

    ends: float
    changes: bool
    lost: bool = False


_call: ContextVar[Call] = ContextVar("payment_call")


@contextmanager
def calling(*, changes: bool) -> Iterator[None]:
    """A deadline for all requests in the block; a nested block shares the outer one's.

    ``changes``: the requests change something at the provider, so a lost answer is Unclear and not Busy.
    """
    outer = _call.get(None)
    token = _call.set(Call(outer.ends if outer else time.monotonic() + SECONDS, changes))
    try:
        yield
    finally:
        _call.reset(token)


class Attempts(for_requests.Transport):
    """The transport for a library's session. It sends within ``calling`` alone."""

    def __init__(self, errors: Errors) -> None:
        super().__init__()
        self.errors = errors

    def answer_to(self, request: requests.PreparedRequest) -> http.Reply:
        call = _call.get()
        for pause in (*(PAUSE * 2**number for number in range(TRIES - 1)), None):
            reply = self._once(call, request)
            if reply is not None and not is_passing(reply.status):
                try:
                    good = 200 <= reply.status < 300 and (reply.status == 204 or isinstance(reply.json(), dict))
                except ValueError:
                    good = False
                if not good:
                    raise self.failure(reply)
                return reply
            if pause is None or time.monotonic() + pause >= call.ends:
                break
            time.sleep(pause)
        raise self.failure(reply)

    def failure(self, reply: http.Reply | None = None) -> Busy | Unclear:
        """The error of the call under way, whose result is not known."""
        call = _call.get()
        return self.errors.failure(reply, unclear=call.changes and call.lost)

    def _once(self, call: Call, request: requests.PreparedRequest) -> http.Reply | None:
        """One attempt, with the idempotency key of the others; None if no answer came. Raises Refused."""
        left = call.ends - time.monotonic()
        if left <= 0:
            raise self.failure()
        try:
            reply = for_requests.sent(request, deadline=min(left, TRY_SECONDS), limit=REPLY_BYTES)
        except http.Refused as refusal:
            raise Refused("not_allowed", f"The payment provider's address is refused: {refusal}") from None
        except http.Unreachable as failure:
            call.lost |= failure.sent
            return None
        if 400 <= reply.status < 500 and not (is_passing(reply.status) or reply.status == 429):
            raise self.errors.refused(reply)  # the request had no effect
        call.lost |= reply.status != 429
        return reply


def is_passing(status: int) -> bool:
    """Whether the same request may succeed a moment later. 409: another one with the same key may be running."""
    return status in (408, 409) or status >= 500
