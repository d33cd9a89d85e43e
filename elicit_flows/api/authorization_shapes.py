"""What OpenAPI says of payments by HTTP 402."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from ninja import Schema
from pydantic import Field

from elicit_flows.api.schemas import Subject


class Authorization(Schema):
    """``status`` reserved: it can be signed until ``sign_by``; lapsed: it was not. Whether the payee took what was
    signed is on the chain, and in the payee's own answer.
    """

    id: str
    object: Literal["authorization"]
    subject: Subject
    account: str = Field(description="The slug of the wallet.")
    livemode: bool = Field(description="False: a test network, no real money moves.")
    elicitation: str | None = Field(description="Null once that has been deleted.")
    url: str = Field(description="The resource that answered 402; empty once the user's data was erased.")
    method: str
    network: str = Field(description="Its CAIP-2 name.")
    asset: str = Field(description="The token's contract.")
    symbol: str
    decimals: int
    amount: int = Field(description="In the token's smallest unit.")
    payee: str
    status: Literal["reserved", "signed", "lapsed"]
    created_at: datetime
    sign_by: datetime
    signed_at: datetime | None
    valid_until: datetime | None


class AuthorizationList(Schema):
    data: list[Authorization]
    next_cursor: str | None


class PaymentHeader(Schema):
    """The header that pays. Send it to ``url`` by ``method``, and nowhere else."""

    object: Literal["payment_header"]
    authorization: str
    name: Literal["PAYMENT-SIGNATURE"]
    value: str
    url: str
    method: str
    valid_until: datetime
