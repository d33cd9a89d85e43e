"""The gateway's file: which servers are behind it, and which of their tools need what."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from elicit_flows.domain.values import Json
from elicit_flows.sdk.gateway.file_guards import Asked, AskError, asked

LOOPBACK = ("127.0.0.1", "::1", "localhost")
NAME = r"[a-z0-9][a-z0-9-]{0,31}"  # no underscore: it ends a server's name in the names of tools
HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
TAKEN_HEADERS = re.compile("host|content-.*|accept|connection|transfer-encoding|mcp-.*|last-event-id", re.IGNORECASE)


GUARDED = ("tools", "prompts", "resources")
Guarded = tuple[str, str]  # one of these, and the name or URI


class ConfigError(Exception):
    """What is wrong in the file, and where."""


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ServiceSection(_Section):
    """``api_key_env``: the variable that has the agent's key, which is never in the file."""

    url: str | None = None
    api_key_env: str | None = None


class UserSection(_Section):
    iss: Annotated[str, Field(min_length=1)]
    sub: Annotated[str, Field(min_length=1)]


class ListenSection(_Section):
    """``issuer``: whose access tokens (RFC 9068) name the user. ``resource``: this gateway's address in them."""

    port: Annotated[int, Field(ge=0, le=65535)]
    host: str = "127.0.0.1"
    issuer: str | None = None
    resource: str | None = None

    @model_validator(mode="after")
    def _both(self) -> Self:
        if (self.issuer is None) != (self.resource is None):
            raise ValueError("Give issuer and resource, or neither.")
        return self


class SettingsSection(_Section):
    """As ``Settings`` of the guards."""

    hold: float | None = None
    rounds: int | None = None
    progress_every: float | None = None
    ask_again_after: float | None = None
    push: bool | None = None
    otherwise: Literal["link", "refuse"] | None = None
    clients: dict[str, Literal["url", "link", "refuse"]] | None = None

    @property
    def given(self) -> dict[str, Any]:
        return self.model_dump(exclude_none=True)


class ServerSection(_Section):
    """One server: a program that is started (``command``), or an address (``url``).

    ``env_from`` names variables of the gateway's environment that the program gets too; ``headers_from`` has, by
    header, the variable with its value. ``tools``, ``prompts`` and ``resources``: what is asked, by name or URI;
    ``"*"`` is for those that are not named. ``hidden_until``: by provider, the tools that only users with an account
    there are shown.
    """

    command: str | None = None
    args: list[str] = []
    env: dict[str, str] = {}
    env_from: list[str] = []
    cwd: str | None = None
    url: str | None = None
    headers: dict[str, str] = {}
    headers_from: dict[str, str] = {}
    prefix: bool = False
    hidden_until: dict[str, list[str]] = {}
    tools: dict[str, list[Json]] = {}
    prompts: dict[str, list[Json]] = {}
    resources: dict[str, list[Json]] = {}

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if (self.command is None) == (self.url is None):
            raise ValueError("Give command or url, and not both.")
        wrong = ("args", "env", "env_from", "cwd") if self.url else ("headers", "headers_from")
        for name in wrong:
            if getattr(self, name):
                raise ValueError(f"{name}: This is for a server with {'command' if self.url else 'url'}.")
        if self.url and not re.match(r"https?://[^/]", self.url):
            raise ValueError("url: Give an address that begins with http:// or https://.")
        return self

    @property
    def needs_user(self) -> bool:
        """Whether a user has to be known."""
        return bool(self.hidden_until) or any(any(getattr(self, kind).values()) for kind in GUARDED)

    @property
    def guards(self) -> dict[Guarded, tuple[Asked, ...]]:
        """What is asked, in the order of the file. Raises AskError."""
        return {
            (kind, name): tuple(asked(one, f"{kind}.{name}.{at}") for at, one in enumerate(all_))
            for kind in GUARDED
            for name, all_ in getattr(self, kind).items()
        }


class Config(_Section):
    """``name`` tells this gateway from others with the same API key."""

    name: Annotated[str, Field(min_length=1, max_length=100)]
    service: ServiceSection = ServiceSection()
    user: UserSection | None = None
    listen: ListenSection | None = None
    settings: SettingsSection = SettingsSection()
    servers: Annotated[dict[Annotated[str, Field(pattern=f"^{NAME}$")], ServerSection], Field(min_length=1)]

    @model_validator(mode="after")
    def _who(self) -> Self:
        signed_in = self.listen is not None and self.listen.issuer is not None
        if self.user and signed_in:
            raise ValueError("user: The access tokens name the user already (listen.issuer). Give one of the two.")
        if self.listen and not signed_in and self.listen.host not in LOOPBACK:
            raise ValueError(
                "listen.host: Without listen.issuer, whoever reaches this address acts as the user. Use 127.0.0.1."
            )
        if not self.user and not signed_in and any(server.needs_user for server in self.servers.values()):
            raise ValueError("user: Say whom the guards ask, [user] iss and sub, or listen.issuer for access tokens.")
        return self

    @model_validator(mode="after")
    def _askable(self) -> Self:
        for name, server in self.servers.items():
            try:
                asks = server.guards
            except AskError as wrong:
                raise ValueError(f"servers.{name}.{wrong}") from wrong
            for (kind, guarded), all_ in asks.items():
                for at, one in enumerate(all_):
                    _check_places(f"servers.{name}.{kind}.{guarded}.{at}", server, one)
                    if kind == "resources" and one.place.argument:
                        raise ValueError(f"servers.{name}.{kind}.{guarded}.{at}.argument: A resource has no arguments.")
                if kind == "resources" and not all_ and "{" in guarded:
                    raise ValueError(
                        f"servers.{name}.{kind}.{guarded}: Only a whole URI can be left without a question, because "
                        "a template has the addresses of others as well."
                    )
        return self

    def variable(self, name: str, place: str) -> str:
        """The value of an environment variable that the file names."""
        value = os.environ.get(name)
        if not value:
            raise ConfigError(f"{place}: There is no environment variable {name}, or it is empty.")
        return value

    @property
    def api_key(self) -> str | None:
        """None: as the SDK finds it, ELICIT_API_KEY or ELICIT_API_KEY_FILE."""
        named = self.service.api_key_env
        return self.variable(named, "service.api_key_env") if named else None


def _check_places(place: str, server: ServerSection, one: Asked) -> None:
    """A token goes where this kind of server can take it."""
    wrong, kind = (one.place.env, "env") if server.url else (one.place.header, "header")
    if wrong:
        raise ValueError(f"{place}.{kind}: This is for a server with {'command' if server.url else 'url'}.")
    for header in one.place.header:
        if not HEADER.fullmatch(header) or TAKEN_HEADERS.fullmatch(header):
            raise ValueError(f"{place}.header: {header!r} cannot be given to a server.")


def read(path: Path) -> Config:
    """Raises ConfigError, which names each wrong place."""
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as missing:
        raise ConfigError(f"{path}: {missing.strerror}.") from missing
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as wrong:
        raise ConfigError(f"{path}: This is no TOML: {wrong}.") from wrong
    try:
        return Config.model_validate(told)
    except ValidationError as wrong:
        raise ConfigError("\n".join(f"{path}: {_said(one)}" for one in wrong.errors())) from wrong


def _said(error: Any) -> str:
    place = ".".join(str(part) for part in error["loc"] if part != "[key]")
    said = "There is no such setting." if error["type"] == "extra_forbidden" else error["msg"]
    said = said.removeprefix("Value error, ")
    return f"{place}: {said}" if place else said
