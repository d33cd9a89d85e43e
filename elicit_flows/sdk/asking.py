"""Ask and wait: one small method for each kind."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Unpack

from elicit_flows.sdk.errors import StillWaiting
from elicit_flows.sdk.outcomes import Outcome, outcome_of
from elicit_flows.sdk.questions import ConfirmWords, Options, PaymentTerms, Plain, Question
from elicit_flows.sdk.shapes import Elicitation, User
from elicit_flows.values import Json

OnUrl = Callable[[str], object]


_QUESTION = Plain()


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
        connection: str | None = None,
        timeout: float | None = None,
        **options: Unpack[Options],
    ) -> Outcome:
        """Ask ``user`` to connect an account at ``provider``; ``scopes`` come on top of the operator's. ``connection``:
        the id of the one that is to be connected again. See ``ask``.
        """
        asked = _QUESTION.oauth(provider, scopes=scopes, connection=connection, message=message, **options)
        return await self._ask(asked, user, on_url, timeout)

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
        asked = _QUESTION.payment(amount, currency, description=description, message=message, terms=terms, **options)
        return await self._ask(asked, user, on_url, timeout)

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

        The outcome names a connection; ``secret`` fetches what was typed. Where that is a client of the user's own,
        at a provider that gives tokens for it, ``token`` fetches its access token and ``secret`` nothing.
        """
        asked = _QUESTION.credentials(fields, provider=provider, message=message, **options)
        return await self._ask(asked, user, on_url, timeout)

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
        return await self._ask(_QUESTION.form(schema, message=message, **options), user, on_url, timeout)

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
        return await self._ask(_QUESTION.confirm(message, words=words, **options), user, on_url, timeout)

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
        asked = _QUESTION.url_action(url, completion=completion, message=message, **options)
        return await self._ask(asked, user, on_url, timeout)

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
        return await self._ask(_QUESTION.steps(steps, message=message, **options), user, on_url, timeout)

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
        return await self._ask(Question(kind, params, message, options), user, on_url, timeout)

    async def _ask(self, asked: Question, user: User, on_url: OnUrl, timeout: float | None) -> Outcome:
        elicitation = await self.create(asked.kind, user, asked.params, message=asked.message, **asked.options)
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
