"""The client for programs without asyncio: it runs the asynchronous one in a thread of its own."""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextlib import suppress
from copy import copy
from functools import partial
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, Unpack, overload

import httpx2

from elicit_flows.domain.values import Json
from elicit_flows.sdk.asking import OnUrl
from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.outcomes import AnswerOutcome, Outcome
from elicit_flows.sdk.proxied import client_options, keeps_key
from elicit_flows.sdk.questions import Options
from elicit_flows.sdk.shapes import Connection, Elicitation, Event, User
from elicit_flows.sdk.sync_runner import CURRENT, LoopThread
from elicit_flows.sdk.transport import TIMEOUT, OnResponse

P = ParamSpec("P")
T = TypeVar("T")


class _Elicit(Elicit):
    """Shows the link in the thread that asked, so ``on_url`` may block or ask another question."""

    async def _show(self, on_url: OnUrl, url: str) -> None:
        shown = await CURRENT.get().there(partial(on_url, url))
        await super()._show(lambda _: shown, url)


def _blocking(
    method: Callable[Concatenate[Elicit, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[SyncElicit, P], T]:
    @functools.wraps(method)
    def call(self: SyncElicit, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._thread.run(method(self._elicit, *args, **kwargs))

    return call


class SyncElicit:
    """One agent at one service, like ``Elicit`` but without ``await``. Threads may share one.

    ``on_url`` is called in the thread that asks. Ctrl-C ends the wait and leaves the question open. After ``close``,
    calls that still wait raise ElicitError ``closed``. The arguments are those of ``Elicit``; ``on_response`` is called
    in the thread of the client.
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        retry_for: float = 300.0,
        timeout: float = TIMEOUT,
        max_retries: int | None = None,
        http_client: httpx2.AsyncClient | None = None,
        on_response: OnResponse | None = None,
    ) -> None:
        self._elicit = _Elicit(
            url, api_key, retry_for=retry_for, timeout=timeout, max_retries=max_retries, http_client=http_client,
            on_response=on_response,
        )  # fmt: skip
        self._thread = LoopThread(self._elicit.aclose)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all waiting calls and close the HTTP client. A second call does nothing."""
        self._thread.close()

    def with_options(
        self,
        *,
        timeout: float | None = None,
        max_retries: int | None = None,
        retry_for: float | None = None,
        on_response: OnResponse | None = None,
    ) -> Self:
        """As ``Elicit.with_options``. Both run in one thread, so closing either closes both."""
        changed = copy(self)
        changed._elicit = self._elicit.with_options(
            timeout=timeout, max_retries=max_retries, retry_for=retry_for, on_response=on_response
        )
        return changed

    create = _blocking(Elicit.create)
    get = _blocking(Elicit.get)
    wait = _blocking(Elicit.wait)
    cancel = _blocking(Elicit.cancel)
    user_code = _blocking(Elicit.user_code)
    complete = _blocking(Elicit.complete)
    consume = _blocking(Elicit.consume)

    oauth = _blocking(Elicit.oauth)
    payment = _blocking(Elicit.payment)
    mandate = _blocking(Elicit.mandate)
    price_change = _blocking(Elicit.price_change)
    x402 = _blocking(Elicit.x402)
    credentials = _blocking(Elicit.credentials)
    confirm = _blocking(Elicit.confirm)
    url_action = _blocking(Elicit.url_action)
    steps = _blocking(Elicit.steps)
    ask = _blocking(Elicit.ask)

    mandate_of = _blocking(Elicit.mandate_of)
    charge = _blocking(Elicit.charge)
    end_mandate = _blocking(Elicit.end_mandate)
    subscription_of = _blocking(Elicit.subscription_of)
    cancel_subscription = _blocking(Elicit.cancel_subscription)
    payment_header = _blocking(Elicit.payment_header)
    pay_request = _blocking(Elicit.pay_request)

    draft = _blocking(Elicit.draft)
    answer = _blocking(Elicit.answer)
    ask_again = _blocking(Elicit.ask_again)

    note = _blocking(Elicit.note)
    add_to_note = _blocking(Elicit.add_to_note)

    newest = _blocking(Elicit.newest)
    agent = _blocking(Elicit.agent)
    connections = _blocking(Elicit.connections)
    connection = _blocking(Elicit.connection)
    token = _blocking(Elicit.token)
    report = _blocking(Elicit.report)
    proof = _blocking(Elicit.proof)
    secret = _blocking(Elicit.secret)
    revoke = _blocking(Elicit.revoke)
    request = _blocking(Elicit.request)
    import_connection = _blocking(Elicit.import_connection)
    refund = _blocking(Elicit.refund)

    @overload
    def form(
        self,
        user: User,
        schema: type[T],
        *,
        message: str,
        on_url: OnUrl,
        timeout: float | None = None,
        **options: Unpack[Options],
    ) -> AnswerOutcome[T]: ...

    @overload
    def form(
        self,
        user: User,
        schema: Json,
        *,
        message: str,
        on_url: OnUrl,
        timeout: float | None = None,
        **options: Unpack[Options],
    ) -> Outcome: ...

    def form(
        self,
        user: User,
        schema: Json | type[Any],
        *,
        message: str,
        on_url: OnUrl,
        timeout: float | None = None,
        **options: Unpack[Options],
    ) -> Outcome:
        """As ``Elicit.form``. Written out, because ``_blocking`` would lose the type of the answers."""
        given: Any = schema
        asking = self._elicit.form(user, given, message=message, on_url=on_url, timeout=timeout, **options)
        outcome: Outcome = self._thread.run(asking)
        return outcome

    def api(self, connection: str | Connection | Outcome, *, host: str | None = None) -> httpx2.Client:
        """As ``Elicit.api``, without asyncio."""
        transport = self._elicit._transport
        hooks = {"request": [keeps_key(transport, connection)]}
        return httpx2.Client(**client_options(transport, connection, host), event_hooks=hooks)

    def events(self, after: str | None = None, *, stream: bool = True) -> Generator[Event, None, None]:
        """As ``Elicit.events``. You may simply leave the loop; ``close`` on the generator ends the connection
        at once.
        """
        return self._one_by_one(self._elicit.events(after, stream=stream))

    def elicitations(
        self, user: User | None = None, *, status: str | None = None
    ) -> Generator[Elicitation, None, None]:
        """As ``Elicit.elicitations``."""
        return self._one_by_one(self._elicit.elicitations(user, status=status))

    def payments(
        self, user: User | None = None, *, status: str | None = None, elicitation: str | Elicitation | None = None
    ) -> Generator[Json, None, None]:
        """As ``Elicit.payments``."""
        return self._one_by_one(self._elicit.payments(user, status=status, elicitation=elicitation))

    def mandates(self, user: User | None = None, *, status: str | None = None) -> Generator[Json, None, None]:
        """As ``Elicit.mandates``."""
        return self._one_by_one(self._elicit.mandates(user, status=status))

    def charges(self, mandate: str | Outcome) -> Generator[Json, None, None]:
        """As ``Elicit.charges``."""
        return self._one_by_one(self._elicit.charges(mandate))

    def subscriptions(self, user: User | None = None, *, status: str | None = None) -> Generator[Json, None, None]:
        """As ``Elicit.subscriptions``."""
        return self._one_by_one(self._elicit.subscriptions(user, status=status))

    def renewals(self, subscription: str | Outcome) -> Generator[Json, None, None]:
        """As ``Elicit.renewals``."""
        return self._one_by_one(self._elicit.renewals(subscription))

    def _one_by_one(self, feed: AsyncGenerator[T, None]) -> Generator[T, None, None]:
        try:
            while (found := self._thread.run(_next(feed))) is not None:
                yield found
        finally:
            with suppress(RuntimeError):  # the client was closed, and the feed with it
                self._thread.run(_end(feed))


async def _next(feed: AsyncGenerator[T, None]) -> T | None:
    return await anext(feed, None)


async def _end(feed: AsyncGenerator[T, None]) -> None:
    await feed.aclose()
