"""What OpenAPI says of kind x402."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from ninja import Schema
from pydantic import Field

from elicit_flows.api.schemas import Absent, Strict
from elicit_flows.kinds.x402 import params as x402


class X402Accepted(Schema):
    """A way to pay, as the server wrote it (``PaymentRequirements`` of x402 version 2)."""

    scheme: str
    network: str = Field(description="Its CAIP-2 name.", examples=["eip155:8453"])
    asset: str = Field(description="The token's contract.")
    amount: str = Field(pattern="^[1-9][0-9]{0,15}$", description="In the token's smallest unit: 10000 is 0.01 USDC.")
    payTo: str
    maxTimeoutSeconds: int = Field(ge=1, le=x402.MAX_TIMEOUT)
    extra: dict[str, Any] | Absent = None


class X402Resource(Schema, extra="allow"):
    url: str | Absent = None
    description: str | Absent = None


class X402ResourceAsked(Schema):
    url: str | Absent = None
    description: str | Absent = None


class X402Challenge(Schema, extra="allow"):
    """What the server sent with its 402. What else it says, such as ``error`` and ``extensions``, is left out."""

    x402Version: Literal[2]
    resource: X402Resource | None = None
    accepts: list[X402Accepted] = Field(min_length=1, max_length=x402.MAX_ACCEPTS)


class X402ChallengeAsked(Schema):
    """``accepts`` has the one way to pay that the wallet takes."""

    x402Version: Literal[2]
    resource: X402ResourceAsked
    accepts: list[X402Accepted]


Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


class X402Params(Strict):
    url: str = Field(max_length=x402.MAX_URL, description="The address that answered 402.")
    method: Method | Absent = Field(None, description="When left out: GET.")
    challenge: X402Challenge
    account: str | None = Field(
        None, min_length=1, max_length=64, description="The wallet, by its slug. When left out: the first that fits."
    )


class X402Asked(Schema):
    url: str
    method: Method
    challenge: X402ChallengeAsked
    account: str | None


class X402Result(Schema):
    """``POST /v1/authorizations/{id}/sign`` gives the header that pays, until ``sign_by``."""

    authorization: str = Field(description="The id of the authorization.")
    livemode: bool = Field(description="False: a test network, no real money moves.")
    network: str
    payee: str
    amount: int = Field(description="In the token's smallest unit.")
    symbol: str
    sign_by: datetime
