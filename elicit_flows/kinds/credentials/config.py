"""A credentials provider as its operator configured it. There is no secret in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

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
class CredentialsProvider:
    """``fields`` as ``fields.complete`` makes them; ``find_url`` is the page where people find what to type, or ""."""

    slug: str
    name: str
    fields: tuple[Json, ...]
    find_url: str = ""
    verify: Verify | None = None
