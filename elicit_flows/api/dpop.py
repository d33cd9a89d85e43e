"""DPoP proofs (RFC 9449) for tokens that are bound to a key."""

from __future__ import annotations

from ninja import Schema
from pydantic import Field

from elicit_flows import identity
from elicit_flows.api.schemas import Strict
from elicit_flows.api.token_exchange import UserToken, UserTokenType


class ProofRequest(Strict):
    """The request that you are about to make. ``nonce``: the value of the server's ``DPoP-Nonce``."""

    method: str = Field(pattern=r"^[A-Z]{1,20}$", examples=["GET"])
    url: str = Field(max_length=4000, pattern=r"^https?://[!-~]+$", examples=["https://api.example.com/files"])
    nonce: str | None = Field(None, pattern=r"^[\x21\x23-\x5b\x5d-\x7e]{1,1024}$")
    ath: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9_-]{43}$",
        description="base64url of the SHA-256 of the access token that you use. When left out: of the current one.",
    )
    subject_token: str | None = Field(
        None, min_length=1, description="The user's own token, if the operator requires it of this agent."
    )
    subject_token_type: UserTokenType = identity.ACCESS

    @property
    def user_token(self) -> UserToken | None:
        if self.subject_token is None:
            return None
        return UserToken(subject_token=self.subject_token, subject_token_type=self.subject_token_type)


class Proof(Schema):
    dpop: str = Field(description="For the header DPoP of that one request.")
