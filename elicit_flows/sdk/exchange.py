"""Token exchange (RFC 8693): a token of what a user has connected, for that user's own token."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from elicit_flows.sdk.outcomes import Outcome
from elicit_flows.sdk.paths import connection_id
from elicit_flows.sdk.shapes import Connection, Token
from elicit_flows.values import Json

PATH = "/v1/token"


def form(connection: str | Connection | Outcome, user_token: str) -> dict[str, str]:
    """Raises NotCompleted for an outcome without a connection."""
    return {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "subject_token": user_token,
        "subject_token_type": "urn:ietf:params:oauth:token-type:access_token",
        "connection": connection_id(connection),
    }


def read(body: Json) -> Token:
    """The answer says how long, the SDK until when."""
    lasting = body.get("expires_in")
    until = None if lasting is None else datetime.now(UTC) + timedelta(seconds=lasting)
    return Token(body["access_token"], body["token_type"], until, tuple(body["scope"].split()))
