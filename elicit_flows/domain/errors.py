"""Every error that leaves the service: a code, an HTTP status and one safe sentence.

No other exception reaches a client. The API renders these as RFC 9457 problem details, the pages as a page.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, cast


class FlowError(Exception):
    """Base of all errors. ``detail`` is one sentence that anybody may see; ``retry_after`` is in seconds;
    ``elicitation`` is the id of the link that the person may go back to.
    """

    code: ClassVar[str] = "internal_error"
    status: ClassVar[int] = 500
    title: ClassVar[str] = "Internal error"

    def __init__(self, detail: str = "", *, retry_after: int | None = None, elicitation: str | None = None) -> None:
        super().__init__(detail or self.title)
        self.detail = detail or self.title
        self.retry_after = retry_after
        self.elicitation = elicitation


class BadRequest(FlowError):
    code, status, title = "bad_request", 400, "The request cannot be understood"


class BadCursor(BadRequest):
    code, title = "bad_cursor", "The cursor is not valid"


class BadPath(BadRequest):
    code, title = "bad_path", "This path cannot be called"


class BadCallback(BadRequest):
    code, title = "bad_callback", "Let's start again"


class UserTokenRefused(BadRequest):
    code, title = "user_token_refused", "The user's token is not accepted"


class UnsupportedGrant(BadRequest):
    code, title = "unsupported_grant_type", "Only token exchange is offered here"


class InvalidScope(BadRequest):
    code, title = "invalid_scope", "The connection does not have all these scopes"


class Unauthenticated(FlowError):
    code, status, title = "unauthenticated", 401, "A valid API key is needed"


class WrongUser(FlowError):
    code, status, title = "wrong_user", 403, "This link is for someone else"


class Forbidden(FlowError):
    code, status, title = "forbidden", 403, "This is not allowed"


class UserTokenRequired(Forbidden):
    code, title = "user_token_required", "This agent has to show the user's own token"


class TokensNeverLeave(Forbidden):
    code, title = "tokens_never_leave", "This agent gets no tokens; it calls APIs through this service"


class OverLimit(Forbidden):
    """``asked``: the amount in minor units and the currency."""

    code, title = "over_limit", "This is more than the agent may ask of this person"

    def __init__(self, detail: str, asked: Mapping[str, object]) -> None:
        super().__init__(detail)
        self.asked = asked


class NotFound(FlowError):
    code, status, title = "not_found", 404, "Not found"


class MethodNotAllowed(FlowError):
    code, status, title = "method_not_allowed", 405, "This method is not offered here"


class TooSlow(FlowError):
    code, status, title = "too_slow", 408, "The request took too long to arrive"


class Conflict(FlowError):
    code, status, title = "conflict", 409, "The current state does not allow this"


class AlreadyOver(Conflict):
    code, title = "already_over", "The elicitation is already over"


class NotOver(Conflict):
    code, title = "not_over", "The elicitation is not over yet"


class AlreadyConsumed(Conflict):
    code, title = "already_consumed", "The elicitation's result has been consumed already"


class InFlight(Conflict):
    code, title = "idempotency_in_flight", "A request with this Idempotency-Key is being worked on"


class DraftChanged(Conflict):
    code, title = "draft_changed", "Somebody else has changed this answer"


class DraftNotShared(Conflict):
    code, title = "draft_not_shared", "The drafts of this form are not shared"


class NotSubmitted(Conflict):
    code, title = "not_submitted", "A required question has no submitted answer yet"


class NoApi(Conflict):
    code, title = "no_api", "It is not known where this provider's API is"


class ReauthorizationRequired(Conflict):
    code, title = "reauthorization_required", "The user has to connect the account again"


class StartAgain(Conflict):
    """The attempt at the provider failed; the link still works."""

    code, title = "start_again", "This did not work; start again"


class ConnectionRevoked(FlowError):
    code, status, title = "connection_revoked", 410, "The connection was revoked"


class Over(FlowError):
    code, status, title = "over", 410, "This link has ended"


class TooLarge(FlowError):
    code, status, title = "too_large", 413, "The request is too large"


class UnsupportedMedia(FlowError):
    code, status, title = "unsupported_media_type", 415, "Only application/json in UTF-8 is read here"


class Invalid(FlowError):
    """422. ``errors`` says which value, why, and what to do: [{loc: [...], message: "..."}]."""

    code, status, title = "invalid", 422, "A value is not acceptable"

    def __init__(self, errors: list[dict[str, object]] | None = None, detail: str = "") -> None:
        super().__init__(detail)
        self.errors = errors or []

    @classmethod
    def at(cls, loc: str, message: str) -> Invalid:
        """One error at a dotted place: ``Invalid.at("params.provider", "…")``."""
        return cls([{"loc": loc.split("."), "message": message}], message)

    @classmethod
    def beside(cls, messages: Mapping[str, str]) -> Invalid:
        """One error beside each field of a page."""
        return cls([{"loc": [name], "message": message} for name, message in messages.items()])

    def place(self) -> str:
        """The place of the first error, with dots: ``params.amount``."""
        return ".".join(map(str, cast(list[object], self.errors[0]["loc"])))

    def by_field(self) -> dict[str, str]:
        """The messages by the page's fields that they belong to."""
        return {".".join(map(str, cast(list[object], one["loc"]))): str(one["message"]) for one in self.errors}


class IdempotencyMismatch(Invalid):
    code, title = "idempotency_mismatch", "This Idempotency-Key was used with another body"


class TooMany(FlowError):
    code, status, title = "too_many_requests", 429, "Too many requests"


class ProviderUnavailable(FlowError):
    code, status, title = "provider_unavailable", 503, "The provider does not answer"


class ClientUnknown(ProviderUnavailable):
    """If the service registers itself at the provider, it registers again for the next attempt."""

    code, title = "client_unknown", "The provider no longer knows this service; start again"


class ProviderBroken(FlowError):
    code, status, title = "provider_broken", 502, "The provider's answer cannot be used"


class Unavailable(FlowError):
    code, status, title = "unavailable", 503, "The service is not available now"
