"""Calls of a provider's API through the service, which adds the user's credential."""

from __future__ import annotations

from abc import ABC
from collections.abc import AsyncIterable, Callable, Mapping
from typing import Any, TypedDict, Unpack

import httpx2

from elicit_flows.sdk.errors import InvalidRequestError
from elicit_flows.sdk.outcomes import Outcome
from elicit_flows.sdk.paths import connection_path
from elicit_flows.sdk.shapes import Connection
from elicit_flows.sdk.transport import Transport, problem

HOST, USER_TOKEN, ANSWERED_BY = "Elicit-Api-Host", "Elicit-User-Token", "elicit-answered-by"
SILENCE = 65.0  # seconds: the service waits a minute for the provider


class Sending(TypedDict, total=False):
    """What of a request may be given: as for ``httpx2.AsyncClient.request``."""

    params: Any
    json: Any
    data: Any
    content: str | bytes | AsyncIterable[bytes]
    headers: Mapping[str, str]


class Proxied(ABC):
    """The agent gets the answers of the API, and never the token."""

    _transport: Transport

    async def request(
        self,
        connection: str | Connection | Outcome,
        method: str,
        path: str,
        *,
        host: str | None = None,
        user_token: str | None = None,
        **sending: Unpack[Sending],
    ) -> httpx2.Response:
        """Call the provider's API through the service and return the API's answer, whatever its status.

        ``path`` is below the API's address, such as ``/v1/me``. ``host`` chooses one of the API's hosts, if it has
        several. ``user_token`` is the user's own access token, for an agent that has to show it. Nothing is retried.

        Raises ElicitError for an answer of the service's own: ``reauthorization_required`` (ask the user again),
        ``connection_revoked``, ``no_api``, ``bad_path``, ``provider_unavailable``, ``provider_broken``.
        """
        ours = {HOST: host, USER_TOKEN: user_token, "Authorization": self._transport.headers["Authorization"]}
        rest: dict[str, Any] = {**sending}
        headers = httpx2.Headers(rest.pop("headers", None))
        headers.update({name: value for name, value in ours.items() if value is not None})
        below = _proxy(self._transport, connection)
        url = httpx2.URL(f"{below}{path}")
        if not _covers(below, url):
            raise _leads_away(url)
        try:
            answer = await self._transport.http.request(
                method, url, headers=headers, timeout=SILENCE, follow_redirects=False, **rest
            )
        except httpx2.RequestError as error:
            raise self._transport.unreachable(error) from error
        return check_answered(answer)

    def api(self, connection: str | Connection | Outcome, *, host: str | None = None) -> httpx2.AsyncClient:
        """An HTTP client for the provider's API through the service, for streams and for libraries that take one.

        Its addresses are paths below the API's, such as ``/v1/me``. Close it after use. An answer without the header
        ``Elicit-Answered-By`` is the service's own: ``check_answered`` raises for it. Any other address raises
        InvalidRequestError ``bad_path`` and is sent nothing, also an absolute one that the API gave.
        """
        keeps = keeps_key(self._transport, connection)

        async def check(request: httpx2.Request) -> None:
            keeps(request)

        return httpx2.AsyncClient(**client_options(self._transport, connection, host), event_hooks={"request": [check]})


def client_options(transport: Transport, connection: str | Connection | Outcome, host: str | None) -> dict[str, Any]:
    """The arguments of an httpx2 client for the API."""
    headers = {"Authorization": transport.headers["Authorization"]} | ({HOST: host} if host else {})
    return {
        "base_url": _proxy(transport, connection), "headers": headers, "timeout": SILENCE,
        "trust_env": transport.trusts_environment,
    }  # fmt: skip


def keeps_key(transport: Transport, connection: str | Connection | Outcome) -> Callable[[httpx2.Request], None]:
    """What that client does before each request: it raises InvalidRequestError if the agent's key would go to anything
    but the API's proxy.
    """
    below, key = _proxy(transport, connection), transport.headers["Authorization"]

    def check(request: httpx2.Request) -> None:
        # A redirect to another host has no key, so a client that follows it may.
        if request.headers.get("Authorization") == key and not _covers(below, request.url):
            raise _leads_away(request.url)

    return check


def _proxy(transport: Transport, connection: str | Connection | Outcome) -> str:
    return f"{transport.url}{connection_path(connection)}/proxy"


def _covers(below: str, url: httpx2.URL) -> bool:
    """Whether a request to ``url`` is a call of the API. The URL is normalized by now: with ``..`` it could be another
    call of the service, such as the one for the token.
    """
    proxy = httpx2.URL(below)
    same = (url.scheme, url.host, url.port) == (proxy.scheme, proxy.host, proxy.port)
    return same and f"{url.raw_path.partition(b'?')[0].decode()}/".startswith(f"{proxy.raw_path.decode()}/")


def _leads_away(url: httpx2.URL) -> InvalidRequestError:
    away = url.copy_with(query=None)  # a link of an API may have a secret there
    said = f"Give a path below the API's address that begins with /, such as /v1/me: {away} would leave the API"
    return InvalidRequestError("bad_path", said)


def check_answered(answer: httpx2.Response) -> httpx2.Response:
    """Return the answer if it is the API's. Raises ElicitError for one of the service."""
    if ANSWERED_BY not in answer.headers:
        raise problem(answer)
    return answer
