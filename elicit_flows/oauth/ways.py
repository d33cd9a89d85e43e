"""Ways to tokens beside the authorization code, as data: OAuth 1.0a, signed assertions, a provider's own requests."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

PLACE = re.compile(r"\{([a-z][a-z0-9_]{0,39})\}")
Auth = Literal["none", "client_secret_basic", "bearer", "oauth1"]
Values = Mapping[str, str]  # client_id, client_secret, access_token, refresh_token, token_secret, or fields


@dataclass(frozen=True, slots=True)
class DescribedCall:
    """``params`` may be nested if they are sent as JSON. ``auth``: bearer is the access token, oauth1 a signature.
    ``done``: statuses that mean success too, such as 404 for what has gone already.
    """

    url: str
    method: str = "POST"
    auth: Auth = "none"
    send: Literal["query", "form", "json"] = "form"
    params: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    done: tuple[int, ...] = ()

    @property
    def names(self) -> set[str]:
        """The values that it needs."""
        needs = {"client_secret_basic": {"client_id", "client_secret"}, "bearer": {"access_token"}}
        needs["oauth1"] = {"access_token", "token_secret"}
        written = json.dumps([urlsplit(self.url).path, self.params, list(self.headers.values())])
        return {*PLACE.findall(written), *needs.get(self.auth, ())}


@dataclass(frozen=True, slots=True)
class OAuth1:
    """A provider of OAuth 1.0a (RFC 5849). ``request_url`` issues temporary credentials. The authorization and the
    token endpoint are those of the provider.
    """

    request_url: str
    signature: Literal["HMAC-SHA1", "RSA-SHA1"] = "HMAC-SHA1"


@dataclass(frozen=True, slots=True)
class Assertion:
    """An assertion that is signed with a private key that a person typed, and exchanged for a token (RFC 7523, 2.1).

    ``{name}`` stands for a field, or for a member of the JSON that was typed into the field ``document``. Audience and
    token endpoint are never taken from there. ``scope``: where the scopes stand. ``life`` is in seconds.
    """

    issuer: str
    key: str
    audience: str
    subject: str = ""
    key_id: str = ""
    document: str = ""
    scope: Literal["claim", "param"] = "param"
    life: int = 300

    @property
    def names(self) -> set[str]:
        """The values that it needs."""
        return set(PLACE.findall(" ".join([self.issuer, self.key, self.subject, self.key_id])))


@dataclass(frozen=True, slots=True)
class Installation:
    """How an app's key gets tokens for one installation of the app, as at GitHub; ``{installation}`` is its id.

    ``repositories`` lists what the person's own token reaches there, ``mint`` issues a token, and ``end`` ends it; all
    three are at one host. To read with a permission of ``usual``, a person must be able to pull, to write, to push. A
    permission of ``admin`` is for administrators of a repository. No other is asked for.
    """

    mint: str
    repositories: str
    end: str
    usual: tuple[str, ...]
    admin: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ScopeSet:
    """Scopes that are asked for in a parameter of their own and come with a token of their own, such as the user's
    beside the app's at Slack. They are named with the set's name before them: ``user/search:read``.

    ``path``: where in the answer the token stands. ``type``: its token_type, by which it is told from the others.
    """

    name: str
    param: str
    path: tuple[str, ...]
    type: str

    @property
    def prefix(self) -> str:
        return f"{self.name}/"


def places_in(template: str) -> list[str]:
    """The names that stand in braces."""
    return PLACE.findall(template)


def placed(template: str, values: Values) -> str:
    """``template`` with the values in their places. One pass: braces in a value stand for nothing."""
    return PLACE.sub(lambda place: values.get(place[1], place[0]), template)
