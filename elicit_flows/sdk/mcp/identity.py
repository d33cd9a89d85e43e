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
    if settings.identify:
        found = settings.identify(token)
    else:
        # A program's own token names no user: its subject is the client (RFC 9068, section 2.2).
        issuer, subject = (token.claims or {}).get("iss"), token.subject
        found = Claim(str(issuer), str(subject)) if issuer and subject and subject != token.client_id else None
    if found is None:
        raise NoUser("This tool asks its user for something, and the access token names no user.")
    return claim(found)
