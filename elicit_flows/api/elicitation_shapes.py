"""What OpenAPI says of elicitations: a request and an answer for each kind, told apart by ``kind``."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final, Literal

from ninja import Schema
from pydantic import Field, create_model

from elicit_flows.api.kind_shapes import KINDS, of_kind, or_null, union
from elicit_flows.api.schemas import CreateElicitation, Root, Subject
from elicit_flows.domain.status import Status


class ElicitationError(Schema):
    """``message`` is a sentence that may be shown."""

    code: Literal[
        "provider_error", "provider_changed", "organisation_refused", "invalid_content", "payment_mismatch",
        "total_above_maximum", "payment_refused", "price_not_changed", "over_limit",
    ]  # fmt: skip
    message: str


class _Elicitation(Schema):
    id: str
    object: Literal["elicitation"]
    kind: str
    status: Status
    action: Literal["accept", "decline", "cancel"] | None
    url: str = Field(description="The link for the user.")
    message: str
    subject: Subject
    params: Any
    result: Any
    error: ElicitationError | None
    reused: bool
    seq: int
    created_at: datetime
    expires_at: datetime
    finished_at: datetime | None
    consumed_at: datetime | None
    return_url: str | None
    return_: Literal["auto", "button"] = Field(alias="return")
    locale: str | None
    metadata: dict[str, Any]


_REQUESTS: Final = [
    create_model(
        f"Create{shapes.name}",
        __base__=CreateElicitation,
        kind=(of_kind(kind), ...),
        params=(shapes.params, Field(description="The parameters of the kind.")),
    )
    for kind, shapes in KINDS.items()
]
_ANSWERS: Final = [
    create_model(
        f"{shapes.name}Elicitation",
        __base__=_Elicitation,
        kind=(of_kind(kind), ...),
        params=(shapes.asked, Field(description="As they were asked, complete.")),
        result=(or_null(shapes.result), Field(description="When completed.")),
    )
    for kind, shapes in KINDS.items()
]


class Create(Root[union(_REQUESTS, "kind")]):  # type: ignore[misc]
    """A request: its ``params`` are those of its ``kind``."""


class Elicitation(Root[union(_ANSWERS, "kind")]):  # type: ignore[misc]
    """An elicitation: its ``params`` and ``result`` are those of its ``kind``."""


class ElicitationList(Schema):
    data: list[Elicitation]
    next_cursor: str | None
