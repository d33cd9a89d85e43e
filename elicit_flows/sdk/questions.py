"""The kinds of questions and their parameters, in one place. Subclasses decide what happens with a question."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any, Generic, Literal, Required, TypedDict, TypeVar, Unpack

from elicit_flows.domain.values import Json
from elicit_flows.sdk.checks import check
from elicit_flows.sdk.outcomes import Completed, Outcome
from elicit_flows.sdk.shapes import strings

if TYPE_CHECKING:
    from elicit_flows.sdk.typed_forms import TypedForm

R_co = TypeVar("R_co", covariant=True)


class Options(TypedDict, total=False):
    """What every kind of question takes beside its parameters.

    ``expires_in``: seconds until the link expires. ``return_url``: where the last page sends the user. ``return_``:
    ``"auto"`` (the default) after three seconds, ``"button"`` when the user presses one; the API calls it ``return``.
    ``locale``: the language that you suggest for the pages (BCP 47). ``notify``: whether the user is told that you
    ask, by e-mail for example; your operator has to allow it. ``reuse``: ``"if_valid"`` accepts an earlier answer that
    still holds, ``"never"`` does not. ``metadata``: your own JSON, returned with the elicitation.
    ``idempotency_key``: asked again under the same key, it is the same question; without one, each call asks anew.
    """

    expires_in: int
    return_url: str
    return_: str
    locale: str
    notify: bool
    reuse: str
    metadata: Json
    idempotency_key: str


class OrderLine(TypedDict, total=False):
    """``unit_amount`` is the price of one in minor units, ``quantity`` is 1 if it is left out."""

    name: Required[str]
    quantity: int
    unit_amount: Required[int]


class Order(TypedDict, total=False):
    """What an amount is made of: ``lines``, and the ``tax`` on them in minor units. Together they are the amount.
    ``number`` and ``purpose`` are the agent's own. ``tax`` ``"provider"``: the payment provider computes it, and the
    amount is the most that may be charged. ``invoice``: the provider makes one.
    """

    lines: Required[list[OrderLine]]
    tax: int | Literal["provider"]
    number: str
    purpose: str
    invoice: bool


class PaymentTerms(TypedDict, total=False):
    """The terms of a payment.

    ``mode``: pay (the default), save or subscribe; save is refused unless the operator allows it for the account.
    ``interval``: day, week, month or year, for subscribe. ``trial_days``: how many days of that are free. ``account``:
    the slug of the payment account, if the agent has several. ``item``: what the user may use once it is paid,
    ``uses``: how often. An item that was paid for on the same terms is not asked for again while ``reuse`` is
    ``"if_valid"``. ``order``: the lines that the user sees, in mode pay.
    """

    mode: str
    interval: str
    trial_days: int
    account: str
    item: str
    uses: int
    order: Order


class MandateLimits(TypedDict, total=False):
    """What a user allows. Amounts are in minor units; ``per_charge``, ``total`` and ``until`` are needed.

    ``per_charge``: at most for each charge. ``per_day``: in 24 hours. ``per_month``: in 30 days. ``total``: in all.
    ``until``: the end, as an RFC 3339 time. ``notice``: ``"before"`` announces each charge a day before, so that the
    user can refuse it; ``"after"`` is the default.
    """

    per_charge: Required[int]
    per_day: int
    per_month: int
    total: Required[int]
    until: Required[str]
    notice: str


class ConfirmWords(TypedDict, total=False):
    """The words of a confirmation.

    ``detail``: what exactly will happen. ``danger``: the user has to type a word first. ``confirm_label`` and
    ``decline_label``: the texts of the buttons.
    """

    detail: str
    danger: bool
    confirm_label: str
    decline_label: str


@dataclass(frozen=True, slots=True)
class Question:
    """The arguments of ``Elicit.create`` without the user. ``typed``: the type that a form was given as, if any."""

    kind: str
    params: Json
    message: str
    options: Options
    typed: TypedForm[Any] | None = field(default=None, repr=False)

    def outcome(self, outcome: Outcome) -> Outcome:
        """``outcome``, as an ``Answered`` if the form was given as a type. Raises InvalidAnswerError."""
        return self.typed.answered(outcome) if self.typed and isinstance(outcome, Completed) else outcome


class Questions(ABC, Generic[R_co]):
    """One method for each kind. The subclass decides what a question becomes (``R_co``): an awaitable outcome, a
    decorator.

    Each method raises InvalidQuestionError (a ValueError) or TypeError for a question that the service would refuse as
    it is written. A decorator therefore fails when it is applied, not when its tool is called.
    """

    @abstractmethod
    def _asked(self, question: Question) -> R_co:
        """What the question becomes."""

    def _checked(
        self, kind: str, params: Json, message: str, options: Options, typed: TypedForm[Any] | None = None
    ) -> R_co:
        check(kind, params, message, options, _arguments(kind))
        return self._asked(Question(kind, params, message, options, typed))

    def oauth(
        self,
        provider: str | None = None,
        *,
        mcp: str | None = None,
        message: str = "",
        scopes: Iterable[str] = (),
        reasons: Mapping[str, str] | None = None,
        connection: str | None = None,
        variables: Mapping[str, str] | None = None,
        **options: Unpack[Options],
    ) -> R_co:
        """Connect an account at ``provider`` (its slug), or at the remote MCP server ``mcp`` (its address).

        ``scopes`` are added to the scopes that the operator set; ``reasons`` says of a scope why it is needed, in a
        line that the user reads. ``connection`` is the id of a connection that is to be connected again. ``variables``:
        what is known of the provider's address, such as the user's shop.
        """
        again: Json = {"connection": connection} if connection else {}
        again |= {"variables": dict(variables)} if variables else {}
        again |= {"reasons": dict(reasons)} if reasons else {}
        if (provider is None) == (mcp is None):
            raise TypeError("Give either provider or mcp.")
        at: Json = {"provider": provider} if mcp is None else {"mcp": mcp}
        params = {**at, "scopes": strings("scopes", scopes), **again}
        return self._checked("oauth", params, message or f"Connect your account at {provider or mcp}.", options)

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
        """Pay ``amount`` minor units (1999 is 19.99 EUR and 1999 JPY) for ``description``. ``currency`` is an ISO 4217
        code.
        """
        params = {"amount": amount, "currency": currency, "description": description, **(terms or {})}
        return self._checked("payment", params, message or f"Pay for: {description}", options)

    def mandate(
        self,
        currency: str,
        limits: MandateLimits,
        *,
        description: str,
        message: str = "",
        account: str | None = None,
        **options: Unpack[Options],
    ) -> R_co:
        """Allow charges in ``currency`` within ``limits``, for ``description``. ``account``: the slug of the payment
        account, if the agent has several.
        """
        params: Json = {"mode": "mandate", "currency": currency, "description": description, "mandate": dict(limits)}
        params |= {"account": account} if account else {}
        return self._checked("payment", params, message or f"Allow charges for: {description}", options)

    def price_change(
        self, subscription: str, amount: int, currency: str, *, message: str = "", **options: Unpack[Options]
    ) -> R_co:
        """Change the price of a running ``subscription`` (its id) to ``amount`` minor units, from the next charge on.
        Currency and interval stay.
        """
        params = {"mode": "subscribe", "changes": subscription, "amount": amount, "currency": currency}
        return self._checked("payment", params, message or "Change the price of your subscription.", options)

    def x402(
        self,
        url: str,
        challenge: Json,
        *,
        method: str = "GET",
        account: str | None = None,
        message: str = "",
        **options: Unpack[Options],
    ) -> R_co:
        """Have an HTTP 402 paid from a wallet of the operator's: ``challenge`` is what ``url`` asked for (x402
        version 2). ``account``: the slug of the wallet; without it, the first that fits.
        """
        params: Json = {"url": url, "method": method, "challenge": challenge}
        params |= {"account": account} if account else {}
        return self._checked("x402", params, message or f"Pay for what {url} offers."[:2000], options)

    def credentials(
        self,
        fields: Iterable[Json] | None = None,
        *,
        message: str = "",
        provider: str | None = None,
        **options: Unpack[Options],
    ) -> R_co:
        """Ask for keys or passwords: ``fields``, each ``{name, label, secret?, help?, pattern?}``, or the slug of a
        ``provider``.

        The operator configured the provider's fields, and may have configured a call that checks them.
        """
        given = {"fields": None if fields is None else list(fields), "provider": provider}
        params = {name: value for name, value in given.items() if value is not None}
        return self._checked("credentials", params, message or "Hand over your key.", options)

    def form(self, schema: Json | type[Any], *, message: str, shared: bool = False, **options: Unpack[Options]) -> R_co:
        """Ask the questions of ``schema`` (the restricted JSON Schema of MCP). A form that asks for secrets is refused.

        ``schema`` may be a Pydantic model, a dataclass or a TypedDict, whose fields are the questions: texts, numbers,
        dates, yes or no, ``Literal``, ``Enum``, lists of these two, and ``Optional``. The outcome is an ``Answered``
        then, whose ``data`` has that type. ``shared``: you may read the answers before they are submitted, and the page
        says so.
        """
        typed = _typed(schema) if isinstance(schema, type) else None
        schema = typed.schema if typed else schema
        properties = schema.get("properties") if isinstance(schema, dict) else None
        params: Json = {"schema": schema}
        if isinstance(properties, dict):
            params["order"] = list(properties)
        if shared:
            params["shared"] = True
        return self._checked("form", params, message, options, typed)

    def confirm(self, message: str, *, words: ConfirmWords | None = None, **options: Unpack[Options]) -> R_co:
        """Ask for a yes. Only ``Completed`` means yes."""
        return self._checked("confirm", {**(words or {})}, message, options)

    def url_action(self, url: str, *, message: str, completion: str = "on_return", **options: Unpack[Options]) -> R_co:
        """Send the user to ``url``.

        ``completion`` says when the question is completed: ``"on_return"``, when that page sends the user back, or
        ``"by_agent"``, when you call ``Elicit.complete``.
        """
        return self._checked("link", {"url": url, "completion": completion}, message, options)

    def steps(self, steps: Iterable[Json], *, message: str, **options: Unpack[Options]) -> R_co:
        """Ask for several things in order behind one link. Each step is ``{kind, params, message?}``."""
        return self._checked("steps", {"steps": list(steps)}, message, options)


@cache
def _arguments(kind: str) -> tuple[str, ...]:
    """The names that the method of a kind takes, so that an error for ``scope`` names ``scopes``."""
    method = getattr(Questions, {"link": "url_action"}.get(kind, kind))
    own = [name for name in signature(method).parameters if name not in {"self", "options"}]
    return (*Options.__annotations__, *own)


def _typed(given: type[Any]) -> TypedForm[Any]:
    """Raises TypeError for a type that no form can ask for, and without pydantic."""
    try:
        forms = import_module("elicit_flows.sdk.typed_forms")  # pydantic is only needed here
    except ModuleNotFoundError as missing:
        raise TypeError('schema: A type needs pydantic: pip install "elicit-flows[forms]".') from missing
    found: TypedForm[Any] = forms.form_of(given)
    return found


class Plain(Questions[Question]):
    """Each method returns the question itself."""

    def _asked(self, question: Question) -> Question:
        return question
