"""MCP's extension ``io.modelcontextprotocol/tasks`` for revision 2026-07-28 (SEP-2663): a call is answered with a task,
and the client asks for its state until it has ended.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from elicit_flows.domain.values import Json
from elicit_flows.wires.mcp_2026_07_28 import MISSING_CAPABILITY

EXTENSION = "io.modelcontextprotocol/tasks"
WORKING, INPUT_REQUIRED, COMPLETED, FAILED, CANCELLED = "working", "input_required", "completed", "failed", "cancelled"
KEPT = timedelta(days=1)  # how long the result is available after the question has ended
POLL = timedelta(seconds=2)


def task(task_id: str, status: str, created: datetime, updated: datetime, until: datetime) -> Json:
    """The members that every task has. ``until``: when its question ends."""
    return {
        "taskId": task_id,
        "status": status,
        "createdAt": created.isoformat(),
        "lastUpdatedAt": updated.isoformat(),
        "ttlMs": milliseconds(until - created + KEPT),
        "pollIntervalMs": milliseconds(POLL),
    }


def created(task: Json) -> Json:
    """A ``CreateTaskResult``: the answer to the call."""
    return {"resultType": "task", **task}


def detailed(task: Json, **more: Any) -> Json:
    """The answer to ``tasks/get``. ``more``: ``inputRequests``, ``result`` or ``error``, depending on the status."""
    return {"resultType": "complete", **task, **more}


def acknowledged() -> Json:
    """The answer to ``tasks/update`` and ``tasks/cancel``. The effect is seen in the next ``tasks/get``."""
    return {"resultType": "complete"}


def missing_capability() -> Json:
    """The member ``error`` for a client that asks for a task without having declared the extension in the request."""
    return {
        "code": MISSING_CAPABILITY,
        "message": "This needs a client that supports tasks.",
        "data": {"requiredCapabilities": {"extensions": {EXTENSION: {}}}},
    }


def milliseconds(time: timedelta) -> int:
    return time // timedelta(milliseconds=1)
