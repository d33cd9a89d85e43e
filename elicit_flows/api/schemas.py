"""The shapes of requests and answers. Unknown fields are refused; what this says, OpenAPI says."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from ninja import Schema
from pydantic import ConfigDict, Field

MAX_DAYS = 30


class Strict(Schema):
    model_config = ConfigDict(extra="forbid", strict=True)


class Subject(Strict):
    """The user: OpenID Connect issuer and subject, byte for byte."""

    iss: str = Field(min_length=1, max_length=500, examples=["https://idp.example.com"])
    sub: str = Field(min_length=1, max_length=255, examples=["u-1"])


class CreateElicitation(Strict):
    kind: str = Field(max_length=32, examples=["oauth"])
    subject: Subject
    message: str = Field(min_length=1, max_length=2000, description="Why you ask; the user reads it as your words.")
    params: dict[str, Any] = Field(description="What the kind needs, as the guide says.")
    expires_in: int = Field(900, ge=1, le=MAX_DAYS * 86400, description="Seconds until the link ends.")
    return_url: str | None = Field(None, max_length=2000, description="One of the agent's registered URLs.")
    reuse: Literal["if_valid", "never"] = Field(
        "if_valid", description="Whether an existing connection or entitlement may answer."
    )
    metadata: dict[str, Any] = Field(default_factory=dict, description="Yours; comes back unchanged.")


class AskAgain(Strict):
    message: str | None = Field(None, min_length=1, max_length=2000)
    params: dict[str, Any] | None = Field(None, description="The form's schema or questions, whole.")


class DraftAnswer(Strict):
    """``value`` is as the result's content has it. A draft has to be of the question's sort, what is submitted fits."""

    state: Literal["draft", "submitted", "skipped"]
    value: Any = None
    reason: str | None = Field(None, description="Why it is skipped.")


class ShareAnswer(Strict):
    """``answer`` null takes back what was answered. ``seq``: the last that you have seen of this question."""

    answer: DraftAnswer | None
    seq: int | None = Field(None, ge=0)


class Draft(Schema):
    """``answers`` by question, each ``{state, value | reason, seq, by}``; one that was cleared has only the last two.
    ``missing``: what keeps it from being accepted.
    """

    object: Literal["draft"]
    elicitation: str
    status: str
    seq: int
    answers: dict[str, dict[str, Any]]
    missing: list[str]


class ChangeNote(Strict):
    note: dict[str, str | None] = Field(description="The members to change, null for those that go.")


class Note(Schema):
    """Empty where you noted nothing, and where it has been deleted."""

    object: Literal["note"]
    elicitation: str
    note: dict[str, str]


class UserCode(Schema):
    """``verification_uri_complete`` is the link itself. Names as in RFC 8628, section 3.2."""

    object: Literal["user_code"]
    elicitation: str
    user_code: str = Field(examples=["WDJB-MJHT"])
    verification_uri: str
    verification_uri_complete: str
    expires_at: datetime


class Elicitation(Schema):
    id: str
    object: Literal["elicitation"]
    kind: str
    status: Literal["pending", "started", "settling", "completed", "declined", "cancelled", "expired", "failed"]
    action: Literal["accept", "decline", "cancel"] | None
    url: str
    message: str
    subject: Subject
    params: dict[str, Any]
    result: dict[str, Any] | None
    error: dict[str, Any] | None
    reused: bool
    seq: int
    created_at: datetime
    expires_at: datetime
    finished_at: datetime | None
    consumed_at: datetime | None
    return_url: str | None
    metadata: dict[str, Any]


class ElicitationList(Schema):
    data: list[Elicitation]
    next_cursor: str | None


EVENT_TYPES = (
    "elicitation.created", "elicitation.started", "elicitation.settling", "elicitation.completed",
    "elicitation.declined", "elicitation.cancelled", "elicitation.expired", "elicitation.failed", "elicitation.refused",
    "elicitation.draft",
    "connection.imported", "connection.refreshed", "connection.reauthorization_required", "connection.revoked",
    "payment.refunded", "payment.refund_failed", "payment.disputed", "payment.ended", "payment.mismatch",
    "payment.over_limit", "webhook.disabled",
)  # fmt: skip


class Event(Schema):
    id: str
    type: str = Field(description=f"One of {', '.join(EVENT_TYPES)}; there may be more.")
    elicitation: str | None
    seq: int | None
    created_at: datetime
    data: dict[str, Any]


class EventList(Schema):
    data: list[Event]
    cursor: str


class Account(Schema):
    id: str
    label: str


class Connection(Schema):
    id: str
    object: Literal["connection"]
    provider: str | None
    subject: Subject
    status: Literal["active", "reauthorization_required", "revoked"]
    health: Literal["ok", "failing", "expired", "reauthorization_required", "revoked"]
    scopes: list[str]
    account: Account | None
    created_at: datetime
    expires_at: datetime | None
    next_refresh_at: datetime | None = Field(description="When the service looks after it of itself.")
    last_refresh_error: str | None = Field(description="A code, such as provider_unavailable or invalid_grant.")
    last_used_at: datetime | None
    revoked_at: datetime | None


class ConnectionList(Schema):
    data: list[Connection]


class TokenRequest(Strict):
    min_ttl: int | None = Field(
        None,
        ge=0,
        le=86400,
        description="Seconds that the token must still live, up to half its life. "
        "When left out: 60, or a tenth of its life where that is shorter.",
    )


class Report(Strict):
    status: Literal[401] = Field(description="What the provider answered to the token.")


class Credentials(Schema):
    fields: dict[str, str]


class Token(Schema):
    access_token: str
    token_type: str
    expires_at: datetime | None
    scopes: list[str]


class Payment(Schema):
    """``amount`` and ``amount_refunded`` are in minor units. ``status`` mismatch: money came, but not as asked."""

    id: str
    object: Literal["payment"]
    elicitation: str | None
    subject: Subject
    mode: Literal["pay", "save", "subscribe"]
    amount: int
    currency: str
    description: str
    item: str | None
    status: Literal["open", "processing", "paid", "saved", "active", "ended", "mismatch", "closed", "refunded"]
    amount_refunded: int
    dispute: Literal["open", "won", "lost"] | None
    receipt_url: str | None
    created_at: datetime
    paid_at: datetime | None


class Receipt(Schema):
    object: Literal["receipt"]
    payment: str
    receipt: str = Field(description="A JWS in the compact form.")


class RefundRequest(Strict):
    amount: int | None = Field(None, ge=1, description="In minor units. When left out: all that is left.")
    reason: str | None = Field(None, max_length=500, description="For your records and the operator's.")


class Refund(Schema):
    """``amount`` is in minor units."""

    id: str
    object: Literal["refund"]
    payment: str
    amount: int
    currency: str
    status: Literal["pending", "done", "failed"]
    by: Literal["agent", "operator", "provider", "policy"]
    reason: str | None
    created_at: datetime
    done_at: datetime | None


class RefundList(Schema):
    data: list[Refund]
    next_cursor: str | None


class Entitlement(Schema):
    """``uses_left`` null: without a limit; ``valid_until`` null: for ever."""

    id: str
    object: Literal["entitlement"]
    subject: Subject
    item: str
    payment: str
    status: Literal["active", "suspended", "revoked", "ended"]
    usable: bool
    uses_left: int | None
    valid_until: datetime | None
    created_at: datetime


class EntitlementList(Schema):
    data: list[Entitlement]
    next_cursor: str | None


class ConsumeRequest(Strict):
    key: str = Field(min_length=1, max_length=255, description="Your own name for this use: told twice it counts once.")


class Delivery(Schema):
    id: str
    object: Literal["delivery"]
    event: str
    type: str
    status: Literal["pending", "delivered", "failed"]
    tries: int
    log: list[dict[str, Any]]
    created_at: datetime
    next_at: datetime | None
    delivered_at: datetime | None


class DeliveryList(Schema):
    data: list[Delivery]
    next_cursor: str | None


class Problem(Schema):
    """RFC 9457."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    errors: list[dict[str, Any]] | None = None
