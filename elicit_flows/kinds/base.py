"""What a kind is: a few pure verbs. Values in, values out; no ORM, no status, no queue."""

from __future__ import annotations

from typing import Any, Protocol

from elicit_flows.values import Again, Answer, Finish, Json, Show, Step, Visit, Wait


class Kind(Protocol):
    """One thing a user can be asked to do.

    ``context`` names the parameter that picks the operator's plug-in ("provider" for oauth), or is None. Then a
    visit's ``config`` is that plug-in's configuration, or None when it has been switched off meanwhile, and where the
    kind lets an agent do without.

    Allowed errors: ``errors.Invalid`` from ``clean``; ``errors.ProviderUnavailable`` from ``begin``, and from
    ``check_answer`` where our own page asks, when the outside cannot be asked now; ``errors.BadCallback`` from
    ``check_answer``, and ``errors.Invalid`` where a person can put it right on our page: its ``loc`` is the field's
    name. ``resume`` raises nothing for what an outside party sent: it answers Finish or Again.
    """

    context: str | None
    takes_money: bool  # the line opens the provider's page itself and lets the ledger say what became of it
    leaves: bool  # the button leads elsewhere (``begin``); else our page asks, and what is sent is the answer

    def clean(self, params: Json) -> Json:
        """The parameters, checked and complete; unknown names are refused. Raises ``Invalid``."""

    def describe(self, params: Json, config: Any) -> Json:
        """What the connect page shows: {title, host, host_warning, ...}; plain text, escaped by the page."""

    def begin(self, visit: Visit) -> Step:
        """The first step, after the right user has pressed the button."""

    def check_answer(self, visit: Visit, answer: Answer) -> None:
        """Whether the answer may be used at all, before the attempt is spent; asks nobody. Raises ``BadCallback``,
        ``Invalid``.
        """

    def resume(self, visit: Visit, answer: Answer) -> Finish | Again:
        """The user came back with an answer."""


class HandsOver(Kind, Protocol):
    """A kind some of whose steps say ``hand_over``."""

    def hand_over(self, visit: Visit, url: str) -> str | Show:
        """Where the browser goes in place of ``url``, or what our page shows because nobody leaves. Asked again for the
        same step when nobody wrote down what was answered. Raises ``ProviderUnavailable``.
        """


class Polled(HandsOver, Protocol):
    """A kind that may answer ``hand_over`` with ``Show``."""

    def poll(self, visit: Visit) -> Finish | Again | Wait:
        """How it stands with what our page shows. Raises nothing for what an outside party sent, and reads no rows:
        several are asked at once.
        """
