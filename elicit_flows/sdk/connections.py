"""What users have connected: tokens, secrets and revocation."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterable, Mapping
from contextlib import aclosing
from datetime import datetime

from elicit_flows.domain.values import Json, Secret
from elicit_flows.sdk import exchange
from elicit_flows.sdk.outcomes import Outcome
from elicit_flows.sdk.paths import CONNECTIONS, connection_path
from elicit_flows.sdk.shapes import Connection, Installation, Token, User, claim, strings
from elicit_flows.sdk.transport import Transport

PAGE = 100


class Connections(ABC):
    """Calls on connections. A connection is one user's account at one provider, or what they typed, for this agent
    only.
    """

    _transport: Transport

    async def connections(self, user: User | None = None, *, provider: str | None = None) -> list[Connection]:
        """The connections that this agent may use; only those of ``user`` and at ``provider``, if given."""
        who = claim(user) if user else None
        query = {"iss": who and who.iss, "sub": who and who.sub, "provider": provider, "limit": PAGE}
        async with aclosing(self._transport.pages(Connection.read, CONNECTIONS, query)) as found:
            return [one async for one in found]

    async def connection(self, connection: str | Connection | Outcome) -> Connection:
        """Return the connection as it is now, also after it was revoked. Reading does not refresh its token."""
        return await self._transport.fetch(Connection.read, "GET", connection_path(connection))

    async def token(
        self,
        connection: str | Connection | Outcome,
        *,
        min_ttl: int | None = None,
        user_token: str | None = None,
        scope_set: str | None = None,
        installation: Installation | None = None,
    ) -> Token:
        """Return an access token that is valid for at least ``min_ttl`` more seconds (default: 60, or a tenth of its
        lifetime).

        ``user_token`` is the user's own access token, for an agent that has to show it; nothing else can be given with
        it. ``scope_set``: the token for scopes that begin with this name, such as Slack's ``user``. ``installation``: a
        token of an app's installation, such as a GitHub App's, for repositories that the user reaches.

        Raises NotCompleted for an outcome without a connection, and ElicitError with the code
        ``reauthorization_required`` (ask the user again), ``connection_revoked``, ``user_token_required``,
        ``user_token_refused``, ``invalid_scope`` (no such scopes) or ``forbidden`` (the user does not reach that).
        """
        given = {"min_ttl": min_ttl, "scope_set": scope_set, "installation": installation}
        body = {name: value for name, value in given.items() if value is not None}
        if user_token is None:
            return await self._transport.fetch(Token.read, "POST", f"{connection_path(connection)}/token", json=body)
        form = exchange.form(connection, user_token)
        return await self._transport.fetch(exchange.read, "POST", exchange.PATH, data=form)

    async def report(self, connection: str | Connection | Outcome) -> Connection:
        """Report that the provider answered 401 to the token. It is refreshed at once, at most every 30 seconds.

        Returns the connection after that. If its status is ``active``, fetch its token and try again; if not, ask the
        user again.
        """
        path, said = f"{connection_path(connection)}/report", {"status": 401}
        return await self._transport.fetch(Connection.read, "POST", path, json=said)

    async def proof(
        self,
        connection: str | Connection | Outcome,
        method: str,
        url: str,
        *,
        token: Token | None = None,
        nonce: str | None = None,
        user_token: str | None = None,
    ) -> str:
        """Return the value of the ``DPoP`` header for one request, for a token whose ``token_type`` is DPoP (RFC 9449).

        ``method`` and ``url`` are those of the request. ``token`` is the token that you send with it; None means the
        current one. ``nonce`` is the one that the server asked for. ``user_token`` is the user's own access token, for
        an agent that has to show it.
        """
        ath = token.ath if token else None
        said = {"method": method, "url": url, "nonce": nonce, "ath": ath, "subject_token": user_token}
        body = {name: value for name, value in said.items() if value is not None}
        path = f"{connection_path(connection)}/proof"
        return await self._transport.fetch(lambda answer: str(answer["dpop"]), "POST", path, json=body)

    async def secret(
        self, connection: str | Connection | Outcome, *, user_token: str | None = None
    ) -> dict[str, Secret]:
        """Return what the user typed, by the names that you gave the fields. Call ``reveal`` on a ``Secret`` to read
        it.

        ``user_token`` is the user's own access token, for an agent that has to show it.
        """
        path = f"{connection_path(connection)}/secret"
        shown = None if user_token is None else {"subject_token": user_token}
        return await self._transport.fetch(
            lambda answer: {name: Secret(value) for name, value in answer["fields"].items()}, "POST", path, json=shown
        )

    async def revoke(self, connection: str | Connection | Outcome) -> None:
        """End the connection at the service at once. The service then revokes it at the provider."""
        await self._transport.call("DELETE", connection_path(connection))

    async def import_connection(
        self,
        user: User,
        provider: str,
        *,
        access_token: str | None = None,
        refresh_token: str | None = None,
        expires_at: datetime | None = None,
        scopes: Iterable[str] = (),
        account: Mapping[str, str] | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> Connection:
        """Import tokens of an account that the user connected elsewhere. Give an access token, a refresh token or both.

        ``account`` is ``{"id", "label"?}``, as the provider names it. ``variables`` is what the provider's addresses
        leave to the user, such as ``{"shop": "our-shop"}``. Raises PermissionDeniedError if the operator has
        not allowed this agent to import, and ConflictError if the account is connected already; that connection is not
        changed.
        """
        who = claim(user)
        said: Json = {
            "access_token": access_token,
            "refresh_token": refresh_token,
            "expires_at": expires_at and expires_at.isoformat(),
            "account": account and dict(account),
            "variables": variables and dict(variables),
        }
        asked = strings("scopes", scopes)
        body: Json = {"provider": provider, "subject": {"iss": who.iss, "sub": who.sub}, "scopes": asked}
        body |= {name: value for name, value in said.items() if value is not None}
        # A retry would find the account that the first attempt connected, and fail.
        return await self._transport.fetch(Connection.read, "POST", CONNECTIONS, json=body, repeatable=False)
