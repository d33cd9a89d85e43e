"""Idempotency keys: the first answer is kept and given again (docs.stripe.com/api/idempotent_requests)."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from sandbox.stripe.errors import StripeError

KEPT_SECONDS = 86_400
MAX_KEY = 255


@dataclass(slots=True)
class Kept:
    """``status`` 0: the first request is still under way. ``request``: the id of that one. ``at``: sandbox clock."""

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
        """None for the first request with this key, else its answer. Raises StripeError for another or a hasty one."""
        if len(key) > MAX_KEY:
            raise StripeError(400, f"Idempotency keys have at most {MAX_KEY} characters.", type="idempotency_error")
        with self._lock:
            kept = self._kept.get((account, key))
            if kept is None or kept.at + KEPT_SECONDS <= now:
                self._kept[account, key] = Kept(fingerprint, now, request)
                return None
        if kept.fingerprint != fingerprint:
            sentence = (
                "Keys for idempotent requests can only be used with the same parameters they were first used with."
            )
            raise StripeError(400, sentence, type="idempotency_error")
        if not kept.status:
            sentence = f"There is currently another in-progress request using this Idempotent Key ({key})."
            raise StripeError(409, sentence, code="idempotency_key_in_use", type="idempotency_error")
        return kept

    def keep(self, account: str, key: str, status: int, body: str) -> None:
        with self._lock:
            kept = self._kept.get((account, key))
            if kept is not None:
                kept.status, kept.body = status, body

    def release(self, account: str, key: str) -> None:
        """The request was not carried out: the key is free again."""
        with self._lock:
            self._kept.pop((account, key), None)

    def forget(self) -> None:
        with self._lock:
            self._kept.clear()
