"""One request at a time, tried again while that is safe and the caller's patience lasts.

Every call of the API is safe to repeat: reads change nothing, create, consume and refund carry an Idempotency-Key,
the rest are the same done twice as once.
"""

from __future__ import annotations

import asyncio
import random
import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx2

from elicit_flows.sdk.errors import ElicitError

CONNECT_SECONDS = 10.0
PLAIN_PATIENCE = 5.0
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
JITTER = random.SystemRandom()
TRANSIENT = frozenset({429, 502, 503, 504})


class Patience:
    """How long failures in a row are borne: ``seconds`` from the first of them."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.reset()

    def reset(self) -> None:
        self._until: float | None = None
        self._failures = 0

    async def bear(self, error: ElicitError) -> None:
        """Sleep until the next try; raises ``error`` when that would be too late."""
        now = time.monotonic()
        self._until = now + self._seconds if self._until is None else self._until
        pause = max(error.retry_after or 0.0, min(0.2 * 2**self._failures, 5.0) * JITTER.uniform(0.5, 1.0))
        if now + pause > self._until:
            raise error
        self._failures += 1
        await asyncio.sleep(pause)


def retry_after(headers: httpx2.Headers) -> float | None:
    """Seconds until the next try, from seconds or an HTTP date (RFC 9110 section 10.2.3)."""
    text = headers.get("retry-after", "")
    if text.isdecimal():
        return float(text)
    try:
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None


def problem(response: httpx2.Response) -> ElicitError:
    """The error that an answer of 400 or above stands for."""
    try:
        body = response.json()
    except ValueError:
        body = {}
    fields = body if isinstance(body, dict) else {}
    return ElicitError.from_problem(response.status_code, fields, retry_after(response.headers))


class Transport:
    """The HTTP client of one agent. Redirects are not followed: the key goes to the configured host alone."""

    def __init__(self, url: str, key: str, patience: float = PLAIN_PATIENCE) -> None:
        self.url = url
        self._patience = min(patience, PLAIN_PATIENCE)
        self.http = httpx2.AsyncClient(
            base_url=url,
            headers={"Authorization": f"Bearer {key}", "Accept": "application/json"},
            trust_env=httpx2.URL(url).host not in LOOPBACK,  # no proxy of the environment's leads back to this machine
        )

    async def call(
        self,
        method: str,
        path: str,
        *,
        patience: float | None = None,
        hold: float = 0.0,
        **request: Any,
    ) -> Any:
        """The decoded JSON of a good answer, None for 204. ``hold``: seconds the service may keep the request.

        Raises ElicitError: at once for a refusal, after ``patience`` seconds (at most 5 when not given) for what
        may pass by itself. Who waits gives ``patience``, and bears every failure of the service: one that is being
        replaced says 500 to whom it kept.
        """
        waits = patience is not None
        endurance = Patience(self._patience if patience is None else patience)
        timeout = httpx2.Timeout(CONNECT_SECONDS, read=hold + CONNECT_SECONDS)
        while True:
            try:
                response = await self.http.request(method, path, timeout=timeout, **request)
            except httpx2.TransportError as error:
                await endurance.bear(self.unreachable(error))
                continue
            if response.is_success:
                return self._decoded(response)
            refusal = problem(response)
            if not (_may_pass(refusal) or (waits and (refusal.status or 0) >= 500)):
                raise refusal
            await endurance.bear(refusal)

    def unreachable(self, error: Exception) -> ElicitError:
        reason = str(error) or type(error).__name__
        return ElicitError("unreachable", f"The service at {self.url} does not answer: {reason}")

    def _decoded(self, response: httpx2.Response) -> Any:
        if response.status_code == httpx2.codes.NO_CONTENT:
            return None
        try:
            return response.json()
        except ValueError as error:
            detail = f"What answers at {self.url} does not speak the API of Elicit Flows"
            raise ElicitError("unexpected_answer", detail, status=response.status_code) from error


def _may_pass(error: ElicitError) -> bool:
    return error.status in TRANSIENT or error.code == "idempotency_in_flight"
