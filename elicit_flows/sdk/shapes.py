"""What the API answers, typed. Unknown fields are ignored, so an older SDK works with a newer service."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any, Literal, Required, Self, TypedDict

from elicit_flows.domain.status import TERMINAL, Status
from elicit_flows.domain.values import Claim, Json

# What a provider said beside the tokens, by the names of its entry.
Metadata = Mapping[str, str | int | bool | list[str | int | bool]]
User = Claim | tuple[str, str] | Mapping[str, str]


def claim(user: User) -> Claim:
    """The identity claim of a user given as a Claim, as ``(iss, sub)`` or as ``{"iss": ..., "sub": ...}``.

    Raises TypeError for anything else.
    """
    said: Any = user
    if isinstance(said, Claim):
        return said
    if isinstance(said, Mapping):
        said = (said.get("iss"), said.get("sub"))
    pair = list(said) if isinstance(said, tuple | list) else []
    if len(pair) != 2 or not all(isinstance(one, str) and one for one in pair):
        raise TypeError(
            f"user: Give the issuer and the subject, two texts, as (iss, sub), Claim(iss, sub) or a mapping with iss "
            f"and sub; not {user!r}."
        )
    return Claim(*pair)


def strings(name: str, given: Iterable[str]) -> list[str]:
    """``given`` as a list; a single text becomes a list of one. Raises TypeError or ValueError, which name ``name``."""
    found = [given] if isinstance(given, str) else list(given)
    for one in found:
        if not isinstance(one, str):
            raise TypeError(f"{name}: Give texts, not {one!r}.")
        if not one:
            raise ValueError(f"{name}: A text is empty.")
    return found


def moment(text: str | None) -> datetime | None:
    """An RFC 3339 time as an aware datetime."""
    return datetime.fromisoformat(text) if text else None


@dataclass(frozen=True, slots=True)
class Elicitation:
    """One question to one user. ``seq`` grows with every change; times are aware datetimes in UTC."""

    id: str
    kind: str
    status: Status
    url: str
    subject: Claim
    seq: int
    message: str = ""
    action: str | None = None
    params: Json = field(default_factory=dict)
    result: Json | None = None
    error: Json | None = None
    reused: bool = False
    created_at: datetime | None = None
    expires_at: datetime | None = None
    finished_at: datetime | None = None
    consumed_at: datetime | None = None
    return_url: str | None = None
    return_: str = "auto"  # or "button"; the API calls it "return"
    locale: str | None = None
    metadata: Json = field(default_factory=dict)

    @property
    def over(self) -> bool:
        """Whether it has ended, in whichever way."""
        return self.status in TERMINAL

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> Self:
        """The elicitation in an answer of the API."""
        known = {name: body[name] for name in cls.__dataclass_fields__ if name in body}
        times = {name: moment(body.get(name)) for name in ("created_at", "expires_at", "finished_at", "consumed_at")}
        known["return_"] = body.get("return", "auto")
        return cls(**{**known, **times, "status": Status(body["status"]), "subject": claim(body["subject"])})


@dataclass(frozen=True, slots=True)
class Connection:
    """An account that a user connected.

    ``account`` is ``{"id", "label"}`` if the provider names it; ``label`` is always filled. ``health`` is ok, failing
    (the service will ask the provider again), expired, or the status that ended it.
    """

    id: str
    provider: str | None  # None: credentials whose fields the agent named
    subject: Claim
    scopes: tuple[str, ...] = ()
    status: str = ""
    account: Json | None = None
    label: str = field(default="", compare=False)
    metadata: Metadata = field(default_factory=dict)  # what the provider said beside the tokens
    variables: Mapping[str, str] = field(default_factory=dict)  # what the user named in its addresses, such as a shop
    mcp: str | None = None  # the address of the remote MCP server
    resource: str | None = None  # the only resource that its tokens are for
    # These change by themselves, so two readings of one connection still compare equal.
    health: str = field(default="", compare=False)
    next_refresh_at: datetime | None = field(default=None, compare=False)
    last_refresh_error: str | None = field(default=None, compare=False)

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> Self:
        """The connection in an answer of the API."""
        known = {name: body[name] for name in cls.__dataclass_fields__ if name in body}
        kept = {"subject": claim(body["subject"]), "scopes": tuple(body.get("scopes") or ())}
        return cls(**{**known, **kept, "next_refresh_at": moment(body.get("next_refresh_at"))})


class Installation(TypedDict):
    """An installation of an app, such as a GitHub App, and what its token is for: names of repositories, and
    permissions such as ``{"contents": "read"}``.
    """

    id: int
    repositories: Sequence[str]
    permissions: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Token:
    """An access token for the provider's API. Its repr hides the token. ``expires_at`` is None if it is not known."""

    access_token: str = field(repr=False)
    token_type: str = "Bearer"
    expires_at: datetime | None = None
    scopes: tuple[str, ...] = ()
    metadata: Metadata = field(default_factory=dict)  # what the provider said beside the tokens, such as instance_url
    resource: str | None = None  # the only resource that it is for, such as an MCP server: send it nowhere else
    token_secret: str | None = field(default=None, repr=False)  # of a token of OAuth 1.0a, whose type is oauth1

    @property
    def authorization(self) -> str:
        """The value of an Authorization header (RFC 6750, RFC 9449)."""
        return f"{self.token_type} {self.access_token}"

    @property
    def ath(self) -> str:
        """The token's hash for a DPoP proof: base64url of its SHA-256 (RFC 9449, section 4.2)."""
        return urlsafe_b64encode(sha256(self.access_token.encode()).digest()).rstrip(b"=").decode()

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> Self:
        """The token in an answer of the API."""
        return cls(
            access_token=body["access_token"],
            token_type=body.get("token_type") or "Bearer",
            expires_at=moment(body.get("expires_at")),
            scopes=tuple(body.get("scopes") or ()),
            metadata=body.get("metadata") or {},
            resource=body.get("resource"),
            token_secret=body.get("token_secret"),
        )


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened.

    ``cursor`` is the position after it in the feed, for ``Elicit.events``; None for an event from a webhook.
    """

    id: str
    type: str
    data: Json
    seq: int | None = None
    elicitation: str | None = None
    created_at: datetime | None = None
    cursor: str | None = None

    @classmethod
    def read(cls, body: Mapping[str, Any], cursor: str | None = None) -> Self:
        """The event in an answer of the API."""
        known = {name: body[name] for name in cls.__dataclass_fields__ if name in body}
        return cls(**{**known, "created_at": moment(body.get("created_at")), "cursor": cursor})


class GivenAnswer(TypedDict, total=False):
    """The answer to one question of a form. ``value`` has the form of the result's content; ``reason``: why it is
    skipped.
    """

    state: Required[Literal["draft", "submitted", "skipped"]]
    value: Any
    reason: str


@dataclass(frozen=True, slots=True)
class UserCode:
    """A code that the user types at ``url`` until ``expires_at`` (RFC 8628, section 3.2)."""

    code: str
    url: str
    expires_at: datetime

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> Self:
        """The code in an answer of the API."""
        return cls(body["user_code"], body["verification_uri"], datetime.fromisoformat(body["expires_at"]))


@dataclass(frozen=True, slots=True)
class DraftAnswer:
    """One answer in a draft. ``state`` None: it was cleared. ``seq``: its last change; ``by``: who made it, person or
    agent.
    """

    seq: int
    by: str
    state: str | None = None
    value: Any = None
    reason: str | None = None

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> Self:
        """The answer in an answer of the API."""
        return cls(**{name: body[name] for name in cls.__dataclass_fields__ if name in body})


@dataclass(frozen=True, slots=True)
class Draft:
    """The answers of a form so far. ``missing`` names the questions that must be answered before it can be
    submitted.
    """

    elicitation: str
    status: Status
    seq: int
    answers: Mapping[str, DraftAnswer]
    missing: tuple[str, ...] = ()

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> Self:
        """The draft in an answer of the API."""
        answers = {question: DraftAnswer.read(answer) for question, answer in body["answers"].items()}
        missing = tuple(body.get("missing") or ())
        return cls(body["elicitation"], Status(body["status"]), body["seq"], answers, missing)
