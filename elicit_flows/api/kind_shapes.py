"""What OpenAPI says of each kind: the parameters that an agent gives, as they are in answers, and the result.

``kinds`` is what reads them, and says what is wrong in words. The tests hold the two to each other.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, Literal, NamedTuple

from ninja import Schema
from pydantic import Field, create_model

from elicit_flows.api import x402_shapes as x402
from elicit_flows.api.form_shapes import FormAsked, FormParams, FormResult
from elicit_flows.api.schemas import Absent, Account, AskedMode, Metadata, Order, Root, Strict
from elicit_flows.elicitations import multi_step
from elicit_flows.kinds.confirm import params as confirm
from elicit_flows.kinds.credentials import fields
from elicit_flows.kinds.link.kind import MAX_URL
from elicit_flows.kinds.oauth.mcp_server import MAX_URL as MAX_MCP_URL
from elicit_flows.kinds.oauth.params import MAX_REASON, MAX_SCOPES
from elicit_flows.kinds.payment import mandate, order
from elicit_flows.kinds.payment import params as payment
from elicit_flows.oauth import SCOPE_TOKEN

Slug = Annotated[str, Field(min_length=1, max_length=64)]
Scope = Annotated[str, Field(pattern=f"^{SCOPE_TOKEN.pattern}$")]
Interval = Literal["day", "week", "month", "year"]
Currency = Annotated[str, Field(pattern="^[a-z]{3}$", description="ISO 4217, in lower case.", examples=["eur"])]


_Scopes = Annotated[list[Scope], Field(default_factory=list, max_length=MAX_SCOPES)]
_Reasons = Annotated[
    dict[str, Annotated[str, Field(min_length=1, max_length=MAX_REASON)]] | None,
    Field(
        description="Why you need a scope, by its name. The user reads it below the scope, as your words.",
        examples=[{"repo": "To open a pull request with the correction."}],
    ),
]
_Again = Annotated[str | None, Field(description="The id of the connection that is to be connected again.")]


class OAuthParams(Strict):
    provider: Slug = Field(description="The provider's slug.")
    scopes: _Scopes
    reasons: _Reasons = None
    connection: _Again = None
    variables: dict[str, str] | None = Field(None, description="What is known of the provider's address: a proposal.")


class McpServerParams(Strict):
    mcp: str = Field(
        max_length=MAX_MCP_URL,
        description="The address of a remote MCP server, if your operator allows its host. Nobody has to configure it.",
        examples=["https://mcp.example.com/mcp"],
    )
    scopes: _Scopes
    reasons: _Reasons = None
    connection: _Again = None


class OAuthAsked(Schema):
    provider: str = Field(description="The provider's slug, or the one that stands for the MCP server.")
    mcp: str | Absent = None
    scopes: list[str]
    reasons: dict[str, str] | Absent = None
    connection: str | Absent = None
    variables: dict[str, str] | Absent = None


class OAuthResult(Schema):
    """``account`` null: the provider does not name it."""

    connection: str = Field(description="The id of the connection.")
    provider: str
    scopes: list[str]
    account: Account | None
    label: str
    metadata: Metadata
    variables: dict[str, str] = Field(
        description="What the user named in the provider's addresses, such as their shop."
    )
    resource: str | Absent = Field(None, description="For an MCP server: the resource that the tokens are for.")


class MandateParams(Strict):
    """What the user allows. Amounts are in minor units of the currency."""

    per_charge: int = Field(ge=1, le=mandate.MAX_AMOUNT, description="At most per charge.")
    per_day: int | None = Field(None, ge=1, le=mandate.MAX_TOTAL, description="At most in 24 hours.")
    per_month: int | None = Field(None, ge=1, le=mandate.MAX_TOTAL, description="At most in 30 days.")
    total: int = Field(ge=1, le=mandate.MAX_TOTAL, description="At most in all.")
    until: datetime = Field(description=f"The end, at most {mandate.LONGEST.days} days from now.")
    notice: Literal["before", "after"] | None = Field(
        None, description="before: each charge is announced a day before, and the user can refuse it. Default: after."
    )


class MandateAsked(Schema):
    per_charge: int
    per_day: int | None
    per_month: int | None
    total: int
    until: datetime
    notice: Literal["before", "after"]


class OrderLineParams(Strict):
    name: str = Field(min_length=1, max_length=order.MAX_NAME, description="What is bought.")
    quantity: int | None = Field(None, ge=1, le=order.MAX_QUANTITY, description="When left out: 1.")
    unit_amount: int = Field(ge=0, le=order.MAX_AMOUNT, description="The price of one, in minor units.")


OrderTax = Annotated[int, Field(ge=0, le=order.MAX_AMOUNT)]


class OrderParams(Strict):
    """What the amount is made of. The lines and the tax have to come to the amount. If the provider computes the tax,
    the amount is the most that may be charged.
    """

    lines: list[OrderLineParams] = Field(min_length=1, max_length=order.MAX_LINES)
    tax: OrderTax | Literal["provider"] | None = Field(
        None,
        description="In minor units, on top of the lines; provider: the payment provider computes it. Left out: 0.",
    )
    number: str | None = Field(None, min_length=1, max_length=order.MAX_NUMBER, description="Your order number.")
    purpose: str | None = Field(None, min_length=1, max_length=order.MAX_PURPOSE, description="What the order is for.")
    invoice: bool | None = Field(None, description="Whether the provider makes an invoice of it.")


class PaymentParams(Strict):
    amount: int | None = Field(
        None,
        ge=0,
        le=payment.MAX_AMOUNT,
        description="In minor units: 1999 is 19.99 EUR and 1999 JPY. At least 1; modes save and mandate take none.",
    )
    currency: Currency
    description: str | None = Field(
        None,
        min_length=1,
        max_length=payment.MAX_DESCRIPTION,
        description="What is paid for. It is needed, except with changes.",
    )
    account: Slug | None = Field(None, description="The payment account, if you may use several.")
    mode: AskedMode | None = Field(None, description="When left out: pay.")
    interval: Interval | None = Field(None, description="The period of mode subscribe, which needs one.")
    trial_days: int | None = Field(
        None,
        ge=1,
        le=payment.MAX_TRIAL,
        description="How many days of mode subscribe are free before the first charge.",
    )
    item: str | None = Field(None, min_length=1, max_length=payment.MAX_ITEM, description="What the user may use then.")
    uses: int | None = Field(None, ge=1, le=payment.MAX_USES, description="How often. When left out: without limit.")
    mandate: MandateParams | None = Field(None, description="The limits of mode mandate, which needs them.")
    order: OrderParams | None = Field(None, description="The lines of mode pay, which the user sees before they pay.")
    changes: str | None = Field(
        None,
        min_length=1,
        max_length=payment.MAX_ID,
        description="The id of a running subscription, in mode subscribe: the amount is its new price, from the next "
        "charge on. Leave out what it has already: description, interval, trial_days, item and uses.",
    )


class PaymentAsked(Schema):
    amount: int
    currency: str
    description: str
    account: str | None
    mode: AskedMode
    interval: Interval | None
    item: str | None
    uses: int | None
    mandate: MandateAsked | Absent = None
    order: Order | Absent = None
    trial_days: int | Absent = None
    changes: str | Absent = None
    previous_amount: int | Absent = Field(None, description="With changes: the price until then.")


class PaymentResult(Schema):
    """``entitlement``: its id, if you asked with an ``item``. ``mandate``: its id, in mode mandate. ``subscription``:
    its id, in mode subscribe. The prices are those of a changed subscription.
    """

    payment: str = Field(description="The id of the payment.")
    livemode: bool = Field(description="False: test mode, no real money moves.")
    amount: int = Field(description="What was paid: 0 where a trial comes first, or a price was changed.")
    currency: str
    status: Literal["paid", "saved", "active"]
    receipt_url: str | None
    entitlement: str | Absent = None
    mandate: str | Absent = None
    subscription: str | Absent = None
    order_number: str | Absent = Field(None, description="That of your order, if it has one.")
    price: int | Absent = None
    previous_price: int | Absent = None
    price_from: datetime | Absent | None = Field(None, description="When the new price is charged first.")
    tax: int | Absent = Field(None, description="Of the amount, if the provider has computed it.")


class CredentialsField(Strict):
    name: str = Field(pattern=f"^{fields.NAME.pattern}$")
    label: str = Field(min_length=1, max_length=fields.MAX_LABEL)
    secret: bool | Absent = Field(None, description="Whether it is hidden while it is typed. When left out: true.")
    help: str | None = Field(None, min_length=1, max_length=fields.MAX_HELP)
    pattern: str | None = Field(None, min_length=1)


class CredentialsFieldAsked(Schema):
    name: str
    label: str
    secret: bool
    help: str | None
    pattern: str | None


class CredentialsParams(Strict):
    """Give either ``fields`` or ``provider``."""

    fields: list[CredentialsField] | None = Field(None, min_length=1, max_length=fields.MAX_FIELDS)
    provider: Slug | None = Field(None, description="The slug of a provider that has fields.")
    seal_to: dict[str, Any] | None = Field(
        None, description="A public JWK: what is typed is encrypted to it, and only you can read it."
    )


class CredentialsAsked(Schema):
    fields: list[CredentialsFieldAsked] | None
    provider: str | None
    seal_to: dict[str, Any] | None


class CredentialsResult(Schema):
    """For a provider that gives tokens, also what kind oauth has."""

    connection: str = Field(description="The id of the connection.")
    provider: str | Absent = None
    scopes: list[str] | Absent = None
    account: Account | None = None


class ConfirmParams(Strict):
    detail: str | None = Field(None, min_length=1, max_length=confirm.MAX_DETAIL, description="What will happen.")
    danger: bool | None = Field(None, description="Whether the user types a word first. When left out: false.")
    confirm_label: str | None = Field(None, min_length=1, max_length=confirm.MAX_LABEL)
    decline_label: str | None = Field(None, min_length=1, max_length=confirm.MAX_LABEL)


class ConfirmAsked(Schema):
    detail: str | None
    danger: bool
    confirm_label: str | None
    decline_label: str | None


class ConfirmResult(Schema):
    confirmed: Literal[True]


class LinkParams(Strict):
    url: str = Field(max_length=MAX_URL, examples=["https://example.com/terms"])
    completion: Literal["on_return", "by_agent"] = Field(description="What completes it.")


class LinkAsked(Schema):
    url: str
    completion: Literal["on_return", "by_agent"]


class LinkResult(Strict):
    """Nothing: it is completed."""


class KindShapes(NamedTuple):
    """``name``: what the kind's schemas begin with. ``params``: a model, or several of which one fits."""

    name: str
    params: Any
    asked: type[Any]
    result: type[Any]


ONE: Final = {
    "oauth": KindShapes("OAuth", OAuthParams | McpServerParams, OAuthAsked, OAuthResult),
    "payment": KindShapes("Payment", PaymentParams, PaymentAsked, PaymentResult),
    "credentials": KindShapes("Credentials", CredentialsParams, CredentialsAsked, CredentialsResult),
    "form": KindShapes("Form", FormParams, FormAsked, FormResult),
    "confirm": KindShapes("Confirm", ConfirmParams, ConfirmAsked, ConfirmResult),
    "link": KindShapes("Link", LinkParams, LinkAsked, LinkResult),
    "x402": KindShapes("X402", x402.X402Params, x402.X402Asked, x402.X402Result),
}


def of_kind(kind: str) -> Any:
    """The type of ``kind``: this value and no other."""
    return Literal[kind]


def or_null(model: Any) -> Any:
    return model | None


def union(models: list[type[Any]], by: str) -> Any:
    """One of ``models``; the member ``by`` says which."""
    joined = models[0]
    for model in models[1:]:
        joined = joined | model  # type: ignore[assignment]
    return Annotated[joined, Field(discriminator=by)]


Message = Annotated[str, Field(min_length=1, max_length=multi_step.MAX_MESSAGE)]
_IN_STEPS: Final = {kind: shapes for kind, shapes in ONE.items() if kind not in multi_step.ALONE}
_STEPS: Final = [
    create_model(
        f"{shapes.name}Step",
        __base__=Strict,
        kind=(of_kind(kind), ...),
        params=(shapes.params, ...),
        message=(Message | None, Field(None, description="When left out: the message of the whole.")),
    )
    for kind, shapes in _IN_STEPS.items()
]
_STEPS_ASKED: Final = [
    create_model(
        f"{shapes.name}StepAsked",
        __base__=Schema,
        kind=(of_kind(kind), ...),
        params=(shapes.asked, ...),
        message=(str, ...),
    )
    for kind, shapes in _IN_STEPS.items()
]
_STEPS_DONE: Final = [
    create_model(
        f"{shapes.name}StepDone",
        __base__=Schema,
        kind=(of_kind(kind), ...),
        result=(shapes.result, ...),
    )
    for kind, shapes in _IN_STEPS.items()
]


class Step(Root[union(_STEPS, "kind")]):  # type: ignore[misc]
    """One of several steps."""


class StepAsked(Root[union(_STEPS_ASKED, "kind")]):  # type: ignore[misc]
    """One of several steps, as it is asked."""


class StepDone(Root[union(_STEPS_DONE, "kind")]):  # type: ignore[misc]
    """A step that is completed."""


class StepsParams(Strict):
    steps: list[Step] = Field(min_length=2, max_length=multi_step.MOST)


class StepsAsked(Schema):
    steps: list[StepAsked]


class StepsResult(Schema):
    """The steps that are completed, in their order. It is there before the last one is."""

    steps: list[StepDone]


KINDS: Final = ONE | {"steps": KindShapes("Steps", StepsParams, StepsAsked, StepsResult)}
