"""The kinds of questions, told once: each method says what its parameters mean. What becomes of a question differs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, TypedDict, TypeVar, Unpack

from elicit_flows.values import Json

R_co = TypeVar("R_co", covariant=True)


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


@dataclass(frozen=True, slots=True)
class Question:
    """What ``Elicit.create`` takes, but for the user."""

    kind: str
    params: Json
    message: str
    options: Options


class Questions(ABC, Generic[R_co]):
    """One method for each kind; ``R_co`` is what becomes of a question: an outcome that is waited for, a decorator."""

    @abstractmethod
    def _asked(self, question: Question) -> R_co:
        """What becomes of it."""

    def oauth(
        self,
        provider: str,
        *,
        message: str = "",
        scopes: Iterable[str] = (),
        connection: str | None = None,
        **options: Unpack[Options],
    ) -> R_co:
        """Connect an account at ``provider``; ``scopes`` come on top of the operator's. ``connection``: the id of the
        one that is to be connected again.
        """
        again = {"connection": connection} if connection else {}
        params = {"provider": provider, "scopes": list(scopes), **again}
        return self._asked(Question("oauth", params, message or f"Connect your account at {provider}.", options))

    def payment(
        self,
        amount: int,
        currency: str,
        *,
        description: str,
        message: str = "",
        terms: PaymentTerms | None = None,
        **options: Unpack[Options],
    ) -> R_co:
        """Pay ``amount`` minor units (1999 is 19.99 EUR and 1999 JPY) for ``description``."""
        params = {"amount": amount, "currency": currency, "description": description, **(terms or {})}
        return self._asked(Question("payment", params, message or f"Pay for: {description}", options))

    def credentials(
        self,
        fields: Iterable[Json] | None = None,
        *,
        message: str = "",
        provider: str | None = None,
        **options: Unpack[Options],
    ) -> R_co:
        """Hand over keys or passwords: ``fields`` of ``{name, label, secret?, help?, pattern?}``, or those of the
        operator's ``provider``, which may be asked whether they are good.
        """
        given = {"fields": None if fields is None else list(fields), "provider": provider}
        params = {name: value for name, value in given.items() if value is not None}
        return self._asked(Question("credentials", params, message or "Hand over your key.", options))

    def form(self, schema: Json, *, message: str, **options: Unpack[Options]) -> R_co:
        """Answer the questions of ``schema``, MCP's restricted JSON Schema. Secrets are refused."""
        params = {"schema": schema, "order": list(schema.get("properties", {}))}
        return self._asked(Question("form", params, message, options))

    def confirm(self, message: str, *, words: ConfirmWords | None = None, **options: Unpack[Options]) -> R_co:
        """Say yes: ``Completed`` is one, and nothing else is."""
        params: Json = {**(words or {})}
        return self._asked(Question("confirm", params, message, options))

    def url_action(self, url: str, *, message: str, completion: str = "on_return", **options: Unpack[Options]) -> R_co:
        """Go to ``url``. ``completion``: ``"on_return"``, when that page leads back, or ``"by_agent"``, when you say so
        with ``Elicit.complete``.
        """
        return self._asked(Question("link", {"url": url, "completion": completion}, message, options))

    def steps(self, steps: Iterable[Json], *, message: str, **options: Unpack[Options]) -> R_co:
        """Several things in order, by one link: ``{kind, params, message?}`` each."""
        return self._asked(Question("steps", {"steps": list(steps)}, message, options))


class Plain(Questions[Question]):
    """The questions themselves."""

    def _asked(self, question: Question) -> Question:
        return question
