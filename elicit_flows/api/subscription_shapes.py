"""What OpenAPI says of subscriptions and their renewals."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from ninja import Schema
from pydantic import Field

from elicit_flows.api.schemas import Payment, Strict, Subject


class Subscription(Schema):
    """``amount`` is the price in minor units. ``past_due``: a renewal was refused, and may still be paid."""

    id: str
    object: Literal["subscription"]
    payment: str = Field(description="The id of the payment that began it.")
    subject: Subject
    livemode: bool = Field(description="False: test mode, no real money moves.")
    amount: int
    currency: str
    interval: Literal["day", "week", "month", "year"]
    description: str
    item: str | None
    status: Literal["active", "past_due", "ended"]
    period_end: datetime | None = Field(description="It is paid until then.")
    trial_ends_at: datetime | None = Field(description="If it began with a trial: when the first charge is due.")
    past_due_since: datetime | None
    grace_until: datetime | None = Field(
        description="While a renewal is not paid: how long its entitlement lasts, by your operator's ``renewal_grace``."
    )
    ends_at: datetime | None = Field(description="It is cancelled, and nothing is charged after this.")
    cancelled_by: Literal["person", "agent", "provider", "policy"] | None
    created_at: datetime
    ended_at: datetime | None


class CancelRequest(Strict):
    at: Literal["period_end", "now"] = Field(
        "period_end", description="now: the user loses what is paid for. Refund it, if you owe it to them."
    )


class SubscriptionList(Schema):
    data: list[Subscription]
    next_cursor: str | None


class Renewal(Schema):
    """A period after the first. ``failed``: it was refused, and the provider may try again; ``void``: it was given up.
    ``tries``: how often it was charged or refused.
    """

    id: str
    object: Literal["renewal"]
    subscription: str
    amount: int
    currency: str
    status: Literal["open", "failed", "paid", "void"]
    period_start: datetime
    period_end: datetime
    tries: int
    receipt_url: str | None
    invoice_pdf: str | None = Field(description="The provider's invoice as a file. Null as long as it has none.")
    created_at: datetime
    paid_at: datetime | None


class RenewalList(Schema):
    data: list[Renewal]
    next_cursor: str | None


class SubscriptionData(Schema):
    subscription: Subscription


class PriceChange(Schema):
    amount: int
    previous_amount: int
    agreed_at: datetime = Field(description="When the user said yes.")
    done_at: datetime = Field(description="When the provider had the new price.")


class PriceChangeData(Schema):
    subscription: Subscription
    change: PriceChange


class EndData(Schema):
    payment: Payment
    subscription: Subscription


class RenewalData(Schema):
    subscription: Subscription
    renewal: Renewal
