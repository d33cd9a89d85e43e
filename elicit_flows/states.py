"""The one state machine: which status may follow which, and what each means to the protocols."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    PENDING = "pending"  # nobody has acted
    STARTED = "started"  # the right user pressed the button
    SETTLING = "settling"  # the outcome is on its way
    COMPLETED = "completed"
    DECLINED = "declined"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    FAILED = "failed"


TERMINAL = frozenset({Status.COMPLETED, Status.DECLINED, Status.CANCELLED, Status.EXPIRED, Status.FAILED})
OPEN = frozenset(Status) - TERMINAL

# settling -> started: the provider could not be reached and nothing was concluded, so the user may try again.
ALLOWED: dict[Status, frozenset[Status]] = {
    Status.PENDING: frozenset({Status.STARTED, Status.COMPLETED, Status.DECLINED, Status.CANCELLED, Status.EXPIRED}),
    Status.STARTED: frozenset({Status.SETTLING}) | (TERMINAL - {Status.COMPLETED}),
    Status.SETTLING: frozenset({Status.STARTED}) | TERMINAL,
    **{status: frozenset() for status in TERMINAL},
}

# What protocols call the answer (MCP's and ACP's accept, decline, cancel). A failure is none of the three.
ACTION: dict[Status, str] = {
    Status.COMPLETED: "accept",
    Status.DECLINED: "decline",
    Status.CANCELLED: "cancel",
    Status.EXPIRED: "cancel",
}


def sources(target: Status) -> list[Status]:
    """The statuses from which ``target`` may be reached."""
    return [status for status, targets in ALLOWED.items() if target in targets]
