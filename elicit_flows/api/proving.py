"""Proofs for tokens that are bound to a key (RFC 9449), as agents ask for them."""

from __future__ import annotations

from ninja import Schema
from pydantic import Field

from elicit_flows.api.schemas import Strict


class ProofRequest(Strict):
    """The request that you are about to make. ``nonce``: what the server asked for in its ``DPoP-Nonce``."""

    method: str = Field(pattern=r"^[A-Z]{1,20}$", examples=["GET"])
    url: str = Field(max_length=4000, pattern=r"^https?://[!-~]+$", examples=["https://api.example.com/files"])
    nonce: str | None = Field(None, pattern=r"^[\x21\x23-\x5b\x5d-\x7e]{1,1024}$")
    ath: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9_-]{43}$",
        description="base64url of the SHA-256 of the access token that you use. When left out: of the one of now.",
    )


class Proof(Schema):
    dpop: str = Field(description="For the header DPoP of that one request.")
