"""The user of a call: from the verified access token, or the one user that the server's author named."""

from __future__ import annotations

from typing import Any

from elicit_flows.domain.values import Claim
from elicit_flows.sdk.mcp.settings import Settings
from elicit_flows.sdk.shapes import claim


class NoUser(Exception):
    """The caller is not known, so nobody can be asked (MCP, client/elicitation, "Identifying the User")."""


def user_of(settings: Settings, token: Any) -> Claim:
    """The user. ``token``: the ``mcp`` library's AccessToken, None for a caller without one. Raises NoUser."""
    if settings.user is not None:
        return claim(settings.user)
    if token is None:
        raise NoUser("This tool asks its user for something, and the caller is not signed in.")
    found = settings.identify(token) if settings.identify else _named_in(token)
    if found is None:
        raise NoUser("This tool asks its user for something, and the access token names no user.")
    return claim(found)


def _named_in(token: Any) -> Claim | None:
    """Issuer and subject of the token. None for a program's own token, whose subject is the client (RFC 9068, 2.2)."""
    issuer, subject = (token.claims or {}).get("iss"), token.subject
    if not issuer or not subject or subject == token.client_id:
        return None
    return Claim(str(issuer), str(subject))
