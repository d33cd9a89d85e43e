"""How the gateway itself signs in at a server with an address: by headers, or by the grant ``client_credentials``
(RFC 6749, section 4.4).
"""

from __future__ import annotations

import asyncio
import json
import time
from base64 import b64encode
from collections import deque
from collections.abc import AsyncGenerator, Mapping
from http import HTTPStatus
from urllib.parse import quote

import httpx2
from mcp.client.auth.utils import build_oauth_authorization_server_metadata_discovery_urls
from mcp.shared.auth import OAuthToken
from pydantic import ValidationError

from elicit_flows.sdk.gateway.config import (
    AUTHORIZATION,
    ClientCredentialsSection,
    Config,
    ServerSection,
    is_private_address,
)
from elicit_flows.sdk.mcp.remote import covers, scopes_wanted

KEPT_OUT = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
SECONDS = 30.0  # for one request to the issuer
EARLY_SECONDS = 60.0  # before its end a token is renewed, or at half its time if that is less
MOST_TOKENS = 3  # of the latest, which no client may see: a call may still have an older one


class TokenError(httpx2.HTTPError):
    """The issuer gives the gateway no token."""


class ClientCredentials(httpx2.Auth):
    """Puts the gateway's token on requests to ``url`` that have none of a user's. ``tokens``: the latest ones.

    The secret goes to the token endpoint that the issuer's own metadata names, whatever the server says. The library's
    provider does the same, but keeps one request waiting for the other.
    """

    def __init__(self, place: str, section: ClientCredentialsSection, secret: str, url: str) -> None:
        self._place, self._section, self._secret, self._url = place, section, secret, url
        self._lock = asyncio.Lock()
        self._renew_at = 0.0
        self.tokens: deque[str] = deque(maxlen=MOST_TOKENS)

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Called by httpx2 for each request. Raises TokenError."""
        if AUTHORIZATION in request.headers or not covers(self._url, str(request.url)):
            yield request
            return
        used = await self.token()
        request.headers[AUTHORIZATION] = f"Bearer {used}"
        response = yield request
        if response.status_code == httpx2.codes.UNAUTHORIZED:
            request.headers[AUTHORIZATION] = f"Bearer {await self.token(refused=used)}"
            yield request

    async def token(self, refused: str = "") -> str:
        """A token that is still good, and is not ``refused``. Raises TokenError."""
        async with self._lock:
            if not self.tokens or self.tokens[-1] == refused or time.monotonic() >= self._renew_at:
                async with httpx2.AsyncClient(timeout=SECONDS) as http:
                    given = await self._given(http, await self._endpoint(http))
                left = float("inf") if given.expires_in is None else float(given.expires_in)
                self._renew_at = time.monotonic() + left - min(EARLY_SECONDS, left / 2)
                self.tokens.append(given.access_token)
            return self.tokens[-1]

    async def _endpoint(self, http: httpx2.AsyncClient) -> str:
        """The token endpoint, by the issuer's metadata (RFC 8414, or OpenID Connect Discovery)."""
        issuer, said = self._section.issuer, ""
        for url in build_oauth_authorization_server_metadata_discovery_urls(issuer, self._url):
            try:
                found = (await http.get(url)).raise_for_status().json()
                endpoint, of = str(found["token_endpoint"]), str(found["issuer"])
            except (httpx2.HTTPError, ValueError, KeyError, TypeError) as wrong:
                said = said or f"{url}: {type(wrong).__name__}"
                continue
            if of != issuer:
                raise TokenError(f"{self._place}.issuer: The metadata at {url} is of {of}, not of {issuer}.")
            if not is_private_address(endpoint):
                raise TokenError(f"{self._place}.issuer: Its token endpoint {endpoint} is not on https.")
            return endpoint
        raise TokenError(f"{self._place}.issuer: It has no metadata that names a token endpoint ({said}).")

    async def _given(self, http: httpx2.AsyncClient, endpoint: str) -> OAuthToken:
        section = self._section
        form = {"grant_type": "client_credentials", "resource": section.resource or self._url}
        headers = {}
        if section.scopes:
            form["scope"] = " ".join(section.scopes)
        if section.token_auth == "client_secret_post":
            form |= {"client_id": section.client_id, "client_secret": self._secret}
        else:
            pair = f"{quote(section.client_id, safe='')}:{quote(self._secret, safe='')}"
            headers[AUTHORIZATION] = f"Basic {b64encode(pair.encode()).decode()}"
        try:
            answer = await http.post(endpoint, data=form, headers=headers)
        except httpx2.HTTPError as failed:
            raise TokenError(f"{self._place}: {endpoint} cannot be reached: {type(failed).__name__}.") from failed
        if answer.status_code != httpx2.codes.OK:
            raise TokenError(f"{self._place}: {endpoint} gives no token: {_refusal(answer)}")
        try:
            return OAuthToken.model_validate_json(answer.content)
        except ValidationError:
            # The error would have the token in it.
            raise TokenError(f"{self._place}: What {endpoint} answers is no bearer token (RFC 6750).") from None


def own_sign_ins(config: Config) -> dict[str, ClientCredentials]:
    """Those of the servers that have one. Raises ConfigError."""
    found = {}
    for name, server in config.servers.items():
        place, section = f"servers.{name}.client_credentials", server.client_credentials
        if section is not None:
            secret = config.variable(section.client_secret_env, f"{place}.client_secret_env")
            found[name] = ClientCredentials(place, section, secret, str(server.url))
    return found


def _refusal(answer: httpx2.Response) -> str:
    """The code and the sentence of an error (RFC 6749, section 5.2)."""
    try:
        told = answer.json()
    except ValueError:
        told = None
    said = (
        [str(told[name]) for name in ("error", "error_description") if told.get(name)] if isinstance(told, dict) else []
    )
    return ": ".join(said) or f"HTTP {answer.status_code}"


def headers_of(config: Config, name: str, own: Mapping[str, str]) -> httpx2.Headers:
    """What every request of a connection to a server has. ``own``: a user's headers, which come first. Raises
    ConfigError.
    """
    section = config.servers[name]
    headers = httpx2.Headers(section.headers)
    for header, variable in section.headers_from.items():
        headers[header] = config.variable(variable, f"servers.{name}.headers_from.{header}").strip()
    headers.update(own)
    return headers


def lacking(answer: httpx2.Response) -> dict[str, tuple[str, ...]]:
    """By the tool, prompt or resource of a request, the scopes that its token lacks, if the answer says so."""
    scopes = scopes_wanted(answer)
    try:
        params = json.loads(answer.request.content)["params"] if scopes else {}
        return {str(params.get("name", params.get("uri"))): scopes} if params else {}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}


def kept_out(section: ServerSection, status: int, own: Mapping[str, str]) -> str:
    """What to do about a server that answered ``status``; "" if it did not refuse. ``own``: a user's headers."""
    if status not in KEPT_OUT:
        return ""
    said = f"does not let the gateway in (HTTP {status})."
    if own:
        return f"{said} It does not take the user's token."
    if section.signs_in:
        return f"{said} It does not take the token of client_credentials, or what headers_from gives."
    return f"{said} Its lists need a sign-in: give it client_credentials, or headers_from with an Authorization."
