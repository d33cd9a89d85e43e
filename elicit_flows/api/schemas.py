"""The shapes of requests and answers, from which OpenAPI is generated.

Unknown fields are refused, and so are unknown query parameters (``parsing``).
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Generic, Literal, TypeVar

from ninja import Schema
from pydantic import ConfigDict, Field, RootModel
from pydantic.json_schema import SkipJsonSchema

from elicit_flows.domain.status import Status
from elicit_flows.domain.values import MAX_ISSUER, MAX_SUBJECT

MAX_DAYS = 30
Absent = SkipJsonSchema[None]  # for a member that is left out and never null


T = TypeVar("T")


class Strict(Schema):
    model_config = ConfigDict(extra="forbid", strict=True)


class Root(RootModel[T], Generic[T]):
    """One of several shapes, or a single value. Its validator is built when it is first needed, as that of Schema."""

    model_config = ConfigDict(defer_build=True)


class Paging(Strict):
    """The parameters of every list."""

    limit: int = Field(20, ge=1, le=100, strict=False, description="The number of entries, at most.")
    cursor: str = Field("", description="The next_cursor of the previous page, sent with the same filters.")


class OfUser(Strict):
    """The user. Both are compared exactly."""

    iss: str | None = Field(None, min_length=1, max_length=MAX_ISSUER, description="The user's issuer.")
    sub: str | None = Field(None, min_length=1, max_length=MAX_SUBJECT, description="The user's subject.")


class Subject(Strict):
    """The user: OpenID Connect issuer and subject, compared exactly."""

    iss: str = Field(min_length=1, max_length=MAX_ISSUER, examples=["https://idp.example.com"])
    sub: str = Field(min_length=1, max_length=MAX_SUBJECT, examples=["u-1"])


Kind = Literal["oauth", "payment", "credentials", "form", "confirm", "link", "x402", "steps"]


# The form of a language tag (RFC 5646, section 2.1). Which languages there are is another matter.
LANGUAGE_TAG = r"^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$"


class CreateElicitation(Strict):
    kind: str = Field(max_length=32, examples=["oauth"])
    subject: Subject
    message: str = Field(min_length=1, max_length=2000, description="Why you ask. The user reads it as your words.")
    params: dict[str, Any] = Field(description="The parameters of the kind.")
    expires_in: int = Field(900, ge=1, le=MAX_DAYS * 86400, description="Seconds until the link expires.")
    return_url: str | None = Field(None, max_length=2000, description="One of the agent's registered URLs.")
    return_: Literal["auto", "button"] = Field(
        "auto",
        alias="return",
        description="Whether the last page goes to `return_url` by itself after three seconds, or has a button only.",
    )
    locale: str | None = Field(
        None,
        max_length=35,
        pattern=LANGUAGE_TAG,
        description="The language that you suggest for the pages (BCP 47). The user's own choice goes before it.",
        examples=["de", "pt-BR"],
    )
    reuse: Literal["if_valid", "never"] = Field(
        "if_valid", description="Whether an existing connection or entitlement may answer."
    )
    notify: bool = Field(
        False,
        description="Whether the user is told, by e-mail for example, that you ask. Only if your operator allows it. "
        "The answer is the same whether or not the user can be reached.",
    )
    metadata: dict[str, Any] = Field(default_factory=dict, description="Your own data, returned unchanged.")


class AskAgain(Strict):
    message: str | None = Field(None, min_length=1, max_length=2000)
    params: dict[str, Any] | None = Field(None, description="The complete schema or questions of the form.")


class DraftAnswer(Strict):
    """``value`` has the form of the result's content. A draft must have the question's type; a submitted answer must be
    valid.
    """

    state: Literal["draft", "submitted", "skipped"]
    value: Any = None
    reason: str | None = Field(None, description="Why it is skipped.")


class ShareAnswer(Strict):
    """``answer`` null clears the answer. ``seq``: the last one that you have seen of this question."""

    answer: DraftAnswer | None
    seq: int | None = Field(None, ge=0)


class Complete(Strict):
    """``answers``: your user's answers by question, in addition to a shared draft."""

    answers: dict[str, DraftAnswer] | None = Field(None, max_length=50)


class SharedAnswer(Schema):
    """``state`` is left out if the answer was cleared, ``value`` also if the question is skipped."""

    state: Literal["draft", "submitted", "skipped"] | Absent = None
    value: Any = None
    reason: str | Absent = None
    seq: int
    by: Literal["person", "agent"]


class Draft(Schema):
    """``answers`` by question. ``missing``: the questions that must be answered before it can be submitted."""

    object: Literal["draft"]
    elicitation: str
    status: Status
    seq: int
    answers: dict[str, SharedAnswer]
    missing: list[str]


class ChangeNote(Strict):
    note: dict[str, str | None] = Field(description="The members to change; null removes a member.")


class Note(Schema):
    """Empty if there is none, or if it has been deleted."""

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


class Account(Schema):
    id: str
    label: str


Scalar = str | int | bool
Metadata = Annotated[
    dict[str, Scalar | list[Scalar]],
    Field(description="What the provider said beside the tokens, such as instance_url, by the names of its entry."),
]
ConnectionStatus = Literal["active", "reauthorization_required", "revoked"]


class Connection(Schema):
    id: str
    object: Literal["connection"]
    provider: str | None
    subject: Subject
    status: ConnectionStatus
    health: Literal["ok", "failing", "expired", "reauthorization_required", "revoked"]
    scopes: list[str]
    account: Account | None
    label: str = Field(
        description="What people can recognise it by: the account's name, or, if not known, when it was connected."
    )
    metadata: Metadata
    variables: dict[str, str] = Field(
        description="What the user named in the provider's addresses, such as their shop."
    )
    mcp: str | None = Field(description="The address of the remote MCP server, for a connection to one.")
    resource: str | None = Field(description="The only resource that its tokens are for, such as an MCP server.")
    created_at: datetime
    expires_at: datetime | None
    next_refresh_at: datetime | None = Field(description="When the service refreshes it by itself.")
    last_refresh_error: str | None = Field(description="A code, such as provider_unavailable or invalid_grant.")
    last_used_at: datetime | None
    revoked_at: datetime | None


class ConnectionList(Schema):
    data: list[Connection]
    next_cursor: str | None


Level = Literal["read", "write", "admin"]


class InstallationRequest(Strict):
    """A token of an app's installation, such as a GitHub App's, in place of the user's own."""

    id: int = Field(ge=1, le=2**53, description="The installation, such as one of ``metadata.installations``.")
    repositories: list[Annotated[str, Field(min_length=1, max_length=200)]] = Field(
        min_length=1, max_length=100, description="Names or full names of repositories that the user reaches there."
    )
    permissions: dict[Annotated[str, Field(min_length=1, max_length=60)], Level] = Field(
        min_length=1, max_length=50, description='Such as {"contents": "read"}: no more than the user has there.'
    )


class Installation(Schema):
    id: int
    repositories: list[str] = Field(description="The full names of all that the token reaches.")
    permissions: dict[str, str]


class TokenRequest(Strict):
    min_ttl: int | None = Field(
        None,
        ge=0,
        le=86400,
        description="Seconds for which the token must still be valid, up to half its lifetime. "
        "When left out: 60, or a tenth of its lifetime if that is shorter.",
    )
    installation: InstallationRequest | None = None
    scope_set: str | None = Field(
        None, min_length=1, max_length=20, description="The token for the scopes that begin with this name and a slash."
    )


class Report(Strict):
    status: Literal[401] = Field(description="The provider's answer to the token.")


class Credentials(Schema):
    fields: dict[str, str]


class Token(Schema):
    access_token: str
    token_secret: str | None = Field(description="Of a token of OAuth 1.0a, whose ``token_type`` is oauth1.")
    token_type: str
    expires_at: datetime | None
    scopes: list[str]
    metadata: Metadata
    resource: str | None = Field(description="The only resource that the token is for, such as an MCP server.")
    installation: Installation | None = Field(None, description="Only of a token of an installation.")


AskedMode = Literal["pay", "save", "subscribe", "mandate"]
PaymentMode = Literal["pay", "save", "subscribe", "mandate", "charge"]  # charge: made under a mandate
PaymentStatus = Literal[
    "open", "processing", "paid", "saved", "removed", "active", "ended", "mismatch", "closed", "refunded"
]  # refunded: paid, and refunded in full


class OrderLine(Schema):
    name: str
    quantity: int
    unit_amount: int = Field(description="The price of one, in minor units.")


class Order(Schema):
    """What the amount of a payment is made of, in minor units."""

    lines: list[OrderLine]
    tax: int | Literal["provider"] = Field(description="provider: the payment has what it has computed.")
    number: str | None
    purpose: str | None
    invoice: bool | Absent = None


class Payment(Schema):
    """``amount`` and ``amount_refunded`` are in minor units. ``status`` mismatch: the payment differs from the request;
    removed: the person has removed a saved method.
    """

    id: str
    object: Literal["payment"]
    elicitation: str | None
    subject: Subject
    livemode: bool = Field(description="False: test mode, no real money moves.")
    mode: PaymentMode
    interval: Literal["day", "week", "month", "year"] | None = Field(description="For mode subscribe.")
    trial_days: int | None = Field(
        description="For mode subscribe: nothing is charged before. Then it costs the amount."
    )
    amount: int
    max_amount: int | None = Field(
        description="If the provider computes the tax: the most that the user agreed to, and the amount until then."
    )
    tax: int | None = Field(description="Of an order's amount; null until the provider has computed it.")
    currency: str
    description: str
    item: str | None
    uses: int | None
    order: Order | None
    status: PaymentStatus
    amount_refunded: int
    dispute: Literal["open", "won", "lost"] | None
    receipt_url: str | None
    invoice_url: str | None = Field(description="The provider's page of the invoice, if your order asked for one.")
    invoice_pdf: str | None
    created_at: datetime
    paid_at: datetime | None
    period_end: datetime | None = Field(description="For a subscription: the end of the paid period.")
    ends_at: datetime | None = Field(description="For a cancelled subscription: when it ends.")


class PaymentList(Schema):
    data: list[Payment]
    next_cursor: str | None


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
    """``uses_left`` null: without limit; ``valid_until`` null: without end."""

    id: str
    object: Literal["entitlement"]
    subject: Subject
    item: str
    payment: str
    livemode: bool = Field(description="False: it was paid for in test mode.")
    status: Literal["active", "suspended", "revoked", "ended"]
    usable: bool
    uses_left: int | None
    valid_until: datetime | None
    created_at: datetime


class EntitlementList(Schema):
    data: list[Entitlement]
    next_cursor: str | None


class ConsumeRequest(Strict):
    key: str = Field(min_length=1, max_length=255, description="Your own id for this use: sent twice, it counts once.")


class FieldError(Schema):
    """``loc``: the place of the value, from the outside in."""

    loc: list[str | int]
    message: str


class Problem(Schema):
    """RFC 9457."""

    type: str = Field(description="The address of the error's description.")
    title: str
    status: int
    detail: str = Field(description="What is wrong, and what to do.")
    code: str
    errors: list[FieldError] | Absent = Field(None, description="For 422: each value that is not acceptable.")
