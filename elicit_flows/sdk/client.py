"""The client that agents import: ask a user, wait, use what they gave."""

from __future__ import annotations

import asyncio
import math
import time
import uuid
from collections.abc import AsyncGenerator
from contextlib import suppress
from types import TracebackType
from typing import Any, Self, Unpack

from elicit_flows.sdk import environment, feed
from elicit_flows.sdk.asking import Asking
from elicit_flows.sdk.connections import Connections
from elicit_flows.sdk.drafts import Drafts
from elicit_flows.sdk.notes import Notes
from elicit_flows.sdk.outcomes import Outcome
from elicit_flows.sdk.paths import (
    ELICITATIONS,
    elicitation_path,
    payment_path,
)
from elicit_flows.sdk.questions import Options
from elicit_flows.sdk.shapes import Elicitation, Event, User, UserCode, claim
from elicit_flows.sdk.transport import Transport
from elicit_flows.values import Json

POLL_SECONDS = 25
PAGE = 100


class Elicit(Asking, Connections, Drafts, Notes):
    """One agent at one service.

    ``url`` defaults to ELICIT_URL, ``api_key`` to ELICIT_API_KEY or var/demo.key. ``patience``: seconds for which
    waiting goes on while the service cannot be reached; other calls give up after 5 at most. Every call raises
    ElicitError when it is refused.
    """

    def __init__(self, url: str | None = None, api_key: str | None = None, *, patience: float = 300.0) -> None:
        self._transport = Transport(environment.service_url(url), environment.api_key(api_key), patience)
        self._patience = patience

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._transport.http.aclose()

    # Plain calls.

    async def create(
        self, kind: str, user: User, params: Json, *, message: str, **options: Unpack[Options]
    ) -> Elicitation:
        """Create an elicitation and return at once; a lost answer is asked for again under the same key."""
        rest: dict[str, Any] = {**options}
        key = rest.pop("idempotency_key", None) or uuid.uuid4().hex
        who = claim(user)
        body = {"kind": kind, "subject": {"iss": who.iss, "sub": who.sub}, "message": message, "params": params, **rest}
        answer = await self._transport.call("POST", ELICITATIONS, json=body, headers={"Idempotency-Key": key})
        return Elicitation.read(answer)

    async def get(
        self, elicitation: str | Elicitation, *, wait: int | None = None, after_seq: int | None = None
    ) -> Elicitation:
        """The elicitation as it stands; with ``wait`` (seconds), as soon as its ``seq`` is above ``after_seq``."""
        return await self._get(elicitation, wait, after_seq, None)

    async def wait(self, elicitation: str | Elicitation, *, timeout: float | None = None) -> Elicitation:
        """Wait until it is over, or ``timeout`` seconds have passed: look at ``over``.

        Goes on after lost connections and 503 for ``patience`` seconds each time. An id is looked at for a second in
        any case.
        """
        end = math.inf if timeout is None else time.monotonic() + timeout
        seen = await self._first(elicitation, timeout) if isinstance(elicitation, str) else elicitation
        with suppress(TimeoutError):
            while not seen.over and (left := end - time.monotonic()) > 0:
                async with asyncio.timeout(None if math.isinf(left) else left):
                    hold = math.ceil(min(POLL_SECONDS, left))
                    seen = await self._get(seen, hold, seen.seq, self._patience)
        return seen

    async def cancel(self, elicitation: str | Elicitation) -> Elicitation:
        """Take the question back. Raises ElicitError 409 when it has ended in another way."""
        return Elicitation.read(await self._transport.call("POST", f"{elicitation_path(elicitation)}/cancel"))

    async def user_code(self, elicitation: str | Elicitation) -> UserCode:
        """The link as a code, for a user who has no browser where they read it: they type it on another device.

        Raises ElicitError 409 ``already_over``.
        """
        return UserCode.read(await self._transport.call("POST", f"{elicitation_path(elicitation)}/code"))

    async def elicitations(
        self, user: User | None = None, *, status: str | None = None
    ) -> AsyncGenerator[Elicitation, None]:
        """This agent's elicitations, newest first; those of one user and in one status where given."""
        who = claim(user) if user else None
        params: dict[str, Any] = {"iss": who and who.iss, "sub": who and who.sub, "status": status, "limit": PAGE}
        given = {name: value for name, value in params.items() if value is not None}
        while True:
            answer = await self._transport.call("GET", ELICITATIONS, params=given, patience=self._patience)
            for body in answer["data"]:
                yield Elicitation.read(body)
            if answer["next_cursor"] is None:
                return
            given["cursor"] = answer["next_cursor"]

    def events(self, after: str | None = None, *, stream: bool = True) -> AsyncGenerator[Event, None]:
        """Every event behind the cursor ``after`` (None: from the first), then each as it happens, without end.

        ``stream``: server-sent events; False: long-polling, for networks that hold streams back. Keep
        ``event.cursor`` to go on later.
        """
        follow = feed.stream if stream else feed.poll
        return follow(self._transport, after, self._patience)

    async def newest(self) -> str:
        """The cursor behind the newest event, for who wants to hear of those alone that are still to come."""
        return str((await self._transport.call("GET", feed.PATH, params={"after": "latest"}))["cursor"])

    async def complete(self, elicitation: str | Elicitation) -> Elicitation:
        """Say that the user has done what a ``"by_agent"`` link was for, or send a form's draft as it is.

        Raises ElicitError 409 ``not_submitted`` while a required question of the form has no submitted answer.
        """
        return Elicitation.read(await self._transport.call("POST", f"{elicitation_path(elicitation)}/complete"))

    async def consume(self, elicitation: str | Elicitation, *, key: str | None = None) -> Elicitation:
        """Say that you act on what it came to now: of many calls one returns. The next create under its key asks anew.

        Raises ElicitError 409 ``already_consumed``, and then you must not act; ``not_over`` while it is open. ``key``:
        the name of this one run, to repeat the call under; never one that your client's replay would come with again.
        """
        headers = {"Idempotency-Key": key or uuid.uuid4().hex}
        path = f"{elicitation_path(elicitation)}/consume"
        return Elicitation.read(await self._transport.call("POST", path, headers=headers))

    async def refund(
        self,
        payment: str | Outcome,
        *,
        amount: int | None = None,
        reason: str | None = None,
        idempotency_key: str | None = None,
    ) -> Json:
        """Give back ``amount`` minor units, or what is left. It may be ``pending`` at first: an event tells the end."""
        body = {name: value for name, value in (("amount", amount), ("reason", reason)) if value is not None}
        headers = {"Idempotency-Key": idempotency_key or uuid.uuid4().hex}
        path = f"{payment_path(payment)}/refunds"
        answer: Json = await self._transport.call("POST", path, json=body, headers=headers)
        return answer

    async def _first(self, id: str, timeout: float | None) -> Elicitation:
        try:
            async with asyncio.timeout(None if timeout is None else max(timeout, 1.0)):
                return await self._get(id, None, None, self._patience)
        except TimeoutError as error:
            raise self._transport.unreachable(error) from error

    async def _get(
        self, elicitation: str | Elicitation, wait: int | None, after_seq: int | None, patience: float | None
    ) -> Elicitation:
        params = {name: value for name, value in (("wait", wait), ("after_seq", after_seq)) if value is not None}
        path = elicitation_path(elicitation)
        return Elicitation.read(
            await self._transport.call("GET", path, params=params, patience=patience, hold=wait or 0)
        )
