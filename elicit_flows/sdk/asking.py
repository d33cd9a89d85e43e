"""Ask and wait: one method for each kind of question."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, Unpack, overload

from elicit_flows.domain.values import Json
from elicit_flows.sdk.errors import StillWaiting
from elicit_flows.sdk.outcomes import AnswerOutcome, Outcome, outcome_of
from elicit_flows.sdk.questions import ConfirmWords, MandateLimits, Options, PaymentTerms, Plain, Question
from elicit_flows.sdk.shapes import Elicitation, User

T = TypeVar("T")
OnUrl = Callable[[str], object]
_QUESTION = Plain()


class Asking(ABC):
    """Each method creates an elicitation, shows its link, and waits for the end: see ``ask``."""

    @abstractmethod
    async def create(
        self, kind: str, user: User, params: Json, *, message: str, **options: Unpack[Options]
    ) -> Elicitation:
        """Create an elicitation and return at once."""

    @abstractmethod
    async def wait(self, elicitation: str | Elicitation, *, timeout: float | None = None) -> Elicitation:
        """Wait until the elicitation is over, or until ``timeout`` seconds have passed."""

    async def oauth(
        self,
        user: User,
        provider: str | None = None,
        *,
        mcp: str | None = None,
        message: str = "",
        on_url: OnUrl,
        scopes: Iterable[str] = (),
        reasons: Mapping[str, str] | None = None,
        connection: str | None = None,
        variables: Mapping[str, str] | None = None,
        timeout: float | None = None,
        **options: Unpack[Options],
    ) -> Outcome:
        """Ask ``user`` to connect an account at ``provider``, and wait.

        ``provider`` is the slug under which the operator configured it; give ``mcp`` instead, the address of a remote
        MCP server, if the operator allows its host. ``scopes`` are added to the scopes that the operator or the server
        set; ``reasons`` says of a scope why it is needed, in a line that the user reads. ``connection`` is the id of a
        connection that is to be connected again. ``variables``: what is known of the provider's address, such as the
        user's shop; they may change it. ``on_url``, ``timeout``,
        ``options`` and errors: see ``ask``.
        """
        asked = _QUESTION.oauth(
            provider,
            mcp=mcp,
            scopes=scopes,
            reasons=reasons,
            connection=connection,
            variables=variables,
            message=message,
            **options,
        )
        return await self._ask(asked, user, on_url, timeout)

    async def payment(
        self,
        user: User,
        amount: int,
        currency: str,
        *,
        description: str,
        message: str = "",
        on_url: OnUrl,
        timeout: float | None = None,
        terms: PaymentTerms | None = None,
        **options: Unpack[Options],
    ) -> Outcome:
        """Ask ``user`` to pay ``amount`` minor units (1999 is 19.99 EUR and 1999 JPY) for ``description``, and wait.

        ``currency`` is an ISO 4217 code. Use one ``idempotency_key`` for each purchase: asked again under that key, it
        is paid once. ``terms``: see ``PaymentTerms``. ``on_url``, ``timeout``, ``options`` and errors: see ``ask``.
        """
        asked = _QUESTION.payment(amount, currency, description=description, message=message, terms=terms, **options)
        return await self._ask(asked, user, on_url, timeout)

    async def mandate(
        self,
        user: User,
        currency: str,
        limits: MandateLimits,
        *,
        description: str,
        message: str = "",
        account: str | None = None,
        on_url: OnUrl,
        timeout: float | None = None,
        **options: Unpack[Options],
    ) -> Outcome:
        """Ask ``user`` to allow charges in ``currency`` within ``limits`` for ``description``, and wait.

        Pass the outcome to ``charge``. ``limits``: see ``MandateLimits``. ``account``: the slug of the payment account,
        if the agent has several. ``on_url``, ``timeout``, ``options`` and errors: see ``ask``.
        """
        asked = _QUESTION.mandate(
            currency, limits, description=description, message=message, account=account, **options
        )
        return await self._ask(asked, user, on_url, timeout)

    async def price_change(
        self,
        user: User,
        subscription: str,
        amount: int,
        currency: str,
        *,
        message: str = "",
        on_url: OnUrl,
        timeout: float | None = None,
        **options: Unpack[Options],
    ) -> Outcome:
        """Ask ``user`` to pay ``amount`` minor units for each period of their ``subscription`` (its id) from the next
        charge on, and wait. Nothing is charged now; currency and interval stay.

        Raises InvalidRequestError for one that has ended or is cancelled. ``on_url``, ``timeout``, ``options`` and
        errors: see ``ask``.
        """
        asked = _QUESTION.price_change(subscription, amount, currency, message=message, **options)
        return await self._ask(asked, user, on_url, timeout)

    async def x402(
        self,
        user: User,
        url: str,
        challenge: Json,
        *,
        method: str = "GET",
        account: str | None = None,
        message: str = "",
        on_url: OnUrl,
        timeout: float | None = None,
        **options: Unpack[Options],
    ) -> Outcome:
        """Ask ``user`` whether ``url`` may be paid from a wallet of the operator's, and wait.

        ``challenge`` is what it asked for with its 402 (x402 version 2; ``sdk.x402.challenge_of`` reads it). Pass the
        outcome to ``payment_header``, or let ``pay_request`` do all of it. ``account``: the slug of the wallet; without
        it, the first that fits. Raises InvalidRequestError with the reason when no wallet pays that, and
        PermissionDeniedError ``over_limit``. ``on_url``, ``timeout``, ``options`` and errors: see ``ask``.
        """
        asked = _QUESTION.x402(url, challenge, method=method, account=account, message=message, **options)
        return await self._ask(asked, user, on_url, timeout)

    async def credentials(
        self,
        user: User,
        fields: Iterable[Json] | None = None,
        *,
        message: str = "",
        on_url: OnUrl,
        provider: str | None = None,
        timeout: float | None = None,
        **options: Unpack[Options],
    ) -> Outcome:
        """Ask ``user`` for keys or passwords, and wait.

        Give ``fields``, each ``{name, label, secret?, help?, pattern?}``, or the slug of a ``provider``, whose fields
        the operator configured and which may have a call that checks them. The outcome names a connection: ``secret``
        returns what was typed. If the fields are an OAuth client of the user's own, at a provider that issues tokens to
        it, ``token`` returns an access token and ``secret`` returns nothing. ``on_url``, ``timeout``, ``options`` and
        errors: see ``ask``.
        """
        asked = _QUESTION.credentials(fields, provider=provider, message=message, **options)
        return await self._ask(asked, user, on_url, timeout)

    @overload
    async def form(
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
    async def form(
        self,
        user: User,
        schema: Json,
        *,
        message: str,
        on_url: OnUrl,
        timeout: float | None = None,
        **options: Unpack[Options],
    ) -> Outcome: ...

    async def form(
        self,
        user: User,
        schema: Json | type[Any],
        *,
        message: str,
        on_url: OnUrl,
        timeout: float | None = None,
        **options: Unpack[Options],
    ) -> Outcome:
        """Ask ``user`` the questions of ``schema`` (the restricted JSON Schema of MCP), and wait.

        The answers are in ``result["content"]``. If ``schema`` is a Pydantic model, a dataclass or a TypedDict, the
        outcome is an ``Answered``, and its ``data`` an instance of that type; see ``Questions.form``. A form that asks
        for secrets is refused: use ``credentials``. ``on_url``, ``timeout``, ``options`` and errors: see ``ask``; also
        InvalidAnswerError if validators of the type refuse the answers.
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
        """Ask ``user`` for a yes, and wait. Only ``Completed`` means yes. ``words``: see ``ConfirmWords``.

        ``on_url``, ``timeout``, ``options`` and errors: see ``ask``.
        """
        return await self._ask(_QUESTION.confirm(message, words=words, **options), user, on_url, timeout)

    async def url_action(
        self,
        user: User,
        url: str,
        *,
        completion: str = "on_return",
        message: str,
        on_url: OnUrl,
        timeout: float | None = None,
        **options: Unpack[Options],
    ) -> Outcome:
        """Send ``user`` to ``url``, and wait.

        ``completion`` says when the question is completed: ``"on_return"``, when that page sends the user back, or
        ``"by_agent"``, when you call ``complete``. ``on_url``, ``timeout``, ``options`` and errors: see ``ask``.
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
        """Ask ``user`` for several things in order behind one link, and wait. Each step is ``{kind, params,
        message?}``.

        The outcome is ``Completed`` once all steps are done. The elicitation's ``result["steps"]`` says what was done,
        whatever the outcome is. ``on_url``, ``timeout``, ``options`` and errors: see ``ask``.
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
        """Create a question of ``kind``, pass its link to ``on_url``, wait, and return how it ended.

        ``on_url`` is a function or coroutine function that shows the link to the user; it is not called when an earlier
        answer is reused. ``timeout`` is in seconds; None waits for as long as the question is open. ``options``: see
        ``Options``.

        Raises StillWaiting when ``timeout`` has passed (the question stays open), and ElicitError when the service
        refuses the question or cannot be reached.
        """
        return await self._ask(Question(kind, params, message, options), user, on_url, timeout)

    async def _ask(self, asked: Question, user: User, on_url: OnUrl, timeout: float | None) -> Outcome:
        elicitation = await self.create(asked.kind, user, asked.params, message=asked.message, **asked.options)
        if not elicitation.over:
            await self._show(on_url, elicitation.url)
            elicitation = await self.wait(elicitation, timeout=timeout)
        if not elicitation.over:
            raise StillWaiting(elicitation)
        return asked.outcome(outcome_of(elicitation))

    async def _show(self, on_url: OnUrl, url: str) -> None:
        shown = on_url(url)
        if inspect.isawaitable(shown):
            await shown
