"""The files that ``manage.py import_tokens`` reads: lines of JSON, CSV, and the exports of Nango and Composio.

Each reader gives, for each line of a file, what the API's import calls the same thing. The formats of the exports are
those of Nango's ``GET /connections/{connectionId}`` (https://nango.dev/docs/reference/backend/http-api/connection/get.md)
and of Composio's ``GET /api/v3/connected_accounts/{nanoid}`` (https://docs.composio.dev/docs/connected-accounts), one
answer a line.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from elicit_flows.api import parsing
from elicit_flows.domain.errors import BadRequest, TooLarge
from elicit_flows.domain.values import Json

COLUMNS = (
    "agent", "iss", "sub", "provider", "access_token", "refresh_token", "expires_at", "scopes", "account_id",
    "account_label",
)  # fmt: skip
VARIABLE = "variable_"  # begins the columns of variables: variable_shop
_DELIMITERS = ",;\t"  # a spreadsheet program writes the one that its country uses
_MASKED = re.compile(r"\.\.\.|\*\*\*|\u2026|^\W?redacted\W?$", re.IGNORECASE)


class CannotTake(Exception):
    """``key`` names the place in the line, "" for the whole line. The message repeats no value of the file."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key, self.message = key, message


@dataclass(frozen=True, slots=True)
class Defaults:
    """What the operator says for all lines: ``agent`` and ``iss`` where a line names none, and how their names of
    providers and variables are called here.
    """

    agent: str = ""
    iss: str = ""
    providers: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)

    def named(self, given: Mapping[str, object]) -> dict[str, str]:
        """The variables among the settings of a connection: those that ``variables`` names."""
        found = {ours: given.get(theirs) for theirs, ours in self.variables.items()}
        return {ours: value for ours, value in found.items() if isinstance(value, str) and value}


Read = tuple[int, Json | CannotTake]


@dataclass(frozen=True, slots=True)
class Format:
    """``read`` gives the lines with their numbers. ``places``: where the file has what the API calls otherwise."""

    read: Callable[[Path, Defaults], Iterator[Read]]
    places: Mapping[str, str] = field(default_factory=dict)

    def place(self, key: str) -> str:
        """The place in the file for a key of the API, such as ``subject.iss``."""
        for ours, theirs in self.places.items():
            if key == ours or key.startswith(f"{ours}."):
                return theirs.replace("*", key.rpartition(".")[2])
        return key


def _lines(path: Path) -> Iterator[tuple[int, Json | CannotTake]]:
    with path.open("rb") as file:
        for number, raw in enumerate(file, 1):
            if not raw.strip():
                continue
            try:
                yield number, parsing.parse_json(raw)
            except (BadRequest, TooLarge) as error:
                yield number, CannotTake("", error.detail)


def _jsonl(path: Path, defaults: Defaults) -> Iterator[Read]:
    for number, said in _lines(path):
        if isinstance(said, dict):
            if defaults.agent:
                said.setdefault("agent", defaults.agent)
            if defaults.iss and isinstance(said.get("subject"), dict):
                said["subject"].setdefault("iss", defaults.iss)
            if isinstance(said.get("provider"), str):
                said["provider"] = defaults.providers.get(said["provider"], said["provider"])
        yield number, said


def _csv(path: Path, defaults: Defaults) -> Iterator[Read]:
    # What is not UTF-8 becomes characters that the check of each value refuses, so that the line can be named.
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        head = file.readline(parsing.MAX_BYTES)
        delimiter = max(_DELIMITERS, key=head.count)
        file.seek(0)
        rows = csv.reader(file, delimiter=delimiter, strict=True)
        names: list[str] = []
        while True:
            try:
                row = next(rows, None)
            except csv.Error as error:
                yield rows.line_num, CannotTake("", f"This is not CSV: {error}.")
                continue
            if row is None:
                return
            if not any(cell.strip() for cell in row):
                continue
            if names:
                yield rows.line_num, _of_row(names, row, defaults)
            else:
                names = [cell.strip().lower() for cell in row]
                if wrong := _header_fault(names):
                    yield rows.line_num, wrong
                    return


def _header_fault(names: list[str]) -> CannotTake | None:
    known = [name for name in names if name in COLUMNS or name.startswith(VARIABLE)]
    if twice := next((name for name in known if names.count(name) > 1), ""):
        return CannotTake(twice, "This column is there twice.")
    if len(known) < len(names):
        number = next(place for place, name in enumerate(names, 1) if name not in known)
        # The name is not repeated: in a file without a header it would be a token.
        return CannotTake("", f"Column {number} has no name that is known. The first line names {', '.join(COLUMNS)}.")
    if missing := next((name for name in ("sub", "provider") if name not in names), ""):
        return CannotTake(missing, "This column is missing.")
    return None


def _of_row(names: list[str], row: list[str], defaults: Defaults) -> Json | CannotTake:
    if len(row) != len(names):
        return CannotTake("", f"This line has {len(row)} values, and the first line {len(names)} names.")
    said = {name: value.strip() for name, value in zip(names, row, strict=True) if value.strip()}
    provider = said.get("provider", "")
    return _line(
        defaults,
        agent=said.get("agent", ""),
        iss=said.get("iss", ""),
        sub=said.get("sub"),
        provider=provider,
        access_token=said.get("access_token"),
        refresh_token=said.get("refresh_token"),
        expires_at=said.get("expires_at"),
        scopes=said.get("scopes", "").split(),
        account={
            name: said[f"account_{name}"] for name in ("id", "label") if f"account_{name}" in said
        } or None,
        variables={name.removeprefix(VARIABLE): value for name, value in said.items() if name.startswith(VARIABLE)},
    )  # fmt: skip


def _line(defaults: Defaults, *, iss: str = "", sub: Any, agent: str = "", provider: Any, **more: Any) -> Json:
    subject = {"iss": iss or defaults.iss or None, "sub": sub}
    said = {
        "agent": agent or defaults.agent or None,
        "subject": {name: value for name, value in subject.items() if value is not None},
        "provider": defaults.providers.get(provider, provider) if isinstance(provider, str) else provider,
        **more,
    }
    return {name: value for name, value in said.items() if value is not None and value != {}}


def _each(convert: Callable[[Json, Defaults], Json]) -> Callable[[Path, Defaults], Iterator[Read]]:
    """A reader of lines of JSON, each of which ``convert`` makes into ours."""

    def read(path: Path, defaults: Defaults) -> Iterator[Read]:
        for number, said in _lines(path):
            try:
                yield number, said if isinstance(said, CannotTake) else convert(said, defaults)
            except CannotTake as reason:
                yield number, reason

    return read


def _of_nango(said: Json, defaults: Defaults) -> Json:
    credentials = _object(said, "credentials")
    kind = credentials.get("type")
    if kind != "OAUTH2":
        raise CannotTake("credentials.type", "Only tokens of OAuth 2 (OAUTH2) can be taken; ask the user for this.")
    if _object(credentials, "config_override").get("client_id"):
        raise CannotTake("credentials.config_override", "These tokens belong to a client of the user's own.")
    errors = said.get("errors")
    if any(isinstance(one, dict) and one.get("type") == "auth" for one in (errors if isinstance(errors, list) else [])):
        raise CannotTake("errors", "Nango could not refresh this connection any more; ask the user again.")
    return _line(
        defaults,
        sub=_object(said, "tags").get("end_user_id") or _object(said, "end_user").get("id"),
        provider=said.get("provider_config_key"),
        access_token=_token(credentials, "access_token", "credentials.access_token"),
        refresh_token=_token(credentials, "refresh_token", "credentials.refresh_token"),
        expires_at=credentials.get("expires_at"),
        scopes=_scopes(_object(credentials, "raw").get("scope")),
        variables=defaults.named(_object(said, "connection_config")),
    )


def _of_composio(said: Json, defaults: Defaults) -> Json:
    state = _object(said, "state")
    if state.get("authScheme") != "OAUTH2":
        raise CannotTake("state.authScheme", "Only tokens of OAuth 2 (OAUTH2) can be taken; ask the user for this.")
    if _object(said, "auth_config").get("is_composio_managed"):
        raise CannotTake(
            "auth_config.is_composio_managed", "These tokens belong to Composio's own client; ask the user again."
        )
    values = _object(state, "val")
    if said.get("status") != "ACTIVE" or values.get("status", "ACTIVE") != "ACTIVE":
        raise CannotTake("status", "Only ACTIVE accounts can be taken; ask the user again.")
    refresh = _token(values, "refresh_token", "state.val.refresh_token")
    access = _token(values, "access_token", "state.val.access_token")
    # An account says for how long its access token was issued, and not when: with a refresh token a new one is got.
    expires = values.get("expires_in") is not None
    return _line(
        defaults,
        sub=said.get("user_id"),
        provider=_object(said, "toolkit").get("slug"),
        access_token=None if refresh and expires else access,
        refresh_token=refresh,
        scopes=_scopes(values.get("scope")),
        variables=defaults.named(values),
    )


def _object(said: Json, name: str) -> Json:
    found = said.get(name)
    return found if isinstance(found, dict) else {}


def _token(said: Json, name: str, place: str) -> object:
    value = said.get(name)
    if isinstance(value, str) and _MASKED.search(value):
        raise CannotTake(place, "This token is masked. Export the connections with their secrets shown.")
    return value or None


def _scopes(said: object) -> object:
    """A list, or a text with commas or spaces between the scopes."""
    return [one for one in re.split(r"[\s,]+", said) if one] if isinstance(said, str) else said or []


_CSV = {
    "subject.iss": "iss", "subject.sub": "sub", "scopes": "scopes", "account.id": "account_id",
    "account.label": "account_label", "account": "account_id", "variables": f"{VARIABLE}*",
}  # fmt: skip
_NANGO = {
    "agent": "--agent", "subject.iss": "--issuer", "subject.sub": "tags.end_user_id", "subject": "tags.end_user_id",
    "provider": "provider_config_key", "access_token": "credentials.access_token",
    "refresh_token": "credentials.refresh_token", "expires_at": "credentials.expires_at",
    "scopes": "credentials.raw.scope", "variables": "connection_config",
}  # fmt: skip
_COMPOSIO = {
    "agent": "--agent", "subject.iss": "--issuer", "subject.sub": "user_id", "subject": "user_id",
    "provider": "toolkit.slug", "access_token": "state.val.access_token", "refresh_token": "state.val.refresh_token",
    "scopes": "state.val.scope", "variables": "state.val",
}  # fmt: skip
FORMATS = {
    "jsonl": Format(_jsonl),
    "csv": Format(_csv, _CSV),
    "nango": Format(_each(_of_nango), _NANGO),
    "composio": Format(_each(_of_composio), _COMPOSIO),
}
