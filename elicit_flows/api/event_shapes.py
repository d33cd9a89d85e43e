"""What OpenAPI says of events: one shape for each type, with its ``data``."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, Literal

from ninja import Schema
from pydantic import Field, create_model

from elicit_flows.api.authorization_shapes import Authorization
from elicit_flows.api.elicitation_shapes import Elicitation
from elicit_flows.api.kind_shapes import of_kind, union
from elicit_flows.api.mandate_shapes import ChargeData, MandateData
from elicit_flows.api.schemas import Absent, Connection, Payment, Refund, Root, Subject
from elicit_flows.api.subscription_shapes import EndData, PriceChangeData, RenewalData, SubscriptionData
from elicit_flows.domain.status import Status


class DraftChange(Schema):
    """``answer`` null: it was cleared."""

    question: str
    answer: dict[str, Any] | None
    by: Literal["person", "agent"]


class DraftData(Schema):
    """``draft`` null: the form is over; left out: you changed the questions."""

    id: str
    object: Literal["elicitation"]
    status: Status
    seq: int
    draft: DraftChange | None = None


class PaymentData(Schema):
    payment: Payment


class RefundData(Schema):
    payment: Payment
    refund: Refund


class PaymentProblem(Schema):
    code: str
    message: str


class MismatchData(Schema):
    payment: Payment
    problem: PaymentProblem


class OverLimitData(Schema):
    """What you asked for, and why it was refused."""

    subject: Subject
    amount: int
    currency: str
    problem: str
    mandate: str | Absent = Field(None, description="Of a charge under a mandate: its id.")


class AuthorizationData(Schema):
    authorization: Authorization


class DisabledData(Schema):
    url: str
    reason: str


DATA: Final[dict[str, type[Any]]] = {
    "elicitation.created": Elicitation,
    "elicitation.started": Elicitation,
    "elicitation.settling": Elicitation,
    "elicitation.completed": Elicitation,
    "elicitation.declined": Elicitation,
    "elicitation.cancelled": Elicitation,
    "elicitation.expired": Elicitation,
    "elicitation.failed": Elicitation,
    "elicitation.refused": Elicitation,
    "elicitation.draft": DraftData,
    "connection.imported": Connection,
    "connection.refreshed": Connection,
    "connection.reauthorization_required": Connection,
    "connection.revoked": Connection,
    "payment.refunded": RefundData,
    "payment.refund_failed": RefundData,
    "payment.disputed": PaymentData,
    "payment.unsubscribed": EndData,
    "payment.ended": EndData,
    "payment.removed": PaymentData,
    "payment.mismatch": MismatchData,
    "payment.over_limit": OverLimitData,
    "payment.authorized": AuthorizationData,
    "mandate.created": MandateData,
    "mandate.changed": MandateData,
    "mandate.ended": MandateData,
    "mandate.charged": ChargeData,
    "mandate.charge_failed": ChargeData,
    "subscription.renewed": RenewalData,
    "subscription.past_due": RenewalData,
    "subscription.resumed": SubscriptionData,
    "subscription.price_changed": PriceChangeData,
    "webhook.disabled": DisabledData,
}
EVENT_TYPES: Final = tuple(DATA)


class _Event(Schema):
    id: str
    type: str
    elicitation: str | None = Field(description="The id of the elicitation that it belongs to.")
    seq: int | None = Field(description="The elicitation's seq.")
    created_at: datetime
    data: Any


def name_of(type_: str) -> str:
    """The name of the schema: ``ElicitationCreatedEvent``."""
    return "".join(word.capitalize() for word in type_.replace(".", "_").split("_")) + "Event"


class Event(Root[union(  # type: ignore[misc]
    [create_model(name_of(kind), __base__=_Event, type=(of_kind(kind), ...), data=(data, ...))
     for kind, data in DATA.items()], "type",
)]):  # fmt: skip
    """An event: its ``data`` is that of its ``type``."""


class EventList(Schema):
    data: list[Event]
    cursor: str


class Attempt(Schema):
    """``status`` null: there was no answer. ``note`` says why."""

    at: datetime
    status: int | None
    note: str
    milliseconds: int


class Delivery(Schema):
    id: str
    object: Literal["delivery"]
    event: str
    type: str
    status: Literal["pending", "delivered", "failed"]
    tries: int
    log: list[Attempt]
    created_at: datetime
    next_at: datetime | None
    delivered_at: datetime | None


class DeliveryList(Schema):
    data: list[Delivery]
    next_cursor: str | None
