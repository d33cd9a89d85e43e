"""How a question ended, as a value: match on its class. A decline is an answer, not an exception."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from elicit_flows.domain.status import Status
from elicit_flows.domain.values import Json
from elicit_flows.sdk.shapes import Elicitation

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Ended:
    elicitation: Elicitation


@dataclass(frozen=True, slots=True)
class _NotDone(_Ended):
    def __bool__(self) -> Literal[False]:
        """False, so that ``if await elicit.confirm(…)`` is true for a yes only; type checkers know it too."""
        return False


@dataclass(frozen=True, slots=True)
class Completed(_Ended):
    """The user did what was asked. This is the only outcome that is true."""

    def __bool__(self) -> Literal[True]:
        return True

    @property
    def result(self) -> Json:
        """The result that the kind defines; empty if it has none."""
        return self.elicitation.result or {}

    @property
    def reused(self) -> bool:
        """Whether an earlier answer was reused, and nobody was asked."""
        return self.elicitation.reused

    @property
    def connection(self) -> str:
        """The connection's id, for ``token`` and ``revoke``. Raises KeyError for a kind without a connection."""
        return str(self.result["connection"])

    @property
    def payment(self) -> str:
        """The payment's id, for ``refund``. Raises KeyError for a kind without a payment."""
        return str(self.result["payment"])

    @property
    def mandate(self) -> str:
        """The mandate's id, for ``charge``. Raises KeyError for a question that asked for none."""
        return str(self.result["mandate"])

    @property
    def subscription(self) -> str:
        """The subscription's id. Raises KeyError for a question that asked for none."""
        return str(self.result["subscription"])

    @property
    def livemode(self) -> bool:
        """Whether real money moved. Raises KeyError for a kind without a payment."""
        return bool(self.result["livemode"])

    @property
    def scopes(self) -> tuple[str, ...]:
        """The scopes that the provider granted, which may be fewer than were asked for."""
        return tuple(self.result.get("scopes") or ())

    @property
    def account(self) -> Json | None:
        """The account at the provider, ``{"id": ..., "label": ...}``; None if the provider does not name it."""
        return self.result.get("account")


@dataclass(frozen=True, slots=True)
class Answered(Completed, Generic[T]):
    """The user filled in a form that was given as a type. ``data``: the answers as an instance of it."""

    data: T


@dataclass(frozen=True, slots=True)
class Declined(_NotDone):
    """The user said no."""


@dataclass(frozen=True, slots=True)
class Cancelled(_NotDone):
    """The agent cancelled the question."""


@dataclass(frozen=True, slots=True)
class Expired(_NotDone):
    """Nobody answered in time."""


@dataclass(frozen=True, slots=True)
class Failed(_NotDone):
    """The request failed; ``code`` and ``message`` say why."""

    @property
    def code(self) -> str:
        """The error's code, empty if there is none."""
        return str((self.elicitation.error or {}).get("code", ""))

    @property
    def message(self) -> str:
        """The error's message, empty if there is none."""
        return str((self.elicitation.error or {}).get("message", ""))


Outcome = Completed | Declined | Cancelled | Expired | Failed
AnswerOutcome = Answered[T] | Declined | Cancelled | Expired | Failed

_CLASSES: dict[Status, type[Outcome]] = {
    Status.COMPLETED: Completed,
    Status.DECLINED: Declined,
    Status.CANCELLED: Cancelled,
    Status.EXPIRED: Expired,
    Status.FAILED: Failed,
}


def outcome_of(elicitation: Elicitation) -> Outcome:
    """The outcome of an elicitation that is over. Raises KeyError while it is open."""
    return _CLASSES[elicitation.status](elicitation)
