"""What OpenAPI says of mandates and their charges."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from ninja import Schema
from pydantic import Field

from elicit_flows.api.schemas import Strict, Subject
from elicit_flows.kinds.payment import mandate, params


class Mandate(Schema):
    """The limits are in minor units; null: no such limit. ``per_day`` counts 24 hours, ``per_month`` 30 days."""

    id: str
    object: Literal["mandate"]
    subject: Subject
    livemode: bool = Field(description="False: test mode, no real money moves.")
    payment: str = Field(description="The id of the payment that saved the method.")
    currency: str
    description: str
    per_charge: int
    per_day: int | None
    per_month: int | None
    total: int
    until: datetime
    notice: Literal["before", "after"] = Field(description="before: each charge is announced a day before.")
    status: Literal["active", "ended"]
    ended_by: Literal["person", "agent", "time", "policy"] | None
    created_at: datetime
    ended_at: datetime | None


class Used(Schema):
    per_day: int
    per_month: int
    total: int


class MandateInUse(Mandate):
    used: Used


class MandateList(Schema):
    data: list[Mandate]
    next_cursor: str | None


class MandateDocument(Schema):
    object: Literal["mandate_document"]
    mandate: str
    document: str = Field(description="A JWS in the compact form.")


class ChargeRequest(Strict):
    amount: int = Field(ge=1, le=mandate.MAX_AMOUNT, description="In minor units of the mandate's currency.")
    description: str = Field(min_length=1, max_length=params.MAX_DESCRIPTION, description="What is paid for.")
    item: str | None = Field(None, min_length=1, max_length=params.MAX_ITEM, description="What the user may use then.")
    uses: int | None = Field(None, ge=1, le=params.MAX_USES, description="How often. When left out: without limit.")
    metadata: dict[str, Any] = Field(default_factory=dict, description="Your own data; it is returned as it is.")


class ChargeBase(Schema):
    """``failure``: the provider's reason, or ``not_made``, ``elicitation_declined`` and the like."""

    id: str
    object: Literal["charge"]
    mandate: str
    payment: str
    amount: int
    currency: str
    description: str
    item: str | None
    uses: int | None
    status: Literal["announced", "processing", "requires_action", "paid", "mismatch", "failed"]
    failure: str | None
    amount_refunded: int
    elicitation: str | None = Field(description="Of the link, if the bank wanted the person.")
    metadata: dict[str, Any]
    charge_at: datetime
    created_at: datetime


class Charge(ChargeBase):
    url: str | None = Field(description="The link that the person has to open, while the status is requires_action.")


class ChargeList(Schema):
    data: list[Charge]
    next_cursor: str | None


class MandateData(Schema):
    mandate: Mandate


class ChargeData(Schema):
    mandate: Mandate
    charge: ChargeBase
