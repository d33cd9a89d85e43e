"""How a question ended, as a value: match on the class. A decline is an answer, not an exception."""

from __future__ import annotations

from dataclasses import dataclass

from elicit_flows.sdk.shapes import Elicitation
from elicit_flows.states import Status
from elicit_flows.values import Json


@dataclass(frozen=True, slots=True)
class _Ended:
    elicitation: Elicitation

    def __bool__(self) -> bool:
        """True for a completed one alone: ``if await elicit.confirm(…)`` takes nothing else for a yes."""
        return isinstance(self, Completed)


@dataclass(frozen=True, slots=True)
class Completed(_Ended):
    """The user did what was asked. ``reused``: an earlier answer held, nobody was asked again."""

    @property
    def result(self) -> Json:
        return self.elicitation.result or {}

    @property
    def reused(self) -> bool:
        return self.elicitation.reused

    @property
    def connection(self) -> str:
        """The connection's id, for ``token`` and ``revoke``. Raises KeyError for a kind that makes no connection."""
        return str(self.result["connection"])

    @property
    def payment(self) -> str:
        """The payment's id, for ``refund``. Raises KeyError for a kind that takes no money."""
        return str(self.result["payment"])

    @property
    def scopes(self) -> tuple[str, ...]:
        """What the provider granted, which may be less than what was asked for."""
        return tuple(self.result.get("scopes") or ())

    @property
    def account(self) -> Json | None:
        """``{"id": ..., "label": ...}`` of the account at the provider, None when the provider does not tell."""
        return self.result.get("account")


@dataclass(frozen=True, slots=True)
class Declined(_Ended):
    """The user said no."""


@dataclass(frozen=True, slots=True)
class Cancelled(_Ended):
    """The agent took the question back."""


@dataclass(frozen=True, slots=True)
class Expired(_Ended):
    """Nobody answered in time."""


@dataclass(frozen=True, slots=True)
class Failed(_Ended):
    """It could not be done; ``code`` and ``message`` say why."""

    @property
    def code(self) -> str:
        return str((self.elicitation.error or {}).get("code", ""))

    @property
    def message(self) -> str:
        return str((self.elicitation.error or {}).get("message", ""))


Outcome = Completed | Declined | Cancelled | Expired | Failed

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
