"""A credentials provider as its operator configured it. It contains no secret."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from elicit_flows.domain.values import Json, ScopeWords
from elicit_flows.kinds.oauth.connection_metadata import Named
from elicit_flows.oauth import PLAIN, Quirks


@dataclass(frozen=True, slots=True)
class Verify:
    """One GET request that shows whether credentials are valid.

    ``{field}`` in ``url`` and in the values of ``headers`` is replaced by what was typed there. ``basic`` names the
    fields with user name and password (RFC 7617). The credentials are valid for 2xx and the statuses in ``accepted``,
    and invalid for 401, 403 and those in ``refused``. Any other status leaves it unknown.
    """

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    basic: tuple[str, str] | None = None
    accepted: frozenset[int] = frozenset()
    refused: frozenset[int] = frozenset()

    @classmethod
    def of(cls, said: Json) -> Verify:
        """From the configuration file or a row, which were checked before."""
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
    """How to fetch access tokens for a client of the person's own (RFC 6749, section 4.4).

    ``quirks`` may have another way for what was typed: a signed assertion (RFC 7523), or a request of the provider's.
    """

    url: str
    auth: str = "client_secret_basic"  # client_secret_post
    scopes: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()  # the audience of the tokens (RFC 8707)
    revocation_url: str = ""  # where tokens are revoked (RFC 7009); "" if nowhere
    quirks: Quirks = PLAIN
    metadata: tuple[Named, ...] = ()  # what is kept of what the provider says beside the token
    scope_words: ScopeWords = field(default_factory=dict)  # what a scope allows, in words for the person


@dataclass(frozen=True, slots=True)
class CredentialsProvider:
    """``fields``: as ``fields.complete`` makes them. ``find_url``: the page where people find what to type, or "".

    With ``token``, the fields are ``client_id`` and ``client_secret`` or those of the preset's own way to tokens, and
    there is no ``verify``.
    """

    slug: str
    name: str
    fields: tuple[Json, ...]
    find_url: str = ""
    verify: Verify | None = None
    token: TokenRequest | None = None
