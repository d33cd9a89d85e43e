"""The state of the double, in memory, and the authentication of callers."""

from __future__ import annotations

import secrets
import threading
import time
from datetime import UTC, datetime
from typing import Any

from werkzeug.datastructures import Headers

from sandbox.doubles.faults import Faults
from sandbox.doubles.keys import Keys
from sandbox.doubles.seen import Seen
from sandbox.mollie.errors import MollieError, missing
from sandbox.mollie.hooks import Hooks

Thing = dict[str, Any]
TEST_KEYS = "test_"


class Double:
    """``root``: the address under which all of it is served. Hold ``lock`` to read or change anything.

    ``profiles``: key -> id. ``payments`` have Mollie's members, and additional ones: ``_profile``, ``_minor``,
    ``_refunds``, ``_chargebacks``. ``bent``: the amount of the next payments in minor units, in place of the requested
    one.
    """

    def __init__(self, root: str, profiles: dict[str, str]) -> None:
        self.root = root
        self.lock = threading.RLock()
        self.profiles = profiles
        self.payments: dict[str, Thing] = {}
        self.keys, self.faults, self.hooks = Keys(), Faults(), Hooks()
        self.seen: list[Seen] = []
        self.offset = 0
        self.bent: int | None = None
        self.cancelable = True

    def now(self) -> int:
        """Seconds since the epoch, by the clock that the control can move forward."""
        return int(time.time()) + self.offset

    def moment(self, seconds: int) -> str:
        return datetime.fromtimestamp(seconds, UTC).isoformat()

    def caller(self, headers: Headers) -> str:
        """The profile with that key. Raises MollieError 401."""
        key = headers.get("Authorization", "").removeprefix("Bearer ").strip()
        if not key.startswith(TEST_KEYS):
            raise MollieError(401, "SANDBOX: only test keys (test_…) are taken here.")
        if key not in self.profiles:
            raise MollieError(401, "Missing authentication, or failed to authenticate")
        return self.profiles[key]

    def find(self, profile: str, id: str) -> Thing:
        payment = self.payments.get(id)
        if payment is None or payment["_profile"] != profile:
            raise missing("payment", id)
        return payment

    def calm(self) -> None:
        self.faults.forget()
        self.bent, self.cancelable, self.hooks.drop = None, True, False

    def forget(self) -> None:
        """Return to the initial state, but keep profiles that were added."""
        self.calm()
        self.keys.forget()
        self.hooks.forget()
        self.payments.clear()
        self.seen, self.offset = [], 0


def new_id(prefix: str) -> str:
    return f"{prefix}_{secrets.token_hex(11)}"
