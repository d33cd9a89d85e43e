"""Mollie's library, calling through our guarded dialer and within one deadline.

The library's own transport waits for each try anew, follows redirects, obeys the environment's proxies and .netrc, and
reads every error as if Mollie itself had written it; it sees nothing but answers of success here.
"""

from __future__ import annotations

import io
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import requests
from mollie.api.client import Client
from requests.adapters import BaseAdapter
from requests.structures import CaseInsensitiveDict

from elicit_flows.kinds.payment.providers.base import Refused
from elicit_flows.kinds.payment.providers.mollie import errors
from elicit_flows.kinds.payment.values import Account
from elicit_flows.lib import http

SECONDS = 18.0  # for one verb of the plug-in, all its requests and tries together
TRY_SECONDS = 15.0
TRIES = 3
PAUSE = 0.5  # seconds before the second try, twice that before the third
REPLY_BYTES = 8 * 1024 * 1024  # a page of 250 payments is about half a megabyte
_KEY = re.compile(r"(test|live)_[A-Za-z0-9_]+")  # the library's own message about others shows the key


@dataclass(slots=True)
class Call:
    """When it has to be over (monotonic), whether it changes anything at Mollie, and whether there was a try of which
    nobody knows what came of it.
    """

    ends: float
    changes: bool
    lost: bool = False

    def failure(self, reply: http.Reply | None) -> Exception:
        return errors.failure(reply, unclear=self.changes and self.lost)


_call: ContextVar[Call] = ContextVar("mollie_call")


@contextmanager
def calling(*, changes: bool) -> Iterator[None]:
    """Every request in here ends in time. ``changes``: without it a lost answer is only a lost answer.

    One within another shares its time.
    """
    outer = _call.get(None)
    token = _call.set(Call(outer.ends if outer else time.monotonic() + SECONDS, changes))
    try:
        yield
    finally:
        _call.reset(token)


class Dialer(BaseAdapter):
    """The library's transport. What it raises is ours, and goes through the library as it is."""

    def send(  # the arguments are those of requests
        self,
        request: requests.PreparedRequest,
        stream: bool = False,
        timeout: object = None,
        verify: object = True,
        cert: object = None,
        proxies: Mapping[str, str] | None = None,
    ) -> requests.Response:
        call = _call.get()
        for pause in (*(PAUSE * 2**number for number in range(TRIES - 1)), None):
            reply = _once(call, request)
            if reply is not None and not errors.is_passing(reply.status):
                return _answer(call, request, reply)
            if pause is None or time.monotonic() + pause >= call.ends:
                break
            time.sleep(pause)
        raise call.failure(reply)

    def close(self) -> None:
        """The connections are the process's, not the session's."""


def _once(call: Call, request: requests.PreparedRequest) -> http.Reply | None:
    """One try, with the same idempotency key as the others; None when no answer came. Raises Refused."""
    left = call.ends - time.monotonic()
    if left <= 0:
        raise call.failure(None)
    body = request.body if isinstance(request.body, bytes) else str(request.body or "").encode()
    try:
        reply = http.send(
            str(request.method),
            str(request.url),
            headers={str(name): str(value) for name, value in request.headers.items()},
            body=body,
            deadline=min(left, TRY_SECONDS),
            limit=REPLY_BYTES,
        )
    except http.Refused as refusal:
        raise Refused("not_allowed", f"The payment provider's address is refused: {refusal}") from None
    except http.Unreachable as failure:
        call.lost |= failure.sent
        return None
    if errors.is_refusal(reply.status):
        raise errors.refused(reply)
    call.lost |= reply.status != 429
    return reply


def _answer(call: Call, request: requests.PreparedRequest, reply: http.Reply) -> requests.Response:
    """A success as the library reads it, without its headers: it follows some, and logs our key with another."""
    if not (200 <= reply.status < 300 and _is_object(reply)):
        raise call.failure(reply)
    response = requests.Response()
    response.status_code = reply.status
    response.headers = CaseInsensitiveDict({"Content-Type": "application/hal+json"})
    response.raw = io.BytesIO(reply.body)
    response.url, response.request = str(request.url), request
    return response


def _is_object(reply: http.Reply) -> bool:
    try:
        return reply.status == 204 or isinstance(reply.json(), dict)
    except ValueError:
        return False


def plain(answer: object, *names: str) -> dict[str, Any]:
    """An answer as plain JSON. One that lacks ``names`` is none of Mollie's, and what happened is not known by it."""
    found = dict(answer) if isinstance(answer, dict) else {}
    if any(name not in found for name in names):
        raise _call.get().failure(None)
    return found


@lru_cache(maxsize=64)
def client(account: Account) -> Client:
    """One for each account, safe for many threads. Raises Refused for what cannot be a key of Mollie's."""
    key = account.secret_key.reveal()
    if not _KEY.fullmatch(key):
        raise Refused("authentication_failed", "The account's key is no key of Mollie's: test_… or live_….")
    made = Client(api_endpoint=account.api_base or "")
    made.set_api_key(key)
    made.UNAME = "elicit-flows"  # it would tell Mollie this machine's name
    made._client = requests.Session()
    made._client.trust_env = False
    made._client.headers.clear()
    for scheme in ("https://", "http://"):  # the dialer says where http may go
        made._client.mount(scheme, Dialer())
    return made
