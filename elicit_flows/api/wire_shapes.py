"""What OpenAPI says of the messages of ``GET /v1/elicitations/{id}/wire/{protocol}``."""

from __future__ import annotations

from typing import Any, Literal

from ninja import Schema


class UrlModeParams(Schema):
    """``elicitationId`` is left out in MCP 2026-07-28."""

    mode: Literal["url"]
    message: str
    url: str
    elicitationId: str | None = None


class FormModeParams(Schema):
    mode: Literal["form"]
    message: str
    requestedSchema: dict[str, Any]


class ElicitationRequest(Schema):
    """MCP and ACP: the request."""

    method: Literal["elicitation/create"]
    params: UrlModeParams | FormModeParams


class CompletionParams(Schema):
    elicitationId: str


class ElicitationComplete(Schema):
    """MCP 2025-11-25 and ACP: the notification of the end."""

    method: Literal["notifications/elicitation/complete", "elicitation/complete"]
    params: CompletionParams


class InputRequiredResult(Schema):
    """MCP 2026-07-28."""

    resultType: Literal["input_required"]
    inputRequests: dict[str, ElicitationRequest]


class ChatInputRequest(Schema):
    """``url`` is left out in form mode, ``questions`` where there are none."""

    id: str
    message: str
    url: str | None = None
    questions: list[dict[str, Any]] | None = None


class ChatInputRequested(Schema):
    """AHP."""

    type: Literal["chat/inputRequested"]
    request: ChatInputRequest


class ChatInputCompleted(Schema):
    """AHP: the end."""

    type: Literal["chat/inputCompleted"]
    requestId: str
    response: Literal["accept", "decline", "cancel"]
    answers: dict[str, Any] | None = None


class TesseronRequest(Schema):
    """Tesseron: ``params`` has ``question`` and ``schema``."""

    method: Literal["elicitation/request"]
    params: dict[str, Any]


WireMessage = (
    ElicitationRequest
    | ElicitationComplete
    | InputRequiredResult
    | ChatInputRequested
    | ChatInputCompleted
    | TesseronRequest
)
