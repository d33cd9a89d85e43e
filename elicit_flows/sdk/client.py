"""The client that agents import: ask a user, wait, use what they gave."""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import AsyncGenerator
from types import TracebackType
from typing import Any, Self, Unpack
from urllib.parse import quote

from elicit_flows.sdk import environment, feed
from elicit_flows.sdk.asking import Asking, Options
from elicit_flows.sdk.errors import NotCompleted
from elicit_flows.sdk.outcomes import Completed, Outcome
from elicit_flows.sdk.shapes import Connection, Elicitation, Event, Token, User, claim
from elicit_flows.sdk.transport import Transport
from elicit_flows.values import Json, Secret

POLL_SECONDS = 25
ELICITATIONS = "/v1/elicitations"
CONNECTIONS = "/v1/connections"
PAYMENTS = "/v1/payments"


class Elicit(Asking):
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
        return await self._get(_id(elicitation), wait, after_seq, None)

    async def wait(self, elicitation: str | Elicitation, *, timeout: float | None = None) -> Elicitation:
        """Wait until it is over, or ``timeout`` seconds have passed: look at ``over``.

        Goes on after lost connections and 503 for ``patience`` seconds each time.
        """
        end = math.inf if timeout is None else time.monotonic() + timeout
        if isinstance(elicitation, str):
            elicitation = await self._get(elicitation, None, None, self._patience)
        seen = elicitation
        while not seen.over and (left := end - time.monotonic()) > 0:
            hold = max(1, math.ceil(min(POLL_SECONDS, left)))
            seen = await self._get(seen.id, hold, seen.seq, min(self._patience, left))
        return seen

    async def cancel(self, elicitation: str | Elicitation) -> Elicitation:
        """Take the question back. Raises ElicitError 409 when it has ended in another way."""
        return Elicitation.read(await self._transport.call("POST", f"{_path(ELICITATIONS, _id(elicitation))}/cancel"))

    def events(self, after: str | None = None, *, stream: bool = True) -> AsyncGenerator[Event, None]:
        """Every event behind the cursor ``after`` (None: from the first), then each as it happens, without end.

        ``stream``: server-sent events; False: long-polling, for networks that hold streams back. Keep
        ``event.cursor`` to go on later.
        """
        follow = feed.stream if stream else feed.poll
        return follow(self._transport, after, self._patience)

    async def connections(self, user: User | None = None, *, provider: str | None = None) -> list[Connection]:
        """The connections this agent may use, of one user and provider where given."""
        who = claim(user) if user else None
        params = {"iss": who and who.iss, "sub": who and who.sub, "provider": provider}
        given = {name: value for name, value in params.items() if value is not None}
        answer = await self._transport.call("GET", CONNECTIONS, params=given)
        return [Connection.read(body) for body in answer["data"]]

    async def complete(self, elicitation: str | Elicitation) -> Elicitation:
        """Say that the user has done what a link was for, where ``completion`` is ``"by_agent"``."""
        return Elicitation.read(await self._transport.call("POST", f"{_path(ELICITATIONS, _id(elicitation))}/complete"))

    async def token(self, connection: str | Connection | Outcome, *, min_ttl: int | None = None) -> Token:
        """An access token that is good for ``min_ttl`` more seconds (the service's default: 60).

        Raises NotCompleted for an outcome without a connection; ElicitError ``reauthorization_required`` (ask again)
        or ``connection_revoked``.
        """
        body = {} if min_ttl is None else {"min_ttl": min_ttl}
        answer = await self._transport.call(
            "POST", f"{_path(CONNECTIONS, _connection_id(connection))}/token", json=body
        )
        return Token.read(answer)

    async def secret(self, connection: str | Connection | Outcome) -> dict[str, Secret]:
        """What the user typed, by the names that you gave the fields. A ``Secret`` shows itself by ``reveal`` alone."""
        path = f"{_path(CONNECTIONS, _connection_id(connection))}/secret"
        fields: dict[str, str] = (await self._transport.call("POST", path))["fields"]
        return {name: Secret(value) for name, value in fields.items()}

    async def revoke(self, connection: str | Connection | Outcome) -> None:
        """End the connection here at once; the service tells the provider."""
        await self._transport.call("DELETE", _path(CONNECTIONS, _connection_id(connection)))

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
        path = f"{_path(PAYMENTS, _payment_id(payment))}/refunds"
        answer: Json = await self._transport.call("POST", path, json=body, headers=headers)
        return answer

    async def _get(self, id: str, wait: int | None, after_seq: int | None, patience: float | None) -> Elicitation:
        params = {name: value for name, value in (("wait", wait), ("after_seq", after_seq)) if value is not None}
        path = _path(ELICITATIONS, id)
        answer = await self._transport.call("GET", path, params=params, patience=patience, hold=wait or 0)
        return Elicitation.read(answer)


def _path(collection: str, id: str) -> str:
    return f"{collection}/{quote(id, safe='')}"


def _id(elicitation: str | Elicitation) -> str:
    return elicitation if isinstance(elicitation, str) else elicitation.id


def _payment_id(payment: str | Outcome) -> str:
    if isinstance(payment, str):
        return payment
    if isinstance(payment, Completed):
        return payment.payment
    raise NotCompleted(payment)


def _connection_id(connection: str | Connection | Outcome) -> str:
    if isinstance(connection, str):
        return connection
    if isinstance(connection, Connection):
        return connection.id
    if isinstance(connection, Completed):
        return connection.connection
    raise NotCompleted(connection)
