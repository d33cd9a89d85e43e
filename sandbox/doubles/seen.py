"""A record of the API requests, for tests to count and read."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(slots=True)
class Seen:
    """``request`` is its id, ``at`` the real time in seconds, ``error`` the API's code or type of error."""

    request: str
    method: str
    path: str
    at: float = field(default_factory=time.time)
    account: str | None = None
    key: str | None = None
    params: dict[str, Any] = field(default_factory=dict)
    status: int | None = None
    error: str | None = None
    replayed: bool = False
    fault: str | None = None

    def shown(self) -> dict[str, Any]:
        return asdict(self)
