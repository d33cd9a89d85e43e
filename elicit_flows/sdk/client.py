"""``Elicit``, the client that agents import."""

from __future__ import annotations

import asyncio
import math
import time
import uuid
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from copy import copy
from types import TracebackType
from typing import Any, Self, Unpack

import httpx2

from elicit_flows.domain.values import Json
from elicit_flows.sdk import environment, feed
from elicit_flows.sdk.asking import Asking
from elicit_flows.sdk.connections import Connections
from elicit_flows.sdk.drafts import Drafts
from elicit_flows.sdk.mandates import Mandates
from elicit_flows.sdk.notes import Notes
from elicit_flows.sdk.outcomes import Outcome
from elicit_flows.sdk.paths import (
    AGENT,
    ELICITATIONS,
    PAYMENTS,
    elicitation_id,
    elicitation_path,
    payment_path,
)
from elicit_flows.sdk.proxied import Proxied
from elicit_flows.sdk.questions import Options
from elicit_flows.sdk.shapes import Elicitation, Event, GivenAnswer, User, UserCode, claim
from elicit_flows.sdk.subscriptions import Subscriptions
from elicit_flows.sdk.transport import TIMEOUT, OnResponse, Transport
from elicit_flows.sdk.x402 import Paying

POLL_SECONDS = 25
PAGE = 100


class Elicit(Asking, Connections, Drafts, Mandates, Notes, Paying, Proxied, Subscriptions):
    """One agent at one service.

    ``url`` defaults to ELICIT_URL, ``api_key`` to ELICIT_API_KEY or the file var/demo.key. ``retry_for`` is the number
    of seconds for which a waiting call goes on while the service cannot be reached.

    Other calls are retried up to 5 times within 5 seconds. A service that is away, as when it restarts, is waited
    for up to 30 seconds; ``max_retries`` limits the attempts of both. A pause that the service asks for
    (Retry-After) of up to 30 seconds is waited for in addition. ``timeout`` is in seconds: the time to connect, and
    the longest silence within an answer. ``http_client`` is an ``httpx2.AsyncClient`` of your own, for proxies or
    certificates; ``aclose`` does not close it. ``on_response`` is called with each ``httpx2.Response`` of the
    service as it came, refused and retried ones too, but not with the stream of events.

    Every call raises ElicitError when the service refuses it or cannot be reached.
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        retry_for: float = 300.0,
        timeout: float = TIMEOUT,
        max_retries: int | None = None,
        http_client: httpx2.AsyncClient | None = None,
        on_response: OnResponse | None = None,
    ) -> None:
        self._transport = Transport(
            environment.service_url(url),
            environment.api_key(api_key),
            retry_for,
            timeout=timeout,
            max_retries=max_retries,
            http_client=http_client,
            on_response=on_response,
        )
        self._retry_for = retry_for

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the HTTP client, unless it was given as ``http_client``."""
        await self._transport.aclose()

    def with_options(
        self,
        *,
        timeout: float | None = None,
        max_retries: int | None = None,
        retry_for: float | None = None,
        on_response: OnResponse | None = None,
    ) -> Self:
        """Return a client with these settings changed, for single calls: ``elicit.with_options(timeout=2).get(…)``.

        It shares the connections with this one, which you close.
        """
        changed = copy(self)
        changed._transport = self._transport.having(
            timeout=timeout, max_retries=max_retries, retry_for=retry_for, on_response=on_response
        )
        changed._retry_for = self._retry_for if retry_for is None else retry_for
        return changed

    # Plain calls.

    async def create(
        self, kind: str, user: User, params: Json, *, message: str, **options: Unpack[Options]
    ) -> Elicitation:
        """Create an elicitation of ``kind`` for ``user``, and return at once. ``options``: see ``Options``.

        Without an ``idempotency_key`` a random one is sent, so a retry after a lost answer does not ask twice.
        """
        rest: dict[str, Any] = {**options}
        key = rest.pop("idempotency_key", None) or uuid.uuid4().hex
        if "return_" in rest:
            rest["return"] = rest.pop("return_")
        who = claim(user)
        body = {"kind": kind, "subject": {"iss": who.iss, "sub": who.sub}, "message": message, "params": params, **rest}
        headers = {"Idempotency-Key": key}
        return await self._transport.fetch(Elicitation.read, "POST", ELICITATIONS, json=body, headers=headers)

    async def get(
        self, elicitation: str | Elicitation, *, wait: int | None = None, after_seq: int | None = None
    ) -> Elicitation:
        """Return the elicitation as it is now, or, with ``wait`` (seconds), as soon as its ``seq`` is above
        ``after_seq``.
        """
        return await self._get(elicitation, wait, after_seq, None)

    async def wait(self, elicitation: str | Elicitation, *, timeout: float | None = None) -> Elicitation:
        """Wait until the elicitation is over, or until ``timeout`` seconds have passed; ``over`` says which.

        None waits without end. After a lost connection or a 503 the wait goes on for up to ``retry_for`` seconds. When
        an id is given, the first look at it may take a second even if ``timeout`` is shorter.
        """
        end = math.inf if timeout is None else time.monotonic() + timeout
        if isinstance(elicitation, str):
            try:
                async with asyncio.timeout(None if timeout is None else max(timeout, 1.0)):
                    seen = await self._get(elicitation, None, None, self._retry_for)
            except TimeoutError as error:
                raise self._transport.unreachable(error) from error
        else:
            seen = elicitation
        with suppress(TimeoutError):
            while not seen.over and (left := end - time.monotonic()) > 0:
                async with asyncio.timeout(None if math.isinf(left) else left):
                    hold = math.ceil(min(POLL_SECONDS, left))
                    seen = await self._get(seen, hold, seen.seq, self._retry_for)
        return seen

    async def cancel(self, elicitation: str | Elicitation) -> Elicitation:
        """Cancel the question. Raises ConflictError when it has ended in another way."""
        return await self._transport.fetch(Elicitation.read, "POST", f"{elicitation_path(elicitation)}/cancel")

    async def user_code(self, elicitation: str | Elicitation) -> UserCode:
        """Return a code that the user can type on another device, for a user who has no browser where they read it.

        Raises ConflictError ``already_over``.
        """
        return await self._transport.fetch(UserCode.read, "POST", f"{elicitation_path(elicitation)}/code")

    async def elicitations(
        self, user: User | None = None, *, status: str | None = None
    ) -> AsyncGenerator[Elicitation, None]:
        """This agent's elicitations, newest first; only those of ``user`` and with ``status``, if given."""
        who = claim(user) if user else None
        query = {"iss": who and who.iss, "sub": who and who.sub, "status": status, "limit": PAGE}
        async with aclosing(self._transport.pages(Elicitation.read, ELICITATIONS, query, self._retry_for)) as found:
            async for one in found:
                yield one

    def events(self, after: str | None = None, *, stream: bool = True) -> AsyncGenerator[Event, None]:
        """Every event after the cursor ``after`` (None: from the first), then each new one as it happens, without end.

        ``stream``: True uses server-sent events, False uses long-polling, for networks that buffer streams. Store
        ``event.cursor`` to go on from there after a restart.
        """
        follow = feed.stream if stream else feed.poll
        return follow(self._transport, after, self._retry_for)

    async def newest(self) -> str:
        """Return the cursor of the newest event. Pass it to ``events`` to receive only events that happen from
        now on.
        """
        said = {"after": "latest"}
        return await self._transport.fetch(lambda page: str(page["cursor"]), "GET", feed.PATH, params=said)

    async def agent(self) -> Json:
        """Return what this agent is and may ask, as ``GET /v1/agent`` answers it: kinds, providers, accounts,
        limits.
        """
        return await self._transport.fetch(dict, "GET", AGENT)

    async def payments(
        self, user: User | None = None, *, status: str | None = None, elicitation: str | Elicitation | None = None
    ) -> AsyncGenerator[Json, None]:
        """This agent's payments, newest first; only those of ``user``, with ``status`` or of ``elicitation``,
        if given.
        """
        who = claim(user) if user else None
        asked_by = None if elicitation is None else elicitation_id(elicitation)
        query = {"iss": who and who.iss, "sub": who and who.sub, "status": status, "elicitation": asked_by}
        async with aclosing(self._transport.pages(dict, PAYMENTS, query | {"limit": PAGE}, self._retry_for)) as found:
            async for one in found:
                yield one

    async def complete(
        self, elicitation: str | Elicitation, answers: Mapping[str, GivenAnswer] | None = None
    ) -> Elicitation:
        """Complete a ``"by_agent"`` link, or submit a form.

        ``answers`` maps a question to its answer. What was submitted to the form's shared draft is sent with them.
        Raises ConflictError ``not_submitted`` while a required question of the form has no submitted answer.
        """
        body = {"answers": dict(answers)} if answers else None
        path = f"{elicitation_path(elicitation)}/complete"
        return await self._transport.fetch(Elicitation.read, "POST", path, json=body)

    async def consume(self, elicitation: str | Elicitation, *, key: str | None = None) -> Elicitation:
        """Claim the result before you act on it: of several calls exactly one succeeds.

        The next ``create`` under the elicitation's idempotency key then asks anew. ``key`` identifies this one run, so
        that the call can be repeated; never use a key that a replay by your client would send again.

        Raises ConflictError ``already_consumed`` when another run has claimed it, and then you must not act;
        ``not_over`` while the question is open.
        """
        headers = {"Idempotency-Key": key or uuid.uuid4().hex}
        path = f"{elicitation_path(elicitation)}/consume"
        return await self._transport.fetch(Elicitation.read, "POST", path, headers=headers)

    async def refund(
        self,
        payment: str | Outcome,
        *,
        amount: int | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> Json:
        """Refund ``amount`` minor units of a payment; None refunds all that is left.

        ``payment`` is its id or the outcome of the question. ``reason`` is passed on with the refund. The refund may be
        ``pending`` at first; an event reports its end. Raises NotCompleted for an outcome without a payment.
        """
        body = {name: value for name, value in (("amount", amount), ("reason", reason)) if value is not None}
        headers = {"Idempotency-Key": idempotency_key or uuid.uuid4().hex}
        path = f"{payment_path(payment)}/refunds"
        return await self._transport.fetch(dict, "POST", path, json=body, headers=headers)

    async def _get(
        self, elicitation: str | Elicitation, wait: int | None, after_seq: int | None, retry_for: float | None
    ) -> Elicitation:
        params = {name: value for name, value in (("wait", wait), ("after_seq", after_seq)) if value is not None}
        path = elicitation_path(elicitation)
        return await self._transport.fetch(
            Elicitation.read, "GET", path, params=params, retry_for=retry_for, hold=wait or 0
        )
