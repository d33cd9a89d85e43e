"""The interface of a kind: a few pure functions. Values in, values out; no database, no status, no queue."""

from __future__ import annotations

from typing import Any, Protocol

from elicit_flows.domain.values import Again, Answer, Finish, Json, Leave, Show, Step, Visit, Wait


class Kind(Protocol):
    """One thing that a user can be asked to do.

    ``context`` names the parameter that selects the operator's configuration ("provider" for oauth), or is None. A
    visit's ``config`` is then that configuration. It is None if the operator has switched it off since, or if the kind
    lets an agent leave it out.

    Allowed errors: ``errors.Invalid`` from ``clean``; ``errors.ProviderUnavailable`` from ``begin``, and, for kinds
    that are answered on our own page, from ``check_answer`` if the provider cannot be asked now; ``errors.BadCallback``
    from ``check_answer``, and ``errors.Invalid`` if the person can correct it on our page: its ``loc`` is the field's
    name. ``resume`` raises nothing for what a provider or browser sent: it returns Finish or Again.
    """

    context: str | None
    takes_money: bool  # payments: the caller opens the provider's page, and the payment records decide the outcome
    leaves: bool  # True: the button leads to another site (``begin``); False: our own page asks the question

    def clean(self, params: Json) -> Json:
        """The parameters, checked and complete. Unknown names are refused. Raises ``Invalid``."""

    def describe(self, params: Json, config: Any) -> Json:
        """What the connect page shows: {title, host, host_warning, ...}. Plain text, which the page escapes."""

    def begin(self, visit: Visit) -> Step:
        """The first step, after the right user has pressed the button."""

    def check_answer(self, visit: Visit, answer: Answer) -> None:
        """Check that the answer can be used, before the attempt is spent; makes no outside call. Raises
        ``BadCallback``, ``Invalid``.
        """

    def resume(self, visit: Visit, answer: Answer) -> Finish | Again:
        """What follows from the answer that the user came back with."""


class RedirectingKind(Kind, Protocol):
    """A kind with steps that say ``hand_over``."""

    def hand_over(self, visit: Visit, url: str) -> str | Show | Leave:
        """Where the browser goes in place of ``url``, with what is to be stored in place of the stash if that changes;
        or what our page shows if the browser stays here.

        Called again for the same step if the result was lost. Raises ``ProviderUnavailable``.
        """


class Polled(RedirectingKind, Protocol):
    """A kind that may return ``Show`` from ``hand_over``."""

    def poll(self, visit: Visit) -> Finish | Again | Wait:
        """The state of what our page shows. Raises nothing for what a provider sent, and reads no rows: polls run in
        parallel.
        """
