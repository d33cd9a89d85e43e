"""Frozen values that every package may use.

There is no Django here. Kinds receive and return these values, so the tests of a kind need no database.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

Json = dict[str, Any]
ScopeWords = Mapping[str, str | Mapping[str, str]]  # what a scope allows: as text, or by language

MAX_ISSUER, MAX_SUBJECT = 500, 255  # characters of a claim; OpenID Connect gives a subject 255 at the most
_SLUG = re.compile(r"[A-Za-z0-9_-]{1,64}")


def is_slug(value: object) -> bool:
    """Whether it can name a provider, an account or an agent. Slugs are part of addresses and of the API."""
    return isinstance(value, str) and _SLUG.fullmatch(value) is not None


@dataclass(frozen=True, slots=True)
class Claim:
    """A person's identity: OpenID Connect issuer and subject, compared byte for byte."""

    iss: str
    sub: str


class Secret:
    """A string that does not appear in repr, str, log lines or tracebacks."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The string itself. A secret leaves its wrapper wherever this is called, so call it in few places."""
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
    return_mode: str = "auto"
    locale: str | None = None
    reuse: str = "if_valid"
    notify: bool = False
    metadata: Json = field(default_factory=dict)
    idempotency_key: str | None = None
    fingerprint: str = ""


@dataclass(frozen=True, slots=True)
class Visit:
    """One attempt by the right user to do what the elicitation asks, as its kind sees it.

    ``config`` is the operator's configuration (for kind oauth: ``kinds.oauth.provider.OAuthProvider``), with wrapped
    secrets. ``state`` and ``redirect_uri`` are given; a kind uses them as they are. ``stash`` is what the kind stored
    when the user left; it is empty at ``begin``. ``account`` is the provider's name for the account that is to be
    connected again, if there is one. ``language`` is the language of the page that the user leaves, as a tag (BCP 47);
    it is there at ``begin`` only.
    """

    elicitation: str
    claim: Claim
    params: Json
    config: Any
    redirect_uri: str
    state: str = ""
    stash: Json = field(default_factory=dict)
    account: str | None = None
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a browser sent: the query of a callback or the fields of a form, with repetitions."""

    fields: Mapping[str, list[str]]

    def one(self, name: str) -> str | None:
        """The value if there is exactly one; None if there is none, or if there are several."""
        values = self.fields.get(name, [])
        return values[0] if len(values) == 1 else None

    def repeated(self, name: str) -> bool:
        return len(self.fields.get(name, [])) > 1


@dataclass(frozen=True, slots=True)
class Grant:
    """What an OAuth provider granted. It is stored only in the vault."""

    access_token: Secret
    refresh_token: Secret | None
    token_type: str
    expires_at: datetime | None
    scopes: tuple[str, ...]
    account_id: str | None = None
    account_label: str | None = None
    dpop_key: Secret | None = None  # the private JWK that the tokens are bound to (RFC 9449)
    token_secret: Secret | None = None  # signs requests with the token (OAuth 1.0a)
    bound_to: Mapping[str, str] | None = (
        None  # the hosts that may receive the tokens; None: the provider's current ones
    )
    variables: Mapping[str, str] = field(default_factory=dict)  # what the person named in the provider's addresses
    metadata: Json = field(default_factory=dict)  # what the provider said beside the tokens; nothing of it is secret
    resource: str = ""  # the only resource that the tokens are for (RFC 8707), "" if that was not asked
    managed_by: str = ""  # the identity provider that vouched for the person, by its slug
    sets: Mapping[str, Grant] = field(default_factory=dict)  # the tokens of other scope sets, by the set's name


# The steps that a kind may return.


@dataclass(frozen=True, slots=True)
class Leave:
    """Send the browser to ``url``, and store ``stash`` sealed until it comes back.

    ``hand_over``: after this is recorded, the kind asks the provider where to send the browser in place of ``url``.
    """

    url: str
    stash: Json
    hand_over: bool = False


@dataclass(frozen=True, slots=True)
class Show:
    """The browser stays: the person continues wherever they like with what our page shows.

    Store ``stash`` sealed, and call the kind's ``poll`` every ``seconds``, for at most ``life`` seconds.
    """

    shown: Json
    stash: Json
    seconds: int
    life: int


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing has happened yet: poll again in ``seconds``, with ``stash`` in place of the earlier one.

    ``unanswered``: the provider did not answer.
    """

    seconds: int
    stash: Json
    unanswered: bool = False


@dataclass(frozen=True, slots=True)
class Finish:
    """The attempt is over. ``status`` is completed, declined or failed.

    The vault stores ``grant`` or ``credentials`` (by name), and the result names their connection. If both are given,
    the grant was obtained with the credentials.
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
    """The attempt has no outcome, and the user may start again from the link. ``code`` and ``reason`` are safe to show.

    ``field`` names the field of our own page that the user may correct; the reason is shown beside it.
    """

    code: str
    reason: str
    field: str | None = None


Step = Leave
