"""Ask and wait: one small method for each kind."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import TypedDict, Unpack

from elicit_flows.sdk.errors import StillWaiting
from elicit_flows.sdk.outcomes import Outcome, outcome_of
from elicit_flows.sdk.shapes import Elicitation, User
from elicit_flows.values import Json

OnUrl = Callable[[str], object]


class Options(TypedDict, total=False):
    """What every kind of question takes besides its parameters.

    ``expires_in``: seconds the user has. ``return_url``: where the last page offers to go. ``reuse``: ``"if_valid"``
    (an earlier answer that still holds is enough) or ``"never"``. ``metadata``: yours, handed back.
    ``idempotency_key``: asked again under the same key it is the same question; without one each call asks anew.
    """

    expires_in: int
    return_url: str
    reuse: str
    metadata: Json
    idempotency_key: str


class PaymentTerms(TypedDict, total=False):
    """``mode``: pay (the default), save or subscribe; ``interval``: day, week, month or year, for subscribe.

    ``account``: the payment account's slug, where the agent has several. ``item``: what the user may use once it is
    paid, ``uses``: how often; an item that was paid for is not asked for again while ``reuse`` is ``"if_valid"``.
    """

    mode: str
    interval: str
    account: str
    item: str
    uses: int


class ConfirmWords(TypedDict, total=False):
    """``detail``: what exactly will happen. ``danger``: the user has to type a word first."""

    detail: str
    danger: bool
    confirm_label: str
    decline_label: str


class Asking(ABC):
    """Each method creates an elicitation, shows its link, and waits: see ``ask``."""

    @abstractmethod
    async def create(
        self, kind: str, user: User, params: Json, *, message: str, **options: Unpack[Options]
    ) -> Elicitation:
        """Create an elicitation and return at once."""

    @abstractmethod
    async def wait(self, elicitation: str | Elicitation, *, timeout: float | None = None) -> Elicitation:
        """Wait until it is over, or ``timeout`` seconds have passed."""

    async def oauth(
        self,
        user: User,
        provider: str,
        *,
        message: str,
        on_url: OnUrl,
        scopes: Iterable[str] = (),
        timeout: float | None = None,
        **options: Unpack[Options],
    ) -> Outcome:
        """Ask ``user`` to connect an account at ``provider``; ``scopes`` come on top of the operator's. See ``ask``."""
        params = {"provider": provider, "scopes": list(scopes)}
        return await self.ask("oauth", user, params, message=message, on_url=on_url, timeout=timeout, **options)

    async def payment(
        self,
        user: User,
        amount: int,
        currency: str,
        *,
        description: str,
        message: str,
        on_url: OnUrl,
        timeout: float | None = None,
        terms: PaymentTerms | None = None,
        **options: Unpack[Options],
    ) -> Outcome:
        """Ask ``user`` to pay ``amount`` minor units (1999 is 19.99 EUR and 1999 JPY) for ``description``. See ``ask``.

        Use one ``idempotency_key`` for one purchase: however often it is asked, it is paid once.
        """
        params = {"amount": amount, "currency": currency, "description": description, **(terms or {})}
        return await self.ask("payment", user, params, message=message, on_url=on_url, timeout=timeout, **options)

    async def credentials(
        self,
        user: User,
        fields: Iterable[Json] | None = None,
        *,
        message: str,
        on_url: OnUrl,
        provider: str | None = None,
        timeout: float | None = None,
        **options: Unpack[Options],
    ) -> Outcome:
        """Ask ``user`` to hand over keys or passwords: ``fields`` of ``{name, label, secret?, help?, pattern?}``, or
        those of the operator's ``provider``, which may be asked whether they are good. See ``ask``.

        The outcome names a connection; ``secret`` fetches what was typed.
        """
        given = {"fields": None if fields is None else list(fields), "provider": provider}
        params = {name: value for name, value in given.items() if value is not None}
        return await self.ask("credentials", user, params, message=message, on_url=on_url, timeout=timeout, **options)

    async def form(
        self,
        user: User,
        schema: Json,
        *,
        message: str,
        on_url: OnUrl,
        timeout: float | None = None,
        **options: Unpack[Options],
    ) -> Outcome:
        """Ask ``user`` the questions of ``schema``, MCP's restricted JSON Schema. See ``ask``.

        The answers are in ``result["content"]``. Secrets are refused: ask for ``credentials``.
        """
        params = {"schema": schema, "order": list(schema.get("properties", {}))}
        return await self.ask("form", user, params, message=message, on_url=on_url, timeout=timeout, **options)

    async def confirm(
        self,
        user: User,
        *,
        message: str,
        on_url: OnUrl,
        timeout: float | None = None,
        words: ConfirmWords | None = None,
        **options: Unpack[Options],
    ) -> Outcome:
        """Ask ``user`` for a yes: ``Completed`` is one, and nothing else is. See ``ask``."""
        params: Json = {**(words or {})}
        return await self.ask("confirm", user, params, message=message, on_url=on_url, timeout=timeout, **options)

    async def url_action(
        self,
        user: User,
        url: str,
        *,
        completion: str,
        message: str,
        on_url: OnUrl,
        timeout: float | None = None,
        **options: Unpack[Options],
    ) -> Outcome:
        """Send ``user`` to ``url``. ``completion``: ``"on_return"``, when that page leads back, or ``"by_agent"``, when
        you say so with ``complete``. See ``ask``.
        """
        params = {"url": url, "completion": completion}
        return await self.ask("link", user, params, message=message, on_url=on_url, timeout=timeout, **options)

    async def steps(
        self,
        user: User,
        steps: Iterable[Json],
        *,
        message: str,
        on_url: OnUrl,
        timeout: float | None = None,
        **options: Unpack[Options],
    ) -> Outcome:
        """Ask ``user`` for several things in order, by one link: ``{kind, params, message?}`` each. See ``ask``.

        ``Completed`` once all are done. However it ended, what was done is in the elicitation's ``result["steps"]``.
        """
        return await self.ask(
            "steps", user, {"steps": list(steps)}, message=message, on_url=on_url, timeout=timeout, **options
        )

    async def ask(
        self,
        kind: str,
        user: User,
        params: Json,
        *,
        message: str,
        on_url: OnUrl,
        timeout: float | None = None,
        **options: Unpack[Options],
    ) -> Outcome:
        """Ask, hand the link to ``on_url`` (a function or coroutine function), wait, and say how it ended.

        ``on_url`` is not called when an earlier answer still holds. ``timeout``: seconds to wait, None for as long as
        the question is open; raises StillWaiting when it passes, and the question stays open.
        """
        elicitation = await self.create(kind, user, params, message=message, **options)
        if not elicitation.over:
            await self._show(on_url, elicitation.url)
            elicitation = await self.wait(elicitation, timeout=timeout)
        if not elicitation.over:
            raise StillWaiting(elicitation)
        return outcome_of(elicitation)

    async def _show(self, on_url: OnUrl, url: str) -> None:
        shown = on_url(url)
        if inspect.isawaitable(shown):
            await shown
