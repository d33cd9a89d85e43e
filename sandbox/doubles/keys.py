"""Idempotency keys: the first answer is stored for a day and repeated.

docs.stripe.com/api/idempotent_requests, docs.mollie.com/reference/api-idempotency: both work the same.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass

KEPT_SECONDS = 86_400
MAX_KEY = 255


class KeyTrouble(Exception):
    """The key cannot be used like this. ``hasty``: its first request is still running."""

    def __init__(self, sentence: str, *, hasty: bool = False) -> None:
        super().__init__(sentence)
        self.hasty = hasty


@dataclass(slots=True)
class Kept:
    """``status`` 0: the first request is still running. ``request``: its id. ``at``: by the sandbox's clock."""

    fingerprint: str
    at: int
    request: str
    status: int = 0
    body: str = ""


class Keys:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[tuple[str, str], Kept] = {}

    def claim(self, account: str, key: str, fingerprint: str, request: str, now: int) -> Kept | None:
        """None for the first request with this key, otherwise its stored answer. Raises KeyTrouble."""
        if len(key) > MAX_KEY:
            raise KeyTrouble(f"Idempotency keys have at most {MAX_KEY} characters.")
        with self._lock:
            kept = self._kept.get((account, key))
            if kept is None or kept.at + KEPT_SECONDS <= now:
                self._kept[account, key] = Kept(fingerprint, now, request)
                return None
        if kept.fingerprint != fingerprint:
            raise KeyTrouble(
                "Keys for idempotent requests can only be used with the same parameters they were first used with."
            )
        if not kept.status:
            raise KeyTrouble(
                f"There is currently another in-progress request using this Idempotent Key ({key}).", hasty=True
            )
        return kept

    def keep(self, account: str, key: str, status: int, body: str) -> None:
        with self._lock:
            kept = self._kept.get((account, key))
            if kept is not None:
                kept.status, kept.body = status, body

    def release(self, account: str, key: str) -> None:
        """Free the key, because the request was not executed."""
        with self._lock:
            self._kept.pop((account, key), None)

    def forget(self) -> None:
        with self._lock:
            self._kept.clear()
