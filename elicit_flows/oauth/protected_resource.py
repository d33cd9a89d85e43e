"""The metadata of a protected resource (RFC 9728), such as a remote MCP server, and the challenge that leads to it.

Every address in it is a stranger's: it is checked, and called through the guarded HTTP client. All requests together
have one deadline (threat T155).
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from elicit_flows import http
from elicit_flows.oauth.errors import DiscoveryError
from elicit_flows.oauth.responses import SCOPE_TOKEN

DEADLINE = 10.0  # seconds for the challenge and the metadata
MAX_SERVERS, MAX_SCOPES = 20, 50

# Asks for the tools without a token: most servers want one for each request, and some for all but the first. A server
# of the 2025-11-25 revision asks for the token before it looks at what the request says.
_VERSION, _METHOD = "2026-07-28", "tools/list"
_ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": _VERSION,
    "io.modelcontextprotocol/clientInfo": {"name": "Elicit Flows", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
_QUESTION = json.dumps({"jsonrpc": "2.0", "id": 1, "method": _METHOD, "params": {"_meta": _ENVELOPE}}).encode()
_HEADERS = {
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": _VERSION,
    "mcp-method": _METHOD,
}

_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
# Nothing comes before the token: a header of blanks alone would be read again from each of them (threat T155).
_PART = re.compile(rf'({_TOKEN})(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]*)))?')


@dataclass(frozen=True)
class ProtectedResource:
    """``resource`` is the resource identifier: the URL that was asked for, or one above it. ``required`` are the scopes
    that the server's challenge names, ``offered`` those of its metadata.
    """

    resource: str
    authorization_servers: tuple[str, ...]
    required: tuple[str, ...] = ()
    offered: tuple[str, ...] = ()


def find_resource(url: str, *, deadline: float = DEADLINE) -> ProtectedResource:
    """Ask the MCP server at ``url`` without a token, and read which authorization servers it names.

    The order is that of the MCP specification (2026-07-28, "Authorization Server Discovery"): the address in the
    challenge, or else the well-known address with the server's path, and then the one without. ``deadline`` is in
    seconds, for everything. Raises DiscoveryError.
    """
    until = time.monotonic() + deadline
    reply = _send("POST", url, until, _HEADERS, _QUESTION)
    if reply.status >= 500 or reply.status == 429:
        raise DiscoveryError("The MCP server is not available now.")
    challenge = bearer_challenge(reply.headers.get("www-authenticate", "") if reply.status == 401 else "")
    named = challenge.get("resource_metadata")
    parts = urlsplit(url)
    base, path = f"{parts.scheme}://{parts.netloc}/.well-known/oauth-protected-resource", parts.path.rstrip("/")
    for address in [named] if named else dict.fromkeys((f"{base}{path}", base)):
        document = _read(address, until)
        if document is not None:
            return _checked(url, document, challenge)
    raise DiscoveryError("The MCP server does not say where people sign in (it has no metadata of RFC 9728).")


def bearer_challenge(header: str) -> Mapping[str, str]:
    """The parameters of the first Bearer challenge in a WWW-Authenticate header (RFC 9110, section 11.6.1), by their
    names in lower case; {} if there is none.
    """
    found: dict[str, str] = {}
    scheme = ""
    for part in _PART.finditer(header):
        name, quoted, plain = part[1].lower(), part[2], part[3]
        if quoted is None and plain is None:
            if scheme == "bearer":
                break
            scheme = name
        elif scheme == "bearer":
            found.setdefault(name, plain if quoted is None else re.sub(r"\\(.)", r"\1", quoted))
    return found


def _read(address: str, until: float) -> dict[str, Any] | None:
    """The document, or None if there is none at this address."""
    reply = _send("GET", address, until, {"accept": "application/json"})
    if reply.status == 429 or reply.status >= 500:
        raise DiscoveryError("The metadata of the MCP server is not available now.")
    if reply.status != 200:
        return None
    try:
        document = reply.json()
    except ValueError:
        document = None
    if not isinstance(document, dict):
        raise DiscoveryError("The metadata of the MCP server cannot be read.")
    return document


def _send(method: str, url: str, until: float, headers: Mapping[str, str], body: bytes = b"") -> http.Reply:
    left = until - time.monotonic()
    if left <= 0:
        raise DiscoveryError("The MCP server took too long.")
    try:
        return http.send(method, url, headers=headers, body=body, deadline=left)
    except http.Refused as refusal:
        raise DiscoveryError(f"An address of the MCP server is refused: {refusal}") from None
    except http.Unreachable as failure:
        raise DiscoveryError(f"The MCP server cannot be read: {failure}") from None


def _checked(url: str, document: Mapping[str, Any], challenge: Mapping[str, str]) -> ProtectedResource:
    resource, servers = document.get("resource"), document.get("authorization_servers")
    if not isinstance(resource, str) or not covers(resource, url):
        # Metadata of another resource would have people grant access to that one (RFC 9728, sections 3.3 and 7.3).
        raise DiscoveryError("The metadata of the MCP server is for another resource.")
    if not isinstance(servers, list) or not 0 < len(servers) <= MAX_SERVERS:
        raise DiscoveryError("The metadata of the MCP server names no authorization server.")
    for server in servers:
        try:
            if not isinstance(server, str) or "?" in server:
                raise DiscoveryError("The metadata of the MCP server cannot be read.")
            http.check_url(server)
        except http.Refused as refusal:
            raise DiscoveryError(f"The authorization server of the MCP server is refused: {refusal}") from None
    offered = document.get("scopes_supported")
    return ProtectedResource(
        resource=resource,
        authorization_servers=tuple(servers),
        required=_scopes(challenge.get("scope", "").split()),
        offered=_scopes(offered if isinstance(offered, list) else []),
    )


def covers(resource: str, url: str) -> bool:
    """Whether ``url`` is the ``resource``, or lies below it: same scheme, host and port, and its path begins with the
    resource's, segment by segment.
    """
    try:
        of, at = http.check_url(resource), http.check_url(url)
    except http.Refused:
        return False
    if (of.scheme, of.authority) != (at.scheme, at.authority):
        return False
    above, path = of.path.rstrip("/"), at.path.partition("?")[0]
    return of.path == at.path or path == above or path.startswith(f"{above}/")


def _scopes(names: list[Any]) -> tuple[str, ...]:
    fitting = (name for name in names if isinstance(name, str) and SCOPE_TOKEN.fullmatch(name))
    return tuple(dict.fromkeys(fitting))[:MAX_SCOPES]
