"""Stripe's error envelope, and the errors that are raised in several places."""

from __future__ import annotations

from typing import Any

from sandbox.doubles.calls import ApiError

INVALID = "invalid_request_error"


class StripeError(ApiError):
    def __init__(
        self,
        status: int,
        message: str,
        *,
        type: str = INVALID,
        code: str | None = None,
        param: str | None = None,
        kept: bool = False,
    ) -> None:
        super().__init__(status, message, kept=kept)
        self.type = type
        self.code = code
        self.param = param

    def body(self) -> dict[str, Any]:
        said = {"type": self.type, "message": str(self), "code": self.code, "param": self.param}
        error = {name: value for name, value in said.items() if value is not None}
        if self.code:
            error["doc_url"] = f"https://docs.stripe.com/error-codes/{self.code.replace('_', '-')}"
        return {"error": error}


class Declined(StripeError):
    """The bank refuses a charge (402). Stripe sends the PaymentIntent with the error, and stores both under the key."""

    def __init__(self, error: dict[str, Any], intent: dict[str, Any]) -> None:
        super().__init__(402, error["message"], type=error["type"], code=error["code"], kept=True)
        self.error = error
        self.intent = intent

    def body(self) -> dict[str, Any]:
        return {"error": {**self.error, "charge": self.intent["latest_charge"], "payment_intent": self.intent}}


def missing(kind: str, id: str, param: str = "id", status: int = 404) -> StripeError:
    """There is no such object, or not in this account: both look the same."""
    return StripeError(status, f"No such {kind}: '{id}'", code="resource_missing", param=param)


def invalid(param: str, message: str, code: str | None = None) -> StripeError:
    return StripeError(400, message, code=code, param=param)


def required(param: str) -> StripeError:
    return invalid(param, f"Missing required param: {param}.", "parameter_missing")


def unsimulated(param: str) -> StripeError:
    """Stripe would accept it. It is refused rather than silently ignored."""
    return invalid(param, f"SANDBOX: Stripe has {param}, but the sandbox does not simulate it.", "sandbox_unsimulated")
