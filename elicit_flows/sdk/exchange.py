"""Token exchange (RFC 8693): trade the user's own access token for a token of what they have connected."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from elicit_flows.domain.values import Json
from elicit_flows.sdk.outcomes import Outcome
from elicit_flows.sdk.paths import connection_id
from elicit_flows.sdk.shapes import Connection, Token

PATH = "/v1/token"


def form(connection: str | Connection | Outcome, user_token: str) -> dict[str, str]:
    """The form fields of the request. Raises NotCompleted for an outcome without a connection."""
    return {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "subject_token": user_token,
        "subject_token_type": "urn:ietf:params:oauth:token-type:access_token",
        "connection": connection_id(connection),
    }


def read(body: Json) -> Token:
    """The token. The answer has its lifetime in seconds; the SDK turns that into a time."""
    lasting = body.get("expires_in")
    until = None if lasting is None else datetime.now(UTC) + timedelta(seconds=lasting)
    scopes, metadata = tuple(body["scope"].split()), body.get("metadata") or {}
    return Token(body["access_token"], body["token_type"], until, scopes, metadata, body.get("resource"))
