"""Faults that are ordered for the next API requests."""

from __future__ import annotations

import fnmatch
import threading
from dataclasses import dataclass, replace
from typing import Any


@dataclass(slots=True)
class Fault:
    """``on``: "POST /v1/refunds", with * for anything. ``times``: how many requests it affects.

    ``status``: the error to answer, None for the usual answer. ``executed``: the request is executed all the same.
    ``stored``: the idempotency key stores the error. ``hang``: seconds that it takes, during which its idempotency key
    is in use; with ``sent``, everything is done first and only the answer is late. ``lose``: the connection is closed
    in place of an answer. ``should_retry``: the value of Stripe's header with that name, if any.
    """

    name: str
    on: str = "*"
    times: int = 1
    status: int | None = None
    executed: bool = False
    stored: bool = False
    hang: float = 0.0
    sent: bool = False
    lose: bool = False
    should_retry: bool | None = None

    @property
    def sentence(self) -> str:
        return f"SANDBOX: this {self.status} was ordered at /_control."


PRESETS = {
    "lose_reply": Fault("lose_reply", executed=True, lose=True),
    "lose_request": Fault("lose_request", lose=True),
    "hang": Fault("hang", executed=True, hang=90.0),
    "late_reply": Fault("late_reply", executed=True, hang=90.0, sent=True),
    "429": Fault("429", status=429),
    "500": Fault("500", status=500, stored=True),
    "500_executed": Fault("500_executed", status=500, stored=True, executed=True),
    "503": Fault("503", status=503),
    "should_retry": Fault("should_retry", status=429, should_retry=True),
    "should_not_retry": Fault("should_not_retry", status=500, stored=True, should_retry=False),
}


class Faults:
    """The faults that wait for their request, oldest first. ``resumed`` is set to let hanging requests continue."""

    def __init__(self) -> None:
        self.waiting: list[Fault] = []
        self.resumed = threading.Event()
        self._lock = threading.Lock()

    def order(self, name: str, given: dict[str, Any]) -> Fault:
        """Order one of the presets; ``given`` overrides its values."""
        fault = replace(PRESETS[name], **given)
        with self._lock:
            self.waiting.append(fault)
        return fault

    def take(self, method: str, path: str) -> Fault | None:
        """The fault for this request, which uses it up once."""
        with self._lock:
            fault = next((one for one in self.waiting if fnmatch.fnmatchcase(f"{method} {path}", one.on)), None)
            if fault is None:
                return None
            fault.times -= 1
            if fault.times <= 0:
                self.waiting.remove(fault)
            return replace(fault)

    def forget(self) -> None:
        with self._lock:
            self.waiting.clear()
        self.resumed.set()
        self.resumed = threading.Event()
