"""The shapes of token exchange (RFC 8693)."""

from __future__ import annotations

from typing import Literal

from ninja import Schema
from pydantic import ConfigDict, Field

from elicit_flows import identity
from elicit_flows.api.schemas import Strict

UserTokenType = Literal[
    "urn:ietf:params:oauth:token-type:access_token", "urn:ietf:params:oauth:token-type:id_token"
]  # RFC 8693, section 3


class UserToken(Strict):
    """The user's own token, needed by an agent of which its operator requires it; it counts whenever it is given."""

    subject_token: str = Field(min_length=1, description="The user's own token.")
    subject_token_type: UserTokenType = identity.ACCESS


class TokenExchange(Schema):
    """One of ``audience`` and ``connection`` is needed. Parameters that are not known are ignored."""

    model_config = ConfigDict(extra="ignore", strict=True)

    grant_type: Literal["urn:ietf:params:oauth:grant-type:token-exchange"]
    subject_token: str = Field(description="The user's own token.")
    subject_token_type: UserTokenType
    audience: str | None = Field(None, description="The provider's slug.")
    connection: str | None = Field(None, description="The id of a connection.")
    scope: str | None = Field(None, description="Scopes that the connection has to have, with blanks between them.")
    requested_token_type: Literal["urn:ietf:params:oauth:token-type:access_token"] | None = None


class Exchanged(Schema):
    """RFC 8693, section 2.2.1. ``expires_in`` in seconds; left out where the token has no known end."""

    access_token: str
    issued_token_type: Literal["urn:ietf:params:oauth:token-type:access_token"]
    token_type: str
    expires_in: int | None = None
    scope: str
    connection: str


class OAuthError(Schema):
    error: str
    error_description: str
    code: str
