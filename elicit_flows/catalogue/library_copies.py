"""What maintained libraries say about the endpoints of providers, as a copy, so that no network and no Node is needed.

``library_endpoints.json`` has {library: [[name, authorize, token], ...]}. ``python -m tests.catalogue.libraries
--write`` writes it from the installed libraries, and the tests hold it against them. ``library_files.toml`` has what
was read by hand in single files of libraries that are not installed, each with its file and the commit or version.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple
from urllib.parse import urlsplit

from elicit_flows.catalogue.entry import Entry
from elicit_flows.catalogue.reading import HERE

COPY = HERE / "library_endpoints.json"
FILES = HERE / "library_files.toml"
_PLACE = re.compile(r"\$?\{\w+\}|\[\w+\]|\bNone\b")
_WORDS = re.compile(r"oauth2?|[^a-z0-9]")


class Endpoints(NamedTuple):
    """What a library calls ``name``."""

    name: str
    authorize: str
    token: str

    @classmethod
    def of(cls, entry: Entry) -> Endpoints:
        """Those of the entry."""
        return cls(entry.slug, entry.endpoints.authorize or "", entry.endpoints.token or "")

    def bare(self) -> tuple[str, str]:
        """Without what says nothing about where it is: query, a slash at the end or twice, how a variable is called."""
        return _plain(self.authorize), _plain(self.token)


Copies = Mapping[str, tuple[Endpoints, ...]]


@cache
def copies() -> Copies:
    """The copies by library, those of single files too."""
    return {**read(COPY.read_text(encoding="utf-8")), **files()}


@cache
def files() -> Copies:
    """What was read in single files, by library."""
    said = tomllib.loads(FILES.read_text(encoding="utf-8"))
    return {name: tuple(Endpoints(one, *of[:2]) for one, of in known.items()) for name, known in said.items()}


def read(text: str) -> Copies:
    return {name: tuple(Endpoints(*one) for one in said) for name, said in json.loads(text).items()}


def agreeing(entry: Entry, known: Copies) -> list[str]:
    """The libraries that name the same two endpoints, in the order of the alphabet.

    None where the host is the customer's own: the same path at another program's host is no agreement.
    """
    ours = Endpoints.of(entry).bare()
    if ours[0].startswith("https://*/"):
        return []
    return sorted(name for name, said in known.items() if ours in {one.bare() for one in said})


def differing(entry: Entry, known: Copies) -> dict[str, Endpoints]:
    """The libraries that know the provider, by its name or by the host of an endpoint, and name other endpoints."""
    ours, agree = Endpoints.of(entry), agreeing(entry, known)
    names = {_plain_name(entry.slug), _plain_name(entry.name)}
    host = _host(ours)
    found: dict[str, Endpoints] = {}
    for library, said in sorted(known.items()):
        by_name = (one for one in said if _plain_name(one.name) in names)
        by_host = (one for one in said if host not in ("", "*") and _host(one) == host)
        one = next(by_name, None) or next(by_host, None)
        if one and library not in agree and one.bare() != ours.bare():
            found[library] = one
    return found


def _host(one: Endpoints) -> str:
    return urlsplit(one.bare()[0]).netloc


def _plain_name(name: str) -> str:
    return _WORDS.sub("", name.lower())


@cache  # each entry is compared with every address of every library
def _plain(url: str) -> str:
    base = re.sub(r"^\*(?=/)", "https://*", _PLACE.sub("*", url.partition("?")[0]))
    return re.sub(r"(?<!:)/{2,}", "/", base).rstrip("/")
