"""What travels the line: frozen values that every layer may hold and none may change.

No Django in here. A kind receives these and answers with these, so a kind's tests need no database.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Claim:
    """Who somebody is: OpenID Connect issuer and subject, compared byte for byte, never folded."""

    iss: str
    sub: str


class Secret:
    """A string that does not show itself: not in repr, not in str, not in a log line, not in a traceback."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The string itself. Each call is a place where a secret leaves its wrapping: keep them few."""
        return self._value

    def __repr__(self) -> str:
        return "Secret(***)"

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)


@dataclass(frozen=True, slots=True)
class Question:
    """What an agent asks of one person. ``expires_in`` is in seconds; ``fingerprint`` identifies the request's body."""

    kind: str
    claim: Claim
    message: str
    params: Json
    expires_in: int = 900
    return_url: str | None = None
    reuse: str = "if_valid"
    metadata: Json = field(default_factory=dict)
    idempotency_key: str | None = None
    fingerprint: str = ""


@dataclass(frozen=True, slots=True)
class Visit:
    """One attempt by the right user to do what the elicitation asks, as its kind sees it.

    ``config`` is the operator's plug-in configuration (for kind oauth: kinds.oauth.config.OAuthProvider), secrets
    wrapped. ``state`` and ``redirect_uri`` are made by the line: a kind uses them as they are. ``stash`` is what the
    kind put aside when the user left; it is empty at ``begin``. ``account`` is the provider's name for the account that
    is to be connected again, if one is.
    """

    elicitation: str
    claim: Claim
    params: Json
    config: Any
    redirect_uri: str
    state: str = ""
    stash: Json = field(default_factory=dict)
    account: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: the query of a callback or the fields of a form, repetitions kept."""

    fields: Mapping[str, list[str]]

    def one(self, name: str) -> str | None:
        """The value when there is exactly one; None when there is none or there are several."""
        values = self.fields.get(name, [])
        return values[0] if len(values) == 1 else None

    def repeated(self, name: str) -> bool:
        return len(self.fields.get(name, [])) > 1


@dataclass(frozen=True, slots=True)
class Grant:
    """What an OAuth provider granted: goes into the vault and nowhere else."""

    access_token: Secret
    refresh_token: Secret | None
    token_type: str
    expires_at: datetime | None
    scopes: tuple[str, ...]
    account_id: str | None = None
    account_label: str | None = None
    dpop_key: Secret | None = None  # what the tokens are bound to (RFC 9449), a private JWK


# The steps a kind may answer.


@dataclass(frozen=True, slots=True)
class Leave:
    """Send the browser to ``url``; keep ``stash`` sealed until it comes back.

    ``hand_over``: once this is written down, the kind asks the outside where to send the browser in place of ``url``.
    """

    url: str
    stash: Json
    hand_over: bool = False


@dataclass(frozen=True, slots=True)
class Show:
    """Nobody leaves: the person goes on by themselves, wherever they like, with what our page shows them. Keep
    ``stash`` sealed and ask the kind how it stands (``poll``) in ``seconds``, for ``life`` seconds at most.
    """

    shown: Json
    stash: Json
    seconds: int
    life: int


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing has happened yet: ask again in ``seconds``, with ``stash`` in place of the earlier one.

    ``unanswered``: the outside could not be asked.
    """

    seconds: int
    stash: Json
    unanswered: bool = False


@dataclass(frozen=True, slots=True)
class Finish:
    """It is over. ``status`` is completed, declined or failed. ``grant`` or ``credentials`` (by name) are kept by the
    vault with it, and the result names their connection. Both: the credentials are what the grant was got with.
    """

    status: str
    result: Json | None = None
    error: Json | None = None
    grant: Grant | None = None
    credentials: Mapping[str, Secret] | None = None

    @classmethod
    def failed(cls, code: str, message: str) -> Finish:
        return cls("failed", error={"code": code, "message": message})


@dataclass(frozen=True, slots=True)
class Again:
    """Nothing was concluded; the user may start again from the link. ``code`` and ``reason`` are safe to show.

    ``field`` names what they may put right on our own page, where the reason then stands.
    """

    code: str
    reason: str
    field: str | None = None


Step = Leave
