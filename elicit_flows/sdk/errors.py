"""The exceptions of the SDK. A user's no is not one of them: it is an outcome, see outcomes.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elicit_flows.sdk.outcomes import Outcome
    from elicit_flows.sdk.shapes import Elicitation

MAX_TOLD = 5  # how many errors of one answer the exception's text lists


class ElicitError(Exception):
    """The service refused, or could not be reached. ``str`` gives the reason, the code and the id of the request.

    ``code`` is one of the codes on the API's error page; ``unreachable`` and ``unexpected_answer`` come from this
    client itself. ``status`` is the HTTP status, None if there was no answer. ``errors`` is filled for 422: ``[{"loc":
    [...], "message": "..."}]``. ``retry_after`` is in seconds, None if the service gave none. ``request_id``
    (X-Request-Id) finds the request in the service's log; None if the answer had none.
    """

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        status: int | None = None,
        errors: list[dict[str, Any]] | None = None,
        retry_after: float | None = None,
        request_id: str | None = None,
    ) -> None:
        number = f", request {request_id}" if request_id else ""
        super().__init__(f"{told(errors) or detail} [{code}{number}]")
        self.code = code
        self.detail = detail
        self.status = status
        self.errors = errors or []
        self.retry_after = retry_after
        self.request_id = request_id

    @property
    def reason(self) -> str:
        """The first mistake without its place in the request, to show to the person who made it."""
        return str(self.errors[0].get("message") or self.detail) if self.errors else self.detail

    @classmethod
    def from_problem(
        cls, status: int, body: Mapping[str, Any], retry_after: float | None, request_id: str | None = None
    ) -> ElicitError:
        """The exception for an answer with problem details (RFC 9457), or with an OAuth error (RFC 6749, section 5.2).

        A body with neither (a proxy's page) gets the code ``http_<status>``. The code and the status decide the class.
        """
        detail = body.get("detail") or body.get("error_description") or body.get("title")
        code = str(body.get("code") or f"http_{status}")
        kind = _BY_CODE.get(code) or _BY_STATUS.get(status) or (ServerError if status >= 500 else ElicitError)
        found = body.get("errors")
        errors = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else None
        said = str(detail or f"The service answered {status}")
        return kind(code, said, status=status, errors=errors, retry_after=retry_after, request_id=request_id)


def told(errors: Sequence[Mapping[str, Any]] | None) -> str:
    """The errors as one line: ``params.amount: Give a …; params.currency: Give an …``."""
    known = [one for one in errors or [] if isinstance(one.get("loc"), list) and one.get("message")]
    more = f"; and {len(known) - MAX_TOLD} more" if len(known) > MAX_TOLD else ""
    return "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['message']}" for one in known[:MAX_TOLD]) + more


class InvalidRequestError(ElicitError):
    """400, 413, 415 or 422: the request is wrong, and a retry will not help. ``errors`` says where."""


class InvalidQuestionError(InvalidRequestError, ValueError):
    """A question that the service would refuse, found before it was sent. ``errors`` says where."""

    def __init__(self, errors: list[dict[str, Any]]) -> None:
        super().__init__("invalid", told(errors), errors=errors)


class InvalidAnswerError(ElicitError, ValueError):
    """The answers passed the form and not the validators of the type that it was given as. ``errors`` says where.

    ``elicitation`` is completed and has the answers.
    """

    def __init__(self, detail: str, errors: list[dict[str, Any]], elicitation: Elicitation) -> None:
        super().__init__("invalid_answer", detail, errors=errors)
        self.elicitation = elicitation


class AuthenticationError(ElicitError):
    """401: the API key is missing or not valid."""


class PermissionDeniedError(ElicitError):
    """403: this agent is not allowed to do that."""


class NotFoundError(ElicitError):
    """404: it does not exist, or it belongs to another agent."""


class ConflictError(ElicitError):
    """409: the current state does not allow the call. ``code`` says why."""


class GoneError(ElicitError):
    """410: it existed and has ended, for example a revoked connection."""


class RateLimitedError(ElicitError):
    """429: too many requests. ``retry_after`` says how many seconds to wait."""


class ServerError(ElicitError):
    """5xx: the service failed."""


class ServiceUnavailableError(ServerError):
    """502, 503 or 504: the service, or something that it needs, does not answer at the moment."""


class UnreachableError(ServiceUnavailableError):
    """There was no answer at all."""


class UnexpectedAnswerError(ElicitError):
    """The answer does not come from an Elicit Flows API, or from a version that this SDK does not know."""


class NotCompleted(ElicitError):
    """A connection or a payment was requested from an outcome that has none. ``outcome`` says what happened instead."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__("not_completed", f"There is no connection: the question was {outcome.elicitation.status}")
        self.outcome = outcome


class StillWaiting(ElicitError):
    """The ``timeout`` of the caller has passed. ``elicitation`` stays open: wait for it again, or cancel it."""

    def __init__(self, elicitation: Elicitation) -> None:
        super().__init__("still_waiting", f"Nobody has answered {elicitation.id} yet")
        self.elicitation = elicitation


_BY_STATUS: dict[int, type[ElicitError]] = {
    400: InvalidRequestError,
    401: AuthenticationError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: ConflictError,
    410: GoneError,
    413: InvalidRequestError,
    415: InvalidRequestError,
    422: InvalidRequestError,
    429: RateLimitedError,
    502: ServiceUnavailableError,
    503: ServiceUnavailableError,
    504: ServiceUnavailableError,
}
# Token exchange answers 400 for all of these, as OAuth requires, so the code decides.
_BY_CODE: dict[str, type[ElicitError]] = {
    "not_found": NotFoundError,
    "reauthorization_required": ConflictError,
    "connection_revoked": GoneError,
    "provider_broken": ServiceUnavailableError,
}
