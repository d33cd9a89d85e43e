"""PayPal's error body (developer.paypal.com/api/rest/responses)."""

from __future__ import annotations

import secrets
from typing import Any

from sandbox.doubles.calls import ApiError

NAMES = {
    400: "INVALID_REQUEST",
    401: "AUTHENTICATION_FAILURE",
    403: "NOT_AUTHORIZED",
    404: "RESOURCE_NOT_FOUND",
    422: "UNPROCESSABLE_ENTITY",
}


class PayPalError(ApiError):
    """``issue`` is PayPal's name for what is wrong, ``field`` the wrong parameter, if there is one."""

    def __init__(
        self, status: int, issue: str, message: str = "", field: str | None = None, *, kept: bool = False
    ) -> None:
        super().__init__(status, message or issue, kept=kept)
        self.issue = issue
        self.field = field

    def body(self) -> dict[str, Any]:
        detail = {"issue": self.issue, "description": str(self)} | ({"field": self.field} if self.field else {})
        name = NAMES.get(self.status, "INTERNAL_SERVER_ERROR")
        return {"name": name, "message": str(self), "debug_id": secrets.token_hex(6), "details": [detail], "links": []}


class TokenError(ApiError):
    """At the token endpoint: OAuth's form."""

    def body(self) -> dict[str, Any]:
        return {"error": "invalid_client", "error_description": str(self)}


def unfit(field: str, issue: str, message: str = "") -> PayPalError:
    return PayPalError(400, issue, message, field)


def missing() -> PayPalError:
    """There is no such thing, or not of this merchant: both look the same."""
    return PayPalError(404, "INVALID_RESOURCE_ID", "The specified resource does not exist.")
