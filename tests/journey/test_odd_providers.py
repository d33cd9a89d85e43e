"""Providers that no entry of ours knows, each odd in its own way, from the link to the end of the access, in a real
browser. A host that only the person knows, and what the callback and a further call bring, are in test_shops.py.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Any

import pytest
from joserfc import jwt

from elicit_flows.sdk import ElicitError, SyncElicit
from tests.cast import ALICE, DRIVE_BOT
from tests.catalogue.test_ways import KEY, PEM, SERVICE_ACCOUNT
from tests.doubles import github, oauth1
from tests.doubles.github import GitHub
from tests.doubles.oauth1 import OAuth1Provider
from tests.doubles.server import Request, Response, Route, Server, json_response
from tests.oauth.test_described_calls import CALLS, Described
from tests.oauth.test_described_calls import ENTRY as GRAPH
from tests.oauth.test_oauth1 import ENTRY as OLD
from tests.oauth.test_scope_sets import BOTH, Slack, slack_at
from tests.support.box import Box
from tests.support.browser import User
from tests.support.op import Op
from tests.support.process import until
from tests.vault.test_installation_tokens import ENTRY as FORGE

pytestmark = pytest.mark.slow

SAID = """
[[metadata]]
name = "instance"
type = "url"
hosts = ["*.drive.example.com"]
source_url = "https://drive.example.com/docs"

[[metadata]]
name = "plan"
from = "userinfo"
source_url = "https://drive.example.com/docs"
"""
HUB = """\
name = "Hub"
kind = "client_credentials"
source_url = "https://hub.example.com/docs"
checked = "unverified"

[token_call]
url = "{url}/v2/auth/token"
send = "json"
params = {{ identifier = "{{username}}", secret = "{{access_key}}" }}
source_url = "https://hub.example.com/docs"

[quirks]
token_type = "unsaid"
expires_after = 600

[[fields]]
name = "username"
label = "Your name there"
secret = false

[[fields]]
name = "access_key"
label = "Personal access key"
"""
ROBOT = """\
name = "Robots"
kind = "client_credentials"
source_url = "https://robots.example.com/docs"
checked = "unverified"

[endpoints]
token = "{url}/token"

[assertion]
document = "service_account"
issuer = "{{client_email}}"
key = "{{private_key}}"
key_id = "{{private_key_id}}"
audience = "{url}/token"
source_url = "https://robots.example.com/docs"

[[fields]]
name = "service_account"
label = "JSON key of the service account"
"""
ACCESS_KEY = "hub-key-0123456789"


class Hub(Server):
    """Gives a token for a name and a key, in a call of its own making."""

    def routes(self) -> dict[str, tuple[str, Route]]:
        return {"/v2/auth/token": ("token", self._token)}

    def _token(self, request: Request) -> Response:
        if json.loads(request.body) == {"identifier": "ada", "secret": ACCESS_KEY}:
            return json_response({"access_token": f"hub-token-{self.calls['token']}"})
        return json_response({"message": "incorrect"}, 401)


class Robots(Server):
    """Gives a token for an assertion that is signed with the robot's key."""

    def routes(self) -> dict[str, tuple[str, Route]]:
        return {"/token": ("token", self._token)}

    def _token(self, request: Request) -> Response:
        claims = jwt.decode(request.form["assertion"], KEY).claims
        assert claims["aud"] == f"{self.url}/token"
        assert request.form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer"
        name, _, _ = claims["iss"].partition("@")
        return json_response({"access_token": f"{name}-token", "token_type": "Bearer", "expires_in": 3599})


@dataclass
class Peers:
    old: OAuth1Provider
    graph: Described
    forge: GitHub
    chat: Slack
    hub: Hub
    robots: Robots


@pytest.fixture(scope="module")
def peers() -> Iterator[Peers]:
    with ExitStack() as stack:
        graph = stack.enter_context(Described(client_secret="the-graph's-client-secret"))
        graph.user = {"sub": "alice", "name": "Alice Example", "plan": "pro"}
        graph.reply = {"instance": "https://eu1.drive.example.com", "refresh_token": None}
        others = (stack.enter_context(one()) for one in (GitHub, Slack, Hub, Robots))
        yield Peers(stack.enter_context(OAuth1Provider()), graph, *others)


@pytest.fixture(scope="module")
def service(new_box: Callable[..., Box], peers: Peers, tmp_path_factory: pytest.TempPathFactory) -> Box:
    folder, keys = tmp_path_factory.mktemp("catalogue"), tmp_path_factory.mktemp("keys")
    entries = {"old": OLD, "graph": GRAPH + CALLS + SAID, "forge": FORGE, "hub": HUB, "robots": ROBOT}
    for slug, text in entries.items():
        url = getattr(peers, slug).url
        (folder / f"{slug}.toml").write_text(text.format(url=url, at=url))
    (folder / "chat.toml").write_text(slack_at(peers.chat.url))
    (keys / "app.pem").write_text(github.pem())
    more: dict[str, dict[str, Any]] = {
        "old": {"client_id": oauth1.CLIENT, "client_secret": oauth1.SECRET},
        "forge": {"app_key": f"file:{keys / 'app.pem'}"},
        "chat": {"token_auth": "client_secret_post"},
        "hub": {}, "robots": {},
    }  # fmt: skip
    for slug in ("graph", "forge", "chat"):
        double = getattr(peers, slug)
        known = {"client_id": double.client_id, "client_secret": double.client_secret}
        more[slug] = known | more.get(slug, {})
    box = new_box("embedded", settings={"ELICIT_CATALOGUE": str(folder)})
    box.apply({"provider": [{"slug": slug, "preset": slug, **said} for slug, said in more.items()]})
    return box


@pytest.fixture
def elicit(service: Box) -> Iterator[SyncElicit]:
    with SyncElicit(service.url, DRIVE_BOT.api_key) as client:
        yield client


def connect(elicit: SyncElicit, corp: Op, user: User, provider: str, scopes: list[str]) -> str:
    """Alice goes from the link to the provider and back; the connection."""

    def go(link: str) -> None:
        user.open(link)
        user.carry_on("signin", "alice", "continue")
        user.wait_for_page("done", "completed")

    outcome = elicit.oauth((corp.issuer, ALICE.sub), provider, scopes=scopes, reuse="never", on_url=go, timeout=60)
    assert outcome, outcome
    return str(outcome.result["connection"])


def type_in(elicit: SyncElicit, corp: Op, user: User, provider: str, *typed: dict[str, str]) -> str:
    """Alice types, until it is right; the connection."""

    def go(link: str) -> None:
        user.open(link)
        user.carry_on("signin", "alice")
        for one in typed:
            assert user.page_name == "form", user.text
            user.press("submit", **one)
        user.wait_for_page("done", "completed")

    outcome = elicit.credentials((corp.issuer, ALICE.sub), provider=provider, on_url=go, timeout=60)
    assert outcome, outcome
    return str(outcome.result["connection"])


def end(service: Box, user: User, connection: str) -> None:
    """Alice ends the access on our pages."""
    user.open(f"{service.url}/account/connections/{connection}")
    user.page.locator("details:has([data-action=revoke]) > summary").first.click()
    user.press("revoke")


def test_oauth_1_a_gives_a_token_with_both_parts(
    elicit: SyncElicit, service: Box, corp: Op, user: User, peers: Peers
) -> None:
    held = connect(elicit, corp, user, "old", ["read"])
    token = elicit.token(held)
    account = elicit.connection(held).account
    assert (token.token_type, account and account["id"]) == ("oauth1", "42")
    assert peers.old.memory.tokens[token.access_token] == token.token_secret
    answer = elicit.request(held, "GET", "/account")
    assert (answer.status_code, answer.json()["id"]) == (200, 42), "signed by the service"
    end(service, user, held)
    assert elicit.connection(held).status == "revoked"


def test_a_short_token_is_exchanged_and_the_grant_ended_by_a_call_of_the_providers_own(
    elicit: SyncElicit, service: Box, corp: Op, user: User, peers: Peers
) -> None:
    held = connect(elicit, corp, user, "graph", [])
    token = elicit.token(held)
    assert token.access_token.startswith("long-")
    assert token.metadata == {"instance": "https://eu1.drive.example.com", "plan": "pro"}
    end(service, user, held)
    until(lambda: getattr(peers.graph, "ended", []), "the provider is told")
    [told] = peers.graph.ended
    assert (told.method, told.path) == ("DELETE", f"/applications/{peers.graph.client_id}/grant")
    assert json.loads(told.body) == {"access_token": token.access_token}


def test_an_installed_app_gets_a_token_for_a_repository_that_ends_with_the_connection(
    elicit: SyncElicit, service: Box, corp: Op, user: User, peers: Peers
) -> None:
    held = connect(elicit, corp, user, "forge", [])
    reached = {"id": 7, "repositories": ["api"], "permissions": {"contents": "read"}}
    token = elicit.token(held, installation=reached)
    assert peers.forge.minted[token.access_token]["permissions"] == {"contents": "read"}
    with pytest.raises(ElicitError) as refused:
        elicit.token(held, installation={**reached, "repositories": ["secret-plans"]})
    assert refused.value.code == "forbidden"
    end(service, user, held)
    until(lambda: token.access_token not in peers.forge.minted, "the token of the installation is ended")


def test_two_scope_sets_come_from_one_consent_and_end_together(
    elicit: SyncElicit, service: Box, corp: Op, user: User, peers: Peers
) -> None:
    held = connect(elicit, corp, user, "chat", BOTH)
    tokens = {"bot": elicit.token(held).access_token, "user": elicit.token(held, scope_set="user").access_token}
    assert {kind: peers.chat.live_tokens[one] for kind, one in tokens.items()} == {"bot": "bot", "user": "user"}
    end(service, user, held)
    until(lambda: not set(tokens.values()) & peers.chat.live_tokens.keys(), "both are ended at the provider")


def test_a_name_and_a_key_are_tried_and_the_agent_gets_a_token_that_is_renewed_with_them(
    elicit: SyncElicit, service: Box, corp: Op, user: User, peers: Peers
) -> None:
    wrong, right = ({"username": "ada", "access_key": key} for key in ("hub-key-9999999999", ACCESS_KEY))
    held = type_in(elicit, corp, user, "hub", wrong, right)
    assert elicit.token(held).access_token == "hub-token-2"
    with pytest.raises(ElicitError):
        elicit.secret(held)
    assert peers.hub.calls["token"] == 2, "each was tried before it was kept"
    with closing(sqlite3.connect(service.home / "elicit.sqlite3", timeout=20)) as rows, rows:
        rows.execute("UPDATE elicit_flows_connection SET expires_at = '2020-01-01 00:00:00' WHERE id = ?", [held])
    assert elicit.token(held).access_token == "hub-token-3", "renewed with what she typed, without her"
    assert ACCESS_KEY not in user.page.content()


def test_a_key_file_is_pasted_and_assertions_are_signed_with_it(
    elicit: SyncElicit, corp: Op, user: User, peers: Peers
) -> None:
    held = type_in(elicit, corp, user, "robots", {"service_account": SERVICE_ACCOUNT.replace("\n", "")})
    assert elicit.token(held).access_token == "robot-token"
    assert PEM[40:80] not in user.page.content()
