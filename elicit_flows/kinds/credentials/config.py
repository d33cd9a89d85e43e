"""A credentials provider as its operator configured it. There is no secret in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from elicit_flows.lib.oauth import PLAIN, Quirks
from elicit_flows.values import Json


@dataclass(frozen=True, slots=True)
class Verify:
    """One GET request that shows whether credentials are good. ``{field}`` in ``url`` and in the values of ``headers``
    stands for what was typed there; ``basic`` names the fields of a user name and a password (RFC 7617).

    2xx and ``accepted`` mean that they are; 401, 403 and ``refused`` that they are not; anything else says nothing.
    """

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    basic: tuple[str, str] | None = None
    accepted: frozenset[int] = frozenset()
    refused: frozenset[int] = frozenset()

    @classmethod
    def of(cls, said: Json) -> Verify:
        """From what a file or a row says; it was checked before."""
        user, password = said.get("basic") or ("", "")
        return cls(
            url=said["url"],
            headers=said.get("headers") or {},
            basic=(user, password) if user else None,
            accepted=frozenset(said.get("accepted") or ()),
            refused=frozenset(said.get("refused") or ()),
        )


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """What is typed is a client of the person's own: where and how its access tokens are asked for (RFC 6749, 4.4)."""

    url: str
    auth: str = "client_secret_basic"  # client_secret_post
    scopes: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()  # what tokens are to be for (RFC 8707)
    revocation_url: str = ""  # where they are given back (RFC 7009), if anywhere
    quirks: Quirks = PLAIN
    scope_words: Mapping[str, str] = field(default_factory=dict)  # what a scope lets an agent do, for the person


@dataclass(frozen=True, slots=True)
class CredentialsProvider:
    """``fields`` as ``fields.complete`` makes them; ``find_url`` is the page where people find what to type, or "".
    With ``token`` the fields are ``client_id`` and ``client_secret``, and there is no ``verify``.
    """

    slug: str
    name: str
    fields: tuple[Json, ...]
    find_url: str = ""
    verify: Verify | None = None
    token: TokenRequest | None = None
