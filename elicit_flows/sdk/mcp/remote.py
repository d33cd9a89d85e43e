"""The other side: an ``mcp`` client that calls a remote server with a user's connection.

from mcp import Client
from elicit_flows.sdk.mcp import transport

account = await elicit.oauth(user, mcp="https://mcp.example.com/mcp", on_url=print)
async with Client(transport(elicit, account)) as client:
    await client.call_tool("list_files", {})
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp.client import streamable_http
from mcp.client.auth.utils import extract_field_from_www_auth

from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.outcomes import Completed, Outcome
from elicit_flows.sdk.shapes import Connection

AskForScopes = Callable[[tuple[str, ...]], Awaitable[Outcome]]
# mcp 2 uses httpx2, mcp 1 httpx. A client takes only what is made for its own.
http: Any = getattr(streamable_http, "httpx2", None) or streamable_http.httpx  # type: ignore[attr-defined]
CONNECT_SECONDS, READ_SECONDS = 30.0, 300.0  # the library's own: a server may be silent in a stream for long


class ConnectionAuth(http.Auth):  # type: ignore[misc]
    """Puts the token of a user's connection on each request of an httpx client, for the ``auth`` of a client of yours.

    The token is fetched from the service, which refreshes it. It is put on requests to its own resource only. If the
    server answers 401, that is reported, and the request is sent once more. If it answers 403 because the token lacks
    scopes, ``ask`` is called with them; if no token of the connection is accepted any more, with none. ``ask`` asks the
    user, with ``reuse="never"``, and returns the outcome; then the request is sent once more. Requests that are refused
    at the same time ask once, and scopes that the user has allowed are not asked for again if they did not help.
    Without ``ask`` the answer stays as it is. ``user_token``: see ``Elicit.token``.

    ``url`` is the server's address. The service names it for a connection that was asked for with ``mcp``; for one to
    a provider of the operator's it does not, and without ``url`` the token goes with every request.
    """

    def __init__(
        self,
        elicit: Elicit,
        connection: str | Connection | Outcome,
        *,
        ask: AskForScopes | None = None,
        user_token: str | None = None,
        url: str | None = None,
    ) -> None:
        self._elicit, self._connection, self._ask, self._user_token = elicit, connection, ask, user_token
        self._url = url
        self._asking = anyio.Lock()
        self._allowed: frozenset[str] = frozenset()  # what the user was asked for and allowed

    async def async_auth_flow(self, request: Any) -> AsyncGenerator[Any, Any]:
        """Called by httpx for each request."""
        connection = self._connection
        signed = await self._sign(request)
        response = yield request
        if not signed:
            return
        if response.status_code == 401 and (await self._elicit.report(self._connection)).status == "active":
            await self._sign(request)
            response = yield request
        wanted = scopes_wanted(response)
        if self._ask and (wanted or response.status_code == 401) and await self._allow(self._ask, wanted, connection):
            await self._sign(request)
            yield request

    async def _allow(self, ask: AskForScopes, wanted: tuple[str, ...], refused: str | Connection | Outcome) -> bool:
        """Ask the user, unless another request has done so since; whether there is a connection to try again with.
        ``refused``: that of the request.
        """
        async with self._asking:
            if self._connection is not refused and self._allowed.issuperset(wanted):
                return True
            if wanted and self._allowed.issuperset(wanted):
                return False
            outcome = await ask(wanted)
            if not isinstance(outcome, Completed):
                return False
            self._connection = outcome
            self._allowed = self._allowed.union(wanted) if wanted else frozenset()
            return True

    async def _sign(self, request: Any) -> bool:
        """Put the token on the request, if it is one to the token's resource."""
        token = await self._elicit.token(self._connection, user_token=self._user_token)
        only = (token.resource, self._url)
        if not all(covers(one, str(request.url)) for one in only if one is not None):
            return False
        request.headers["authorization"] = token.authorization
        return True


def scopes_wanted(response: Any) -> tuple[str, ...]:
    """The scopes that a request of an MCP server's client lacks, as its answer says (RFC 6750, section 3.1)."""
    if response.status_code != 403 or extract_field_from_www_auth(response, "error") != "insufficient_scope":
        return ()
    return tuple((extract_field_from_www_auth(response, "scope") or "").split())


def covers(resource: str, url: str) -> bool:
    """Whether ``url`` is the resource or lies below it. A path that leads up again (``..``) does not, however it is
    written.
    """
    of, at = http.URL(resource), http.URL(url)
    if not {".", ".."}.isdisjoint(at.path.split("/")):
        return False
    above = of.path.rstrip("/")
    same = (of.scheme, of.host, of.port) == (at.scheme, at.host, at.port)
    return bool(same and (at.path in (of.path, above) or at.path.startswith(f"{above}/")))


@asynccontextmanager
async def transport(
    elicit: Elicit,
    connection: str | Connection | Outcome,
    *,
    ask: AskForScopes | None = None,
    user_token: str | None = None,
    url: str | None = None,
) -> AsyncIterator[Any]:
    """Connect to the remote MCP server of ``connection``, signed in as its user. With ``mcp`` 2.x the result is passed
    to ``Client``; with ``mcp`` 1.x it gives the streams for a ``ClientSession``.

    ``connection``: an outcome of ``oauth``, a connection or its id. ``url``: the server's address, for a connection to
    a provider of the operator's; one that was asked for with ``mcp`` has it. ``ask`` and ``user_token``: see
    ``ConnectionAuth``. Raises ValueError if nothing says where the server is, and ElicitError.
    """
    there = await elicit.connection(connection)
    server = url or there.mcp
    if server is None:
        raise ValueError(f"{there.id} is a connection to {there.provider}: say where the MCP server is with url")
    auth = ConnectionAuth(elicit, there, ask=ask, user_token=user_token, url=server)
    timeout = http.Timeout(CONNECT_SECONDS, read=READ_SECONDS)
    async with (
        http.AsyncClient(auth=auth, timeout=timeout) as client,
        streamable_http.streamable_http_client(server, http_client=client) as streams,
    ):
        yield streams
