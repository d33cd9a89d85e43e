"""HTTP requests to the service, retried where that is safe.

Nearly every call of the API is safe to repeat: reads change nothing, create, consume and refund carry an
Idempotency-Key, and the others have the same effect twice as once. The exceptions pass ``repeatable=False``.
"""

from __future__ import annotations

import asyncio
import platform
import random
import time
from collections.abc import AsyncGenerator, Callable
from copy import copy
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Self, TypeVar

import httpx2

from elicit_flows import __version__
from elicit_flows.sdk.errors import ElicitError, UnexpectedAnswerError, UnreachableError

T = TypeVar("T")
# Called with each answer as it came, but for the stream of events.
OnResponse = Callable[[httpx2.Response], object]
TIMEOUT = 10.0  # seconds
MAX_RETRIES = 5
RETRY_FOR = 5.0
LONGEST = 30.0  # seconds that a plain call waits for a service that is away, and because the service says so
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
JITTER = random.SystemRandom()
REFUSED = frozenset({429, 503})  # the service did nothing, so even an unsafe call may be repeated
TRANSIENT = REFUSED | {500, 502, 504}
USER_AGENT = f"elicit-flows/{__version__} python/{platform.python_version()} httpx2/{httpx2.__version__}"


class RetryLimit:
    """How long consecutive failures are retried: ``seconds`` from the first one, and at most ``retries`` times, if
    given.

    With ``retries``, a pause that the service asks for (Retry-After) of up to ``longest`` seconds is not counted.
    """

    def __init__(self, seconds: float, retries: int | None = None, longest: float = 0.0) -> None:
        self._seconds, self._retries, self._longest = seconds, retries, longest
        self.reset()

    def reset(self) -> None:
        self._until: float | None = None
        self._failures = 0

    async def pause_after(self, error: ElicitError) -> None:
        """Sleep until the next attempt. Raises ``error`` if that would be too late, or one attempt too many."""
        now = time.monotonic()
        self._until = now + self._seconds if self._until is None else self._until
        pause = max(error.retry_after or 0.0, min(0.2 * 2**self._failures, 5.0) * JITTER.uniform(0.5, 1.0))
        if self._retries is not None and self._failures >= self._retries:
            raise error
        if self._retries is not None and error.retry_after and pause <= self._longest:
            self._until += error.retry_after
        if now + pause > self._until:
            raise error
        self._failures += 1
        await asyncio.sleep(pause)


def retry_after(headers: httpx2.Headers) -> float | None:
    """Seconds until the next attempt, from a number of seconds or an HTTP date (RFC 9110, section 10.2.3)."""
    text = headers.get("retry-after", "")
    if text.isdecimal():
        return float(text)
    try:
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None


def problem(response: httpx2.Response) -> ElicitError:
    """The exception for an answer with a status of 300 or above."""
    try:
        body = response.json()
    except ValueError:
        body = {}
    fields = body if isinstance(body, dict) else {}
    number = response.headers.get("x-request-id")
    return ElicitError.from_problem(response.status_code, fields, retry_after(response.headers), number)


class Transport:
    """The HTTP client of one agent, with the settings of ``Elicit``. Redirects are not followed: the key is sent to the
    configured host only.
    """

    def __init__(
        self,
        url: str,
        key: str,
        retry_for: float = RETRY_FOR,
        *,
        timeout: float = TIMEOUT,
        max_retries: int | None = None,
        http_client: httpx2.AsyncClient | None = None,
        on_response: OnResponse | None = None,
    ) -> None:
        self.url = url
        self.timeout = timeout
        self.headers = {
            "Authorization": f"Bearer {key}",
            "Accept": "application/json",
            "User-Agent": USER_AGENT,
        }
        self._wait_for(retry_for)
        self._retries = max_retries
        self._on_response = on_response
        self._given = http_client is not None
        # A proxy from the environment cannot reach this machine.
        self.trusts_environment = httpx2.URL(url).host not in LOOPBACK
        self.http = http_client or httpx2.AsyncClient(trust_env=self.trusts_environment)

    def _wait_for(self, retry_for: float) -> None:
        self._retry_for = min(retry_for, RETRY_FOR)
        self._longest = min(retry_for, LONGEST)

    def having(
        self,
        *,
        timeout: float | None = None,
        max_retries: int | None = None,
        retry_for: float | None = None,
        on_response: OnResponse | None = None,
    ) -> Self:
        """The same connections with these settings changed. Closing it closes nothing."""
        changed = copy(self)
        changed._given = True
        if timeout is not None:
            changed.timeout = timeout
        if max_retries is not None:
            changed._retries = max_retries
        if retry_for is not None:
            changed._wait_for(retry_for)
        if on_response is not None:
            changed._on_response = on_response
        return changed

    async def aclose(self) -> None:
        if not self._given:
            await self.http.aclose()

    async def call(
        self,
        method: str,
        path: str,
        *,
        retry_for: float | None = None,
        hold: float = 0.0,
        repeatable: bool = True,
        **request: Any,
    ) -> Any:
        """Return the decoded JSON of a successful answer, None for 204. ``hold``: seconds the service may keep the
        request.

        Raises ElicitError: at once for a refusal; for a temporary failure after ``max_retries``, or after 5 seconds and
        the pauses that the service asked for; after 30 seconds while the service is away, as when it restarts. A call
        that waits gives ``retry_for``, and retries for that many seconds. With ``repeatable=False`` it is retried only
        if it is certain that the service did nothing.
        """
        if retry_for is None:
            most = MAX_RETRIES if self._retries is None else self._retries
            usual = RetryLimit(self._retry_for, most, self._longest)
            away = RetryLimit(self._longest, self._retries)
        else:
            usual = away = RetryLimit(retry_for)
        timeout = httpx2.Timeout(self.timeout, read=hold + self.timeout)
        # UTF-8: the service refuses a key that is not ASCII.
        headers = httpx2.Headers(self.headers | request.pop("headers", {}), "utf-8")
        while True:
            try:
                response = await self.http.request(
                    method, self.url + path, headers=headers, timeout=timeout, follow_redirects=False, **request
                )
            except httpx2.RequestError as error:
                refusal = self.unreachable(error)
                never_connected = isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout)
                if not repeatable and not never_connected:
                    raise refusal from error
                await (away if never_connected else usual).pause_after(refusal)
                continue
            if self._on_response:
                self._on_response(response)
            if response.is_success:
                return self._decoded(response)
            refusal = problem(response)
            if not _may_pass(refusal, TRANSIENT if repeatable else REFUSED, waits=retry_for is not None):
                raise refusal
            await (away if _says_away(refusal) else usual).pause_after(refusal)

    async def fetch(self, read: Callable[[Any], T], method: str, path: str, **request: Any) -> T:
        """Return ``read`` of the answer; otherwise like ``call``."""
        return self.understood(read, await self.call(method, path, **request))

    async def pages(
        self, read: Callable[[Any], T], path: str, query: dict[str, Any], retry_for: float | None = None
    ) -> AsyncGenerator[T, None]:
        """All entries of a list, fetched page by page. Members of ``query`` that are None are left out."""
        given = {name: value for name, value in query.items() if value is not None}

        def page(body: Any) -> tuple[list[T], str | None]:
            return [read(one) for one in body["data"]], body.get("next_cursor")

        while True:
            found, cursor = await self.fetch(page, "GET", path, params=given, retry_for=retry_for)
            for one in found:
                yield one
            if cursor is None:
                return
            given["cursor"] = cursor

    def understood(self, read: Callable[[Any], T], answer: Any) -> T:
        """Return ``read(answer)``. Raises UnexpectedAnswerError if the answer has another form."""
        try:
            return read(answer)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            missing = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            raise UnexpectedAnswerError("unexpected_answer", f"{self._foreign()}: {missing}", status=200) from error

    def unreachable(self, error: Exception) -> ElicitError:
        reason = str(error) or type(error).__name__
        return UnreachableError("unreachable", f"The service at {self.url} does not answer: {reason}")

    def _foreign(self) -> str:
        return f"The answer from {self.url} is not one of the Elicit Flows API as version {__version__} knows it"

    def _decoded(self, response: httpx2.Response) -> Any:
        if response.status_code == httpx2.codes.NO_CONTENT:
            return None
        try:
            return response.json()
        except ValueError as error:
            number = response.headers.get("x-request-id")
            raise UnexpectedAnswerError(
                "unexpected_answer", self._foreign(), status=response.status_code, request_id=number
            ) from error


def _says_away(error: ElicitError) -> bool:
    """Whether the service, or the proxy before it, says that it is away, and not for how long. A 502 of the service's
    own is about a provider.
    """
    return error.retry_after is None and (error.status == httpx2.codes.SERVICE_UNAVAILABLE or error.code == "http_502")


def _may_pass(error: ElicitError, passing: frozenset[int], *, waits: bool) -> bool:
    """Whether a retry may succeed. A call that waits retries every 5xx: a service that is being replaced
    answers 500.
    """
    if error.status in passing or error.code == "idempotency_in_flight":
        return True
    return waits and (error.status or 0) >= 500
