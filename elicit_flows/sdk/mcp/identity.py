"""Who the user of a call is: the verified access token says so, or the author of a server for one user does."""

from __future__ import annotations

from typing import Any

from elicit_flows.sdk.mcp.settings import Settings
from elicit_flows.sdk.shapes import claim
from elicit_flows.values import Claim


class NoUser(Exception):
    """Nobody is known to be the caller, so nobody can be asked (MCP, client/elicitation, "Identifying the User")."""


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
    """Issuer and subject. A program's own token (client credentials) has itself as the subject (RFC 9068, 2.2)."""
    issuer, subject = (token.claims or {}).get("iss"), token.subject
    if not issuer or not subject or subject == token.client_id:
        return None
    return Claim(str(issuer), str(subject))
