"""What the API answers, typed. Fields that a later service adds are ignored, so an older agent goes on working."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Any, Literal, Required, Self, TypedDict

from elicit_flows.states import TERMINAL, Status
from elicit_flows.values import Claim, Json

User = Claim | tuple[str, str] | Mapping[str, str]


def claim(user: User) -> Claim:
    """The identity claim of a user given as a Claim, as ``(iss, sub)`` or as ``{"iss": ..., "sub": ...}``."""
    if isinstance(user, Claim):
        return user
    if isinstance(user, Mapping):
        return Claim(user["iss"], user["sub"])
    iss, sub = user
    return Claim(iss, sub)


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
    metadata: Json = field(default_factory=dict)

    @property
    def over(self) -> bool:
        return self.status in TERMINAL

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> Self:
        known = {name: body[name] for name in cls.__dataclass_fields__ if name in body}
        times = {name: moment(body.get(name)) for name in ("created_at", "expires_at", "finished_at", "consumed_at")}
        return cls(**{**known, **times, "status": Status(body["status"]), "subject": claim(body["subject"])})


@dataclass(frozen=True, slots=True)
class Connection:
    """An account that a user connected. ``account`` is ``{"id", "label"}`` where the provider says who it is.

    ``health``: ok, failing (the provider is asked again), expired, or the status that ended it.
    """

    id: str
    provider: str | None  # None: credentials of fields that the agent named
    subject: Claim
    scopes: tuple[str, ...] = ()
    status: str = ""
    account: Json | None = None
    # How it stands changes by itself: the same connection a minute later is still the same.
    health: str = field(default="", compare=False)
    next_refresh_at: datetime | None = field(default=None, compare=False)
    last_refresh_error: str | None = field(default=None, compare=False)

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> Self:
        known = {name: body[name] for name in cls.__dataclass_fields__ if name in body}
        kept = {"subject": claim(body["subject"]), "scopes": tuple(body.get("scopes") or ())}
        return cls(**{**known, **kept, "next_refresh_at": moment(body.get("next_refresh_at"))})


@dataclass(frozen=True, slots=True)
class Token:
    """An access token for the provider's API. Its repr hides the token itself; ``expires_at`` None: not known."""

    access_token: str = field(repr=False)
    token_type: str = "Bearer"
    expires_at: datetime | None = None
    scopes: tuple[str, ...] = ()

    @property
    def authorization(self) -> str:
        """The value of an Authorization header (RFC 6750, RFC 9449)."""
        return f"{self.token_type} {self.access_token}"

    @property
    def ath(self) -> str:
        """What names it in a DPoP proof: base64url of its SHA-256 (RFC 9449, section 4.2)."""
        return urlsafe_b64encode(sha256(self.access_token.encode()).digest()).rstrip(b"=").decode()

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> Self:
        return cls(
            access_token=body["access_token"],
            token_type=body.get("token_type") or "Bearer",
            expires_at=moment(body.get("expires_at")),
            scopes=tuple(body.get("scopes") or ()),
        )


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened. ``cursor`` is where to go on after it; None for an event that came as a webhook."""

    id: str
    type: str
    data: Json
    seq: int | None = None
    elicitation: str | None = None
    created_at: datetime | None = None
    cursor: str | None = None

    @classmethod
    def read(cls, body: Mapping[str, Any], cursor: str | None = None) -> Self:
        known = {name: body[name] for name in cls.__dataclass_fields__ if name in body}
        return cls(**{**known, "created_at": moment(body.get("created_at")), "cursor": cursor})


class GivenAnswer(TypedDict, total=False):
    """How a question is answered. ``value`` as the result's content has it; ``reason``: why it is skipped."""

    state: Required[Literal["draft", "submitted", "skipped"]]
    value: Any
    reason: str


@dataclass(frozen=True, slots=True)
class UserCode:
    """What to type where: ``code`` at ``url``, until ``expires_at`` (RFC 8628, section 3.2)."""

    code: str
    url: str
    expires_at: datetime

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> Self:
        return cls(body["user_code"], body["verification_uri"], datetime.fromisoformat(body["expires_at"]))


@dataclass(frozen=True, slots=True)
class DraftAnswer:
    """One answer of a draft. ``state`` None: it was cleared. ``seq``: of its last change; ``by``: person or agent."""

    seq: int
    by: str
    state: str | None = None
    value: Any = None
    reason: str | None = None

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> Self:
        return cls(**{name: body[name] for name in cls.__dataclass_fields__ if name in body})


@dataclass(frozen=True, slots=True)
class Draft:
    """What is answered of a form. ``missing`` names the questions that keep it from being accepted."""

    elicitation: str
    status: Status
    seq: int
    answers: Mapping[str, DraftAnswer]
    missing: tuple[str, ...] = ()

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> Self:
        answers = {question: DraftAnswer.read(answer) for question, answer in body["answers"].items()}
        missing = tuple(body.get("missing") or ())
        return cls(body["elicitation"], Status(body["status"]), body["seq"], answers, missing)
