"""The gateway's file: which servers are behind it, and which of their tools need what."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from elicit_flows.domain.values import Json
from elicit_flows.sdk.gateway.file_guards import Asked, AskError, asked
from elicit_flows.sdk.gateway.names import well_braced

PATH = "/mcp"
AUTHORIZATION = "authorization"
LOOPBACK = ("127.0.0.1", "::1", "localhost")
NAME = r"[a-z0-9][a-z0-9-]{0,31}"  # no underscore: it ends a server's name in the names of tools
HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
TAKEN_HEADERS = re.compile("host|content-.*|accept|connection|transfer-encoding|mcp-.*|last-event-id", re.IGNORECASE)


GUARDED = ("tools", "prompts", "resources")
Guarded = tuple[str, str]  # one of these, and the name or URI


def is_private_address(url: str) -> bool:
    """Whether nobody on the way can read what is sent there: https, or this machine."""
    parts = urlsplit(url)
    return (parts.scheme == "https" and bool(parts.hostname)) or (parts.scheme == "http" and parts.hostname in LOOPBACK)


def _need_private(issuer: str | None, why: str) -> None:
    if issuer is not None and not is_private_address(issuer):
        raise ValueError(f"issuer: Give an address that begins with https://, because {why}.")


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
        _need_private(self.issuer, "its keys come from there")
        return self


class SignInSection(_Section):
    """How one server's user is known, in place of how the gateway's is.

    ``issuer``: whose access tokens name the user. The server is then alone at an address of its own, ``resource``.
    ``user``: the one user that its guards ask.
    """

    issuer: str | None = None
    resource: str | None = None
    user: UserSection | None = None

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.issuer is None) != (self.resource is None) or (self.issuer is None) == (self.user is None):
            raise ValueError("Give issuer and resource, or user.")
        _need_private(self.issuer, "its keys come from there")
        return self


class ClientCredentialsSection(_Section):
    """How the gateway itself signs in at a server. ``client_secret_env``: the variable that has the secret.

    ``resource``: what its tokens are for, if it is not the server's address.
    """

    issuer: str
    client_id: Annotated[str, Field(min_length=1)]
    client_secret_env: str
    scopes: list[str] = []
    resource: str | None = None
    token_auth: Literal["client_secret_basic", "client_secret_post"] = "client_secret_basic"

    @model_validator(mode="after")
    def _private(self) -> Self:
        _need_private(self.issuer, "the secret goes there")
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
    there are shown. ``sign_in``: how its user is known, if it is not as the others'. ``client_credentials``: how the
    gateway signs in, at a server that asks for it.
    """

    command: str | None = None
    args: list[str] = []
    env: dict[str, str] = {}
    env_from: list[str] = []
    cwd: str | None = None
    url: str | None = None
    headers: dict[str, str] = {}
    headers_from: dict[str, str] = {}
    client_credentials: ClientCredentialsSection | None = None
    prefix: bool = False
    sign_in: SignInSection | None = None
    hidden_until: dict[str, list[str]] = {}
    tools: dict[str, list[Json]] = {}
    prompts: dict[str, list[Json]] = {}
    resources: dict[str, list[Json]] = {}

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if (self.command is None) == (self.url is None):
            raise ValueError("Give command or url, and not both.")
        wrong = ("args", "env", "env_from", "cwd") if self.url else ("headers", "headers_from", "client_credentials")
        for name in wrong:
            if getattr(self, name):
                raise ValueError(f"{name}: This is for a server with {'command' if self.url else 'url'}.")
        if self.url and not re.match(r"https?://[^/]", self.url):
            raise ValueError("url: Give an address that begins with http:// or https://.")
        if self.client_credentials and self._own_header:
            raise ValueError("client_credentials: These give the Authorization header, which stands in headers too.")
        return self

    @property
    def _own_header(self) -> bool:
        return any(name.lower() == AUTHORIZATION for name in (*self.headers, *self.headers_from))

    @property
    def signs_in(self) -> bool:
        """Whether the gateway has a sign-in of its own there. Then a connection is of one user: servers bind sessions
        to whose token began them.
        """
        return self.client_credentials is not None or self._own_header

    @property
    def apart(self) -> bool:
        """Whether it has an address of its own, for the tokens of another issuer."""
        return self.sign_in is not None and self.sign_in.issuer is not None

    @property
    def needs_user(self) -> bool:
        """Whether the gateway's user has to be known."""
        if self.sign_in is not None:
            return False
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
        apart = [name for name, server in self.servers.items() if server.apart]
        if apart and self.listen is None:
            raise ValueError(f"servers.{apart[0]}.sign_in.issuer: Access tokens come on HTTP. Give [listen] a port.")
        signing_in = [one for one in (self.listen, *(server.sign_in for server in self.servers.values())) if one]
        paths = [urlsplit(one.resource).path for one in signing_in if one.resource is not None]
        if len(set(paths)) < len(paths):
            raise ValueError(
                "resource: Give each address a path of its own, because what is said of it is found by that."
            )
        if self.listen and len(apart) < len(self.servers) and not signed_in and self.listen.host not in LOOPBACK:
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
                if kind == "resources" and not well_braced(guarded):
                    raise ValueError(
                        f"servers.{name}.{kind}.{guarded}: The braces make no URI template, such as notes://{{name}}. "
                        "Do not nest them, and write a brace of the address itself as %7B or %7D."
                    )
                if kind == "resources" and not all_ and "{" in guarded:
                    raise ValueError(
                        f"servers.{name}.{kind}.{guarded}: Only a whole URI can be left without a question, because "
                        "a template has the addresses of others as well."
                    )
        return self

    @property
    def by_path(self) -> dict[str, Config]:
        """By path on HTTP, the file as if it had only the servers that are reached there."""
        together = {name: server for name, server in self.servers.items() if not server.apart}
        found = {PATH: self.model_copy(update={"servers": together})} if together else {}
        for name, server in self.servers.items():
            if server.apart and self.listen is not None and server.sign_in is not None:
                told = {"issuer": server.sign_in.issuer, "resource": server.sign_in.resource}
                alone = {"listen": self.listen.model_copy(update=told), "servers": {name: server}, "user": None}
                found[f"{PATH}/{name}"] = self.model_copy(update=alone)
        return found

    def user_of(self, server: str) -> tuple[str, str] | None:
        """The one user that a server's guards ask; None: the access token's."""
        signing_in = self.servers[server].sign_in
        one = signing_in.user if signing_in and signing_in.user else self.user
        return (one.iss, one.sub) if one else None

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
        lines = []
        for one in wrong.errors():
            place = ".".join(str(part) for part in one["loc"] if part != "[key]")
            said = "There is no such setting." if one["type"] == "extra_forbidden" else one["msg"]
            lines.append(": ".join(filter(None, (str(path), place, said.removeprefix("Value error, ")))))
        raise ConfigError("\n".join(lines)) from wrong
