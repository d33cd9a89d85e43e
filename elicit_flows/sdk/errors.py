"""What can go wrong for an agent. A person who says no is none of it: that is an outcome, see outcomes.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elicit_flows.sdk.outcomes import Outcome
    from elicit_flows.sdk.shapes import Elicitation


class ElicitError(Exception):
    """The service refused, or could not be asked.

    ``code`` is the problem's code as the service's API page lists them; ``unreachable`` and ``unexpected_answer`` are
    this client's own. ``status`` is the HTTP status, None when there was no answer. ``errors`` is filled for 422:
    ``[{"loc": [...], "message": "..."}]``. ``retry_after`` is in seconds, None when the service did not say.
    """

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        status: int | None = None,
        errors: list[dict[str, Any]] | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(f"{detail} [{code}]")
        self.code = code
        self.detail = detail
        self.status = status
        self.errors = errors or []
        self.retry_after = retry_after

    @classmethod
    def from_problem(cls, status: int, body: Mapping[str, Any], retry_after: float | None) -> ElicitError:
        """Read problem details (RFC 9457), or OAuth's error of the one call that answers so (RFC 6749, section 5.2). A
        body without them (a proxy's page) becomes code ``http_<status>``.
        """
        detail = (
            body.get("detail") or body.get("error_description") or body.get("title") or f"The service answered {status}"
        )
        code = body.get("code") or f"http_{status}"
        return cls(code, detail, status=status, errors=body.get("errors"), retry_after=retry_after)


class NotCompleted(ElicitError):
    """A connection was asked of an outcome that has none; ``outcome`` says what happened instead."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__("not_completed", f"There is no connection: the question was {outcome.elicitation.status}")
        self.outcome = outcome


class StillWaiting(ElicitError):
    """The caller's own timeout passed first. ``elicitation`` stays open: wait for it again, or cancel it."""

    def __init__(self, elicitation: Elicitation) -> None:
        super().__init__("still_waiting", f"Nobody has answered {elicitation.id} yet")
        self.elicitation = elicitation
