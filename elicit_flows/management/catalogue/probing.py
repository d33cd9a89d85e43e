"""Asking a provider whether it is where its entry says: requests that are wrong on purpose, and how it refuses them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from elicit_flows.catalogue import Entry
from elicit_flows.kinds.credentials.config import Verify
from elicit_flows.kinds.credentials.verifying import Verdict, ask
from elicit_flows.lib import http, oauth
from elicit_flows.values import Secret

NOBODY = "elicit-flows-probe"  # a client, a code and a token that nobody has
DEADLINE = 10.0  # seconds for each request
_NOT_THERE = frozenset({404, 410})


class Found(NamedTuple):
    fine: bool
    what: str
    said: str


def probe(entry: Entry, variables: Mapping[str, str]) -> Iterator[Found]:
    """One line for each thing that can be asked. Sends no secret, for it has none. Raises ValueError for variables."""
    said = entry.settings(variables)
    if entry.kind == "client_credentials":
        client = oauth.Client(NOBODY, NOBODY, entry.token_auth, quirks=entry.oddities(variables))
        yield _own_client(said["token_url"], client)
        if said["revocation_url"]:
            yield _revocation(said["revocation_url"], client)
        return
    if entry.kind != "oauth":
        yield _key(Verify.of(said["verify"]), entry) if said["verify"] else Found(True, "verify", "has no check")
        return
    if said["issuer"]:
        yield _metadata(said["issuer"])
    client = oauth.Client(NOBODY, NOBODY, _auth(entry), quirks=entry.oddities(variables))
    if said["authorize_url"]:
        yield _status("authorize", said["authorize_url"], {})
    if said["token_url"]:
        yield _token(said["token_url"], client)
    if said["revocation_url"]:
        yield _revocation(said["revocation_url"], client)
    if said["userinfo_url"]:
        yield _status("userinfo", said["userinfo_url"], {"authorization": f"Bearer {NOBODY}"})


def _auth(entry: Entry) -> str:
    """There is no key to sign with."""
    return "client_secret_post" if entry.token_auth == "private_key_jwt" else entry.token_auth


def _metadata(issuer: str) -> Found:
    try:
        found = oauth.discover(issuer)
    except oauth.DiscoveryError as error:
        return Found(False, "issuer", f"{issuer}: {error}")
    return Found(True, "issuer", f"{issuer}: its metadata names {found.authorization_endpoint}, {found.token_endpoint}")


def _token(url: str, client: oauth.Client) -> Found:
    try:
        oauth.redeem(url, client, code=NOBODY, redirect_uri="https://example.com/", verifier=None, deadline=DEADLINE)
    except oauth.InvalidGrant:
        return Found(True, "token", f"{url}: refuses the code")
    except oauth.ProviderError as error:
        return Found(error.code not in {"bad_response", "redirect", "not_allowed"}, "token", f"{url}: {error}")
    except oauth.Transient as error:
        return Found(False, "token", f"{url}: {error}")
    return Found(False, "token", f"{url}: gives tokens to anybody")


def _own_client(url: str, client: oauth.Client) -> Found:
    try:
        oauth.client_credentials(url, client, deadline=DEADLINE)
    except oauth.ClientRefused as error:
        return Found(True, "token", f"{url}: {error}")
    except oauth.OAuthError as error:
        return Found(False, "token", f"{url}: {error}")
    return Found(False, "token", f"{url}: gives tokens to anybody")


def _revocation(url: str, client: oauth.Client) -> Found:
    """A server answers 200 to a token that it does not know (RFC 7009, section 2.2)."""
    try:
        oauth.revoke(url, client, token=NOBODY, hint="refresh_token", deadline=DEADLINE)
    except oauth.ProviderError as error:
        return Found(error.code not in {"bad_response", "redirect", "not_allowed"}, "revoke", f"{url}: {error}")
    except (oauth.InvalidGrant, oauth.Transient) as error:
        return Found(isinstance(error, oauth.InvalidGrant), "revoke", f"{url}: {error}")
    return Found(True, "revoke", f"{url}: takes it")


def _status(what: str, url: str, headers: Mapping[str, str]) -> Found:
    try:
        status = http.send("GET", url, headers=headers, deadline=DEADLINE).status
    except (http.Refused, http.Unreachable) as error:
        return Found(False, what, f"{url}: {error or 'does not answer'}")
    refuses = 400 <= status < 500 and status not in _NOT_THERE
    return Found(refuses or (what == "authorize" and status < 400), what, f"{url}: answers {status}")


def _key(verify: Verify, entry: Entry) -> Found:
    verdict = ask(verify, {field["name"]: Secret(NOBODY) for field in entry.fields})
    said = {
        Verdict.REFUSED: "refuses a key that is none",
        Verdict.ACCEPTED: "takes anything for a key",
        Verdict.UNKNOWN: "does not answer, or not as its entry says",
    }
    return Found(verdict == Verdict.REFUSED, "verify", f"{verify.url}: {said[verdict]}")
