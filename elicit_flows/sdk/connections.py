"""What users connected: their tokens and secrets, and the end of them."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from datetime import datetime

from elicit_flows.sdk import exchange
from elicit_flows.sdk.outcomes import Outcome
from elicit_flows.sdk.paths import CONNECTIONS, connection_path
from elicit_flows.sdk.shapes import Connection, Token, User, claim
from elicit_flows.sdk.transport import Transport
from elicit_flows.values import Json, Secret


class Connections(ABC):
    """Each is one user's account at one provider, or what they typed, for this agent alone."""

    _transport: Transport

    async def connections(self, user: User | None = None, *, provider: str | None = None) -> list[Connection]:
        """The connections this agent may use, of one user and provider where given."""
        who = claim(user) if user else None
        params = {"iss": who and who.iss, "sub": who and who.sub, "provider": provider}
        given = {name: value for name, value in params.items() if value is not None}
        answer = await self._transport.call("GET", CONNECTIONS, params=given)
        return [Connection.read(body) for body in answer["data"]]

    async def token(
        self, connection: str | Connection | Outcome, *, min_ttl: int | None = None, user_token: str | None = None
    ) -> Token:
        """An access token that is good for ``min_ttl`` more seconds (left out: 60, or a tenth of its life).

        ``user_token``: the user's own access token, for an agent that has to show it; ``min_ttl`` is then the default.
        Raises NotCompleted for an outcome without a connection; ElicitError ``reauthorization_required`` (ask again),
        ``connection_revoked``, ``user_token_required`` or ``user_token_refused``.
        """
        if user_token is not None:
            form = exchange.form(connection, user_token)
            return exchange.read(await self._transport.call("POST", exchange.PATH, data=form))
        body = {} if min_ttl is None else {"min_ttl": min_ttl}
        answer = await self._transport.call("POST", f"{connection_path(connection)}/token", json=body)
        return Token.read(answer)

    async def report(self, connection: str | Connection | Outcome) -> Connection:
        """Say that the provider answered 401 to the token; it is refreshed at once, at most every 30 seconds.

        The connection as it is then: ``active``, take its token and try again; else ask the user again.
        """
        answer = await self._transport.call("POST", f"{connection_path(connection)}/report", json={"status": 401})
        return Connection.read(answer)

    async def proof(
        self,
        connection: str | Connection | Outcome,
        method: str,
        url: str,
        *,
        token: Token | None = None,
        nonce: str | None = None,
    ) -> str:
        """What goes into the header ``DPoP`` of that one request, for a token whose ``token_type`` is DPoP (RFC 9449).

        ``token``: the one that you send with it; when left out, the one of now. ``nonce``: the one that the server
        asked for.
        """
        ath = token.ath if token else None
        said = {"method": method, "url": url, "nonce": nonce, "ath": ath}
        body = {name: value for name, value in said.items() if value is not None}
        answer = await self._transport.call("POST", f"{connection_path(connection)}/proof", json=body)
        return str(answer["dpop"])

    async def secret(
        self, connection: str | Connection | Outcome, *, user_token: str | None = None
    ) -> dict[str, Secret]:
        """What the user typed, by the names that you gave the fields. A ``Secret`` shows itself by ``reveal`` alone.

        ``user_token``: the user's own access token, for an agent that has to show it.
        """
        path = f"{connection_path(connection)}/secret"
        shown = None if user_token is None else {"subject_token": user_token}
        fields: dict[str, str] = (await self._transport.call("POST", path, json=shown))["fields"]
        return {name: Secret(value) for name, value in fields.items()}

    async def revoke(self, connection: str | Connection | Outcome) -> None:
        """End the connection here at once; the service tells the provider."""
        await self._transport.call("DELETE", connection_path(connection))

    async def import_connection(
        self,
        user: User,
        provider: str,
        *,
        access_token: str | None = None,
        refresh_token: str | None = None,
        expires_at: datetime | None = None,
        scopes: Sequence[str] = (),
        account: Mapping[str, str] | None = None,
    ) -> Connection:
        """Bring tokens that the user connected elsewhere, at least one. ``account``: ``{"id", "label"?}``, as the
        provider names it.

        Raises ElicitError 403 for an agent whose operator has not allowed it, and 409 for an account that is connected
        already: it stays as it is.
        """
        who = claim(user)
        said: Json = {
            "access_token": access_token,
            "refresh_token": refresh_token,
            "expires_at": expires_at and expires_at.isoformat(),
            "account": account and dict(account),
        }
        body: Json = {"provider": provider, "subject": {"iss": who.iss, "sub": who.sub}, "scopes": list(scopes)}
        body |= {name: value for name, value in said.items() if value is not None}
        return Connection.read(await self._transport.call("POST", CONNECTIONS, json=body))
