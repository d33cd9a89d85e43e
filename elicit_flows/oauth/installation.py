"""Tokens of an app's installation, which the app's private key gets, as at GitHub (docs.github.com, "Generating an
installation access token for a GitHub App").
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from joserfc import jwt
from joserfc.jwk import RSAKey

from elicit_flows.oauth import responses
from elicit_flows.oauth.client import DEADLINE, Client, Session, fetch
from elicit_flows.oauth.errors import ProviderError
from elicit_flows.oauth.private_key_jwt import load_private_key
from elicit_flows.oauth.ways import Installation

PAGE, MOST_PAGES = 100, 10
LIFE, SKEW = 300, 60  # seconds; GitHub takes at most ten minutes, and recommends to date back for other clocks
_LEVELS = {"read": 1, "write": 2, "admin": 3}
_ALWAYS = {"metadata": "read"}  # GitHub adds it to every token
_JSON = {"accept": "application/vnd.github+json", "content-type": "application/json"}


@dataclass(frozen=True)
class Repository:
    """``roles``: what the person may do there, such as pull, push and admin."""

    id: int
    name: str
    full_name: str
    roles: frozenset[str]


@dataclass(frozen=True)
class Minted:
    """A token of an installation. ``permissions``: what it may do, which is never more than was asked."""

    token: str = field(repr=False)
    expires_at: datetime
    permissions: Mapping[str, str]


def app_key(pem: str) -> RSAKey:
    """An app's private key. Raises ProviderError if it is none."""
    key = load_private_key(pem)
    if not isinstance(key, RSAKey):
        raise ProviderError("not_allowed", "The private key of the app must be an RSA key.")
    return key


def needed_role(at: Installation, name: str, level: str) -> str | None:
    """The role in a repository that a person needs to have this done with it; None if no token has this permission."""
    if level not in _LEVELS or name not in (*at.usual, *at.admin):
        return None
    return "admin" if name in at.admin or level == "admin" else {"read": "pull", "write": "push"}[level]


def reached(at: Installation, client: Client, access_token: str, number: int, wanted: set[str]) -> list[Repository]:
    """Those of ``wanted`` (names or full names, in lower case) that the person's own token reaches there.

    Asks for at most 1,000 repositories. Raises like ``client.fetch``: with status 403 or 404 where the person does not
    reach the installation.
    """
    found: list[Repository] = []
    url = at.repositories.replace("{installation}", str(number))
    for page in range(1, MOST_PAGES + 1):
        said = fetch(f"{url}?per_page={PAGE}&page={page}", client, access_token=access_token)
        listed = said.get("repositories") if isinstance(said, dict) else None
        if not isinstance(listed, list):
            raise responses.unusable()
        found += [one for one in map(_repository, listed) if {one.name.lower(), one.full_name.lower()} & wanted]
        if len(listed) < PAGE or wanted <= {name.lower() for one in found for name in (one.name, one.full_name)}:
            break
    return found


def _repository(said: Any) -> Repository:
    if not isinstance(said, dict) or not isinstance(said.get("id"), int):
        raise responses.unusable()
    may = said.get("permissions")
    roles = frozenset(role for role, yes in may.items() if yes is True) if isinstance(may, dict) else frozenset()
    return Repository(said["id"], str(said.get("name")), str(said.get("full_name")), roles)


def mint(
    at: Installation, client_id: str, key: str, number: int, repositories: list[int], permissions: Mapping[str, str]
) -> Minted:
    """A new token for these repositories, by their ids. Raises ProviderError, also for a token that may do more than
    was asked, and Transient.
    """
    now = int(time.time())
    claims = {"iss": client_id, "iat": now - SKEW, "exp": now + LIFE}
    assertion = jwt.encode({"alg": "RS256", "typ": "JWT"}, claims, app_key(key))
    asked = {"repository_ids": repositories, "permissions": dict(permissions)}
    url = at.mint.replace("{installation}", str(number))
    headers = {**_JSON, "authorization": f"Bearer {assertion}"}
    answer = Session(DEADLINE, secrets=[assertion]).request("POST", url, json.dumps(asked).encode(), headers)
    said = responses.checked(answer, required=True, any_text=True)
    token, got = responses.secret(said, "token"), said.get("permissions")
    listed = said.get("repositories")
    if token is None or not isinstance(got, dict) or not isinstance(listed, list):
        raise responses.unusable()
    same = {_repository(one).id for one in listed} == set(repositories)
    most = {**_ALWAYS, **permissions}
    within = all(name in most and _LEVELS.get(level, 9) <= _LEVELS[most[name]] for name, level in got.items())
    if not (same and within):
        end(at, token)
        raise ProviderError("bad_response", "The provider issued a token for more than was asked.")
    try:
        return Minted(token, datetime.fromisoformat(str(said.get("expires_at"))), got)
    except ValueError:
        raise responses.unusable() from None


def end(at: Installation, token: str) -> None:
    """End a token of an installation. One that has ended already counts. Raises ProviderError and Transient."""
    headers = {**_JSON, "authorization": f"Bearer {token}"}
    answer = Session(DEADLINE, secrets=[token]).request("DELETE", at.end, b"", headers)
    if answer.status != 401:
        responses.checked(answer)
