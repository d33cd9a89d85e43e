"""Compares catalogue entries with the providers' own metadata and with copies of libraries, for ``manage.py providers
check``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from elicit_flows import catalogue, oauth
from elicit_flows.catalogue import Entry, library_copies
from elicit_flows.catalogue.library_copies import Copies
from elicit_flows.oauth import Metadata


class Verdict(StrEnum):
    AGREES = "agrees"
    DIFFERS = "DIFFERS"
    UNKNOWN = "no word"  # nothing to compare with, or it could not be reached


class Comparison(NamedTuple):
    verdict: Verdict
    source: str  # "metadata", "documentation", or a library with its version
    details: str


def compared(entry: Entry, variables: Mapping[str, str], known: Copies, offline: bool = False) -> Iterator[Comparison]:
    """First with the metadata, unless ``offline``, then with each library that knows the provider. Before them, what
    the provider does not document.
    """
    for one in entry.undocumented:
        details = f"nothing about {one.fact} at {', '.join(one.looked_at)} ({one.looked_on})"
        yield Comparison(Verdict.UNKNOWN, "documentation", details)
    if not offline:
        yield _with_metadata(entry, variables)
    agree, differ = library_copies.agreeing(entry, known), library_copies.differing(entry, known)
    for name in sorted({*agree, *differ}):
        source = f"{name} {catalogue.libraries().get(name, {}).get('version', '')}".rstrip()
        if name in agree:
            yield Comparison(Verdict.AGREES, source, "")
            continue
        theirs = differ[name]
        pairs = {"authorize": theirs.authorize, "token": theirs.token}
        ours = {"authorize": entry.endpoints.authorize, "token": entry.endpoints.token}
        own = library_copies.Endpoints.of(entry).bare()
        bare = dict(zip(pairs, zip(own, theirs.bare(), strict=True), strict=True))
        said = [f"{what}: {ours[what]}, there {url}" for what, url in pairs.items() if bare[what][0] != bare[what][1]]
        yield Comparison(Verdict.DIFFERS, f"{source} ({theirs.name})", "; ".join(said))
    if not agree and not differ:
        yield Comparison(Verdict.UNKNOWN, "libraries", "none of them knows it")


def _with_metadata(entry: Entry, variables: Mapping[str, str]) -> Comparison:
    if not entry.endpoints.issuer:
        return Comparison(Verdict.UNKNOWN, "metadata", "the entry names no issuer")
    if missing := next((one for one in entry.variables if one.name not in variables), None):
        return Comparison(Verdict.UNKNOWN, "metadata", f"not asked: {missing.needed}")
    try:
        settings = entry.settings(variables)
    except ValueError as error:
        return Comparison(Verdict.UNKNOWN, "metadata", f"not asked: {error}")
    try:
        metadata = oauth.discover(settings["issuer"])
    except oauth.DiscoveryError as error:
        return Comparison(Verdict.UNKNOWN, "metadata", f"could not be reached or read: {settings['issuer']}: {error}")
    said = list(_differences(entry, settings, metadata))
    return Comparison(Verdict.DIFFERS if said else Verdict.AGREES, "metadata", "; ".join(said))


def _differences(entry: Entry, settings: Mapping[str, str], metadata: Metadata) -> Iterator[str]:
    ends = {
        "authorize": (settings["authorize_url"], metadata.authorization_endpoint),
        "token": (settings["token_url"], metadata.token_endpoint),
        "revoke": (settings["revocation_url"], metadata.revocation_endpoint),
        "userinfo": (settings["userinfo_url"], metadata.userinfo_endpoint),
        "device": (settings["device_authorization_url"], metadata.device_authorization_endpoint),
    }
    for what, (ours, theirs) in ends.items():
        # What one of them leaves out contradicts nothing.
        if ours and theirs and ours.partition("?")[0].rstrip("/") != theirs.partition("?")[0].rstrip("/"):
            yield f"{what}: {ours}, there {theirs}"
    if entry.pkce == "S256" and not metadata.offers_s256():
        yield f"pkce: S256, there {', '.join(metadata.pkce_methods or ())}"
    if metadata.auth_methods and entry.token_auth not in metadata.auth_methods:
        yield f"token_auth: {entry.token_auth}, there {', '.join(metadata.auth_methods)}"
    for scope in sorted(set(entry.scopes.default) - set(metadata.scopes or entry.scopes.default)):
        yield f"scopes.default: {scope} is not among its scopes"
