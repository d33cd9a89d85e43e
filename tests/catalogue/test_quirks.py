"""Every entry against a server that has the quirks of the entry and accepts nothing else."""

from __future__ import annotations

import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from elicit_flows import catalogue
from elicit_flows.catalogue import Entry
from elicit_flows.catalogue.oauth import Metadata
from elicit_flows.domain.values import Answer, Claim, Finish, Leave, Secret, Visit
from elicit_flows.kinds.credentials import client_credentials
from elicit_flows.kinds.credentials.config import TokenRequest, Verify
from elicit_flows.kinds.credentials.verification import Verdict, ask
from elicit_flows.kinds.oauth import OAuth, refresh, revoke_grant
from elicit_flows.kinds.oauth.connection_metadata import Named
from elicit_flows.kinds.oauth.provider import OAuthProvider
from elicit_flows.lib import clock
from elicit_flows.oauth import InvalidGrant, OAuth1, ProviderError, Quirks
from tests.doubles.oauth1 import CLIENT as OLD_CLIENT
from tests.doubles.oauth1 import SECRET as OLD_SECRET
from tests.doubles.oauth1 import OAuth1Provider
from tests.doubles.policy import loopback_allowed
from tests.doubles.quirky import ACCOUNT, ASKED, CLIENT, LABEL, LIFE, SECRET, TYPED, sample
from tests.kinds.contract import KindContract
from tests.support.sweeps import spread, sweep

OAUTH = [slug for slug, entry in catalogue.entries().items() if entry.kind == "oauth" and not entry.oauth1]
OAUTH_1 = [slug for slug, entry in catalogue.entries().items() if entry.oauth1]
OWN = {slug: entry for slug, entry in catalogue.entries().items() if entry.kind == "client_credentials"}
OWN_CLIENTS = [slug for slug, entry in OWN.items() if not entry.needs]
KEYS = [slug for slug, entry in catalogue.entries().items() if entry.verify]
KIND = OAuth()


def odd(slug: str) -> tuple[object, ...]:
    """How its client proves itself, and in what it differs from the RFCs."""
    entry = catalogue.entries()[slug]
    quirks = entry.oddities(entry.examples)
    differs = [one.name for one in fields(quirks) if getattr(quirks, one.name) != getattr(Quirks(), one.name)]
    return entry.settings(entry.examples)["token_auth"], *differs


@pytest.fixture(scope="module")
def peer() -> Iterator[str]:
    command = [sys.executable, "-m", "tests.doubles.quirky"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        with loopback_allowed():
            yield process.stdout.readline().strip()
        process.communicate()


@pytest.mark.parametrize("slug", sweep(OAUTH, odd))
def test_an_account_is_connected_refreshed_and_ended(peer: str, slug: str) -> None:
    entry = catalogue.entries()[slug]
    config = here(entry, f"{peer}/{slug}")
    visit = asking(config)
    leave = KIND.begin(visit)
    back, answer = KindContract.returning(visit, leave), Answer(browsed(leave.url))
    KIND.check_answer(back, answer)
    ended = KIND.resume(back, answer)
    assert isinstance(ended, Finish)
    assert ended.grant, ended
    grant = ended.grant
    assert (grant.access_token.reveal(), grant.scopes) == ("access", (*entry.scopes.default, *ASKED))
    assert grant.expires_at
    assert LIFE - 60 < (grant.expires_at - clock.now()).total_seconds() <= LIFE
    if entry.quirks.account_source == "metadata":
        assert grant.account_id == grant.metadata[entry.quirks.account_id[0]]
    elif entry.quirks.account_id and (entry.endpoints.userinfo or entry.quirks.account_source == "token"):
        assert grant.account_id in (str(ACCOUNT), LABEL)
    assert grant.metadata == {one.name: expected(entry, one) for one in entry.metadata}
    assert grant.refresh_token
    newer = refresh(config, grant.refresh_token, grant.scopes)
    assert newer.access_token.reveal() == "newer"
    assert newer.metadata == {one.name: expected(entry, one) for one in entry.metadata if one.source == "token"}
    ends = bool(entry.endpoints.revoke or entry.revoke_call)
    assert revoke_grant(config, grant.access_token, grant.refresh_token) is ends


@pytest.mark.parametrize("slug", OAUTH_1)
def test_an_account_is_connected_with_oauth_1(slug: str) -> None:
    entry = catalogue.entries()[slug]
    with OAuth1Provider() as server, loopback_allowed():
        addresses = {name: f"{server.url}/{name}" for name in ("authorize", "access_token", "request_token", "account")}
        config = OAuthProvider(
            slug=slug,
            name=entry.name,
            client_id=OLD_CLIENT,
            client_secret=Secret(OLD_SECRET),
            authorize_url=addresses["authorize"],
            token_url=addresses["access_token"],
            userinfo_url=addresses["account"] if entry.endpoints.userinfo else None,
            scopes=entry.scopes.default,
            quirks=replace(entry.oddities(), oauth1=OAuth1(addresses["request_token"])),
        )
        visit = asking(config)
        begun = KIND.begin(visit)
        left = KIND.hand_over(replace(visit, stash=begun.stash), begun.url)
        assert isinstance(left, Leave)
        back, answer = KindContract.returning(visit, left), Answer(browsed(left.url))
        KIND.check_answer(back, answer)
        ended = KIND.resume(back, answer)
        shown = server.seen("authorize")[-1].query
    assert isinstance(ended, Finish)
    assert ended.grant, ended
    assert shown["scope"] == entry.scopes.separator.join([*entry.scopes.default, *ASKED])
    assert shown.items() >= entry.params.authorize.items()
    assert ended.grant.account_id == "42"


def expected(entry: Entry, one: Metadata) -> Any:
    path = one.path or (one.name,)
    if path in (entry.quirks.account_id, entry.quirks.account_label) and entry.quirks.account_source != "metadata":
        said = ACCOUNT if path == entry.quirks.account_id else LABEL
        return said if one.type == "integer" else str(said)
    made = sample({"name": one.name, "type": one.type, "hosts": one.hosts})
    return [made] if "*" in path else made


DEAD = [(slug, word) for slug in OAUTH for sign in catalogue.entries()[slug].dead_grant for word in sign.words]


@pytest.mark.parametrize(("slug", "word"), spread(DEAD))
def test_t136_each_word_of_each_entry_means_a_dead_grant(peer: str, slug: str, word: str) -> None:
    with pytest.raises(InvalidGrant):
        refresh(here(catalogue.entries()[slug], f"{peer}/{slug}"), Secret(f"dead-{word}"), ())


def test_t19_every_entry_sends_pkce_but_those_that_are_known_to_break(peer: str) -> None:
    without = set()
    for slug in OAUTH:
        leave = KIND.begin(asking(here(catalogue.entries()[slug], f"{peer}/{slug}")))
        if parse_qs(urlsplit(leave.url).query).get("code_challenge_method") != ["S256"]:
            without.add(slug)
    assert without == {slug for slug in OAUTH if catalogue.entries()[slug].pkce == "off"} == {"github-app", "linkedin"}


@pytest.mark.parametrize("slug", spread(KEYS, 8))
def test_a_key_is_told_from_one_that_is_none(peer: str, slug: str) -> None:
    entry = catalogue.entries()[slug]
    parts = urlsplit(entry.verify["url"])
    verify = Verify.of({**entry.verify, "url": f"{peer}/{slug}/verify{parts.path}"})
    good = {field["name"]: Secret(TYPED) for field in entry.fields}
    assert ask(verify, good) == Verdict.ACCEPTED
    assert ask(verify, dict.fromkeys(good, Secret("another"))) == Verdict.REFUSED


@pytest.mark.parametrize("slug", OWN_CLIENTS)
def test_a_client_that_somebody_typed_is_given_tokens_and_another_is_refused(peer: str, slug: str) -> None:
    entry = catalogue.entries()[slug]
    said, quirks = entry.settings(entry.examples), entry.oddities(entry.examples)
    back = f"{peer}/{slug}/revoke" if said["revocation_url"] else ""
    request = TokenRequest(
        f"{peer}/{slug}/token", said["token_auth"], tuple(said["scopes"]), revocation_url=back, quirks=quirks
    )
    good = {client_credentials.ID: Secret(CLIENT), client_credentials.SECRET: Secret(SECRET)}
    grant = client_credentials.ask(request, good)
    assert (grant.access_token.reveal(), grant.refresh_token, grant.scopes) == ("access", None, entry.scopes.default)
    assert grant.expires_at
    assert client_credentials.revoke(request, good, grant.access_token) is bool(entry.endpoints.revoke)
    with pytest.raises(ProviderError):
        client_credentials.ask(request, good | {client_credentials.SECRET: Secret("another")})


def asking(config: OAuthProvider) -> Visit:
    return Visit(
        elicitation="el_1",
        claim=Claim("https://idp.example.com", "u-1"),
        params={"provider": config.slug, "scopes": ASKED},
        config=config,
        redirect_uri="https://flows.example.com/callback/x",
        state="st4te",
    )


def here(entry: Entry, base: str) -> OAuthProvider:
    """The provider as an operator has it from this preset, its addresses those of the peer."""
    said = entry.settings(entry.examples)

    def moved(name: str, what: str) -> str | None:
        if not said[name]:
            return None
        query = urlsplit(said[name]).query
        return f"{base}/{what}" + (f"?{query}" if query else "")

    quirks = entry.oddities(entry.examples)
    if quirks.refresh_url:
        quirks = replace(quirks, refresh_url=f"{base}/refresh")
    quirks = replace(
        quirks,
        **{name: replace(getattr(quirks, name), url=f"{base}/{name}") for name in entry.calls},
    )
    values: dict[str, Any] = {
        "issuer": base if said["issuer"] else None,
        "authorize_url": moved("authorize_url", "authorize"),
        "token_url": moved("token_url", "token"),
        "revocation_url": moved("revocation_url", "revoke"),
        "userinfo_url": moved("userinfo_url", "userinfo"),
        "metadata_url": moved("metadata_url", "api"),
        "metadata": tuple(Named.of(one) for one in said["metadata"]),
        "client_secret": None if entry.token_auth == "none" else Secret(SECRET),
    }
    return OAuthProvider(
        slug=entry.slug,
        name=entry.name,
        client_id=CLIENT,
        token_auth=entry.token_auth,
        scopes=entry.scopes.default,
        pkce=entry.pkce,
        quirks=quirks,
        **values,
    )


class Browser(urllib.request.HTTPRedirectHandler):
    """Goes nowhere else, and keeps where it was sent."""

    sent = ""

    def redirect_request(self, *args: Any) -> None:
        self.sent = args[-1]


def browsed(url: str) -> dict[str, list[str]]:
    """What the provider sends the browser back with."""
    browser = Browser()
    with pytest.raises(urllib.error.HTTPError) as answer:
        urllib.request.build_opener(browser).open(url, timeout=10)
    with answer.value as said:
        assert said.code == 302, said.read()
    return parse_qs(urlsplit(browser.sent).query)
