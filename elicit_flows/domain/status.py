"""The state machine of an elicitation: which status may follow which, and the names that protocols use."""

from __future__ import annotations

from enum import StrEnum
from functools import cache


class Status(StrEnum):
    PENDING = "pending"  # nobody has acted
    STARTED = "started"  # the right user pressed the button
    SETTLING = "settling"  # the outcome is being determined
    COMPLETED = "completed"
    DECLINED = "declined"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    FAILED = "failed"


TERMINAL = frozenset({Status.COMPLETED, Status.DECLINED, Status.CANCELLED, Status.EXPIRED, Status.FAILED})
OPEN = frozenset(Status) - TERMINAL

# settling -> started: the provider could not be reached, so there is no outcome and the user may try again.
ALLOWED: dict[Status, frozenset[Status]] = {
    Status.PENDING: frozenset({Status.STARTED, Status.COMPLETED, Status.DECLINED, Status.CANCELLED, Status.EXPIRED}),
    Status.STARTED: frozenset({Status.SETTLING}) | (TERMINAL - {Status.COMPLETED}),
    Status.SETTLING: frozenset({Status.STARTED}) | TERMINAL,
    **{status: frozenset() for status in TERMINAL},
}

# The names of the answer in MCP and ACP (accept, decline, cancel). A failure has none.
ACTION: dict[Status, str] = {
    Status.COMPLETED: "accept",
    Status.DECLINED: "decline",
    Status.CANCELLED: "cancel",
    Status.EXPIRED: "cancel",
}


@cache
def sources(target: Status) -> tuple[Status, ...]:
    """The statuses from which ``target`` may be reached."""
    return tuple(status for status, targets in ALLOWED.items() if target in targets)
