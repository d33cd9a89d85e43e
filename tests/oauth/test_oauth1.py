"""OAuth 1.0a as a way of kind oauth: an entry, the connect page, the callback, the token, and signed calls."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from elicit_flows import catalogue, elicitations, vault
from elicit_flows.domain.errors import BadCallback, Invalid, ProviderUnavailable, Unavailable
from elicit_flows.domain.values import Answer, Secret
from elicit_flows.elicitations import agent_access
from elicit_flows.elicitations.connection_import import check_import
from elicit_flows.models import Attempt, Connection, Elicitation, PendingGrant
from elicit_flows.models import Provider as ProviderRow
from elicit_flows.vault import api_access, provider_settings
from tests.doubles.oauth1 import CLIENT, SECRET, OAuth1Provider
from tests.doubles.policy import loopback_allowed
from tests.doubles.server import Response
from tests.oauth.journey import BROWSER, ask, press
from tests.support import dump, jobs, rows
from tests.support.rows import Known
from tests.support.serving import Served

ENTRY = """\
name = "Old Drive"
kind = "oauth"
source_url = "https://old.example.com/docs"
checked = "unverified"
refresh_tokens = false

[oauth1]
request = "{url}/request_token"

[endpoints]
authorize = "{url}/authorize"
token = "{url}/access_token"
userinfo = "{url}/account"

[api]
urls = ["{url}"]
source_url = "https://old.example.com/docs"

[params]
authorize = {{ name = "Elicit Flows" }}

[quirks]
account_id = ["id"]
"""


class Browser(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any) -> None:
        return None


def visit(url: str) -> dict[str, list[str]]:
    """The person says yes; what the browser comes back with."""
    with pytest.raises(urllib.error.HTTPError) as answer:
        urllib.request.build_opener(Browser()).open(url, timeout=10)
    with answer.value as said:
        return parse_qs(urlsplit(said.headers["Location"]).query)


@pytest.fixture
def old() -> Iterator[OAuth1Provider]:
    with OAuth1Provider() as running, loopback_allowed():
        api_access._providers.clear()
        yield running


@pytest.fixture
def old_row(old: OAuth1Provider, tmp_path: Path, committed: None) -> Iterator[ProviderRow]:
    (tmp_path / "old.toml").write_text(ENTRY.format(url=old.url))
    catalogue.configure(tmp_path)
    entry = catalogue.entries()["old"]
    row = ProviderRow(slug="drive", preset="old", client_id=CLIENT, given=[], **entry.settings())
    vault.seal_client_secret(row, Secret(SECRET))
    row.save()
    yield row
    catalogue.configure(None)


@pytest.fixture
def known(old_row: ProviderRow) -> Known:
    return rows.agent()


def connected(known: Known) -> tuple[Elicitation, Connection]:
    row = ask(known, scopes=["read", "write"])
    url = press(row)
    assert url == press(row), "the same button gets no other credentials"
    back = visit(url)
    elicitations.resume("drive", Answer(back), row.claim, BROWSER)
    row.refresh_from_db()
    return row, Connection.objects.get()


def test_an_account_is_connected_and_its_token_has_both_parts(
    known: Known, old: OAuth1Provider, committed_database: str
) -> None:
    done, row = connected(known)
    assert (done.status, row.account_id, row.token_type, row.expires_at) == ("completed", "42", "oauth1", None)
    shown = old.seen("authorize")[-1].query
    assert (shown["name"], shown["scope"]) == ("Elicit Flows", "read write")
    given = vault.token(known.row, row.pk)
    assert old.memory.tokens[given["access_token"]] == given["token_secret"]
    assert (given["token_type"], given["scopes"]) == ("oauth1", ["read", "write"])
    assert vault.fresh_tokens({(known.row.pk, row.pk)})[known.row.pk, row.pk] == given
    assert given["token_secret"] not in dump.database(committed_database), "it is sealed"
    vault.revoke(row)
    jobs.tell_due_providers()
    row.refresh_from_db()
    # This provider has no call for it, so nobody is said to have been told.
    assert (row.upstream, row.access_token, row.token_secret) == ("none", "", "")


def test_somebody_who_says_no_declines(known: Known, old: OAuth1Provider) -> None:
    row = ask(known, scopes=[])
    back = visit(press(row))
    answer = {"state": back["state"], "denied": back["oauth_token"]}
    elicitations.resume("drive", Answer(answer), row.claim, BROWSER)
    row.refresh_from_db()
    assert (row.status, old.calls["access_token"]) == ("declined", 0)


def test_a_provider_that_refuses_our_client_fails_no_elicitation(known: Known, old: OAuth1Provider) -> None:
    from_there = Response(401, b"oauth_problem=consumer_key_unknown")
    old.scripted["request_token"] = from_there
    row = ask(known, scopes=[])
    with pytest.raises(ProviderUnavailable) as refused:
        press(row)
    assert "consumer_key_unknown" in str(refused.value.detail)
    row.refresh_from_db()
    assert row.status == "pending"
    del old.scripted["request_token"]
    assert press(row, "another press")


def test_a_grant_that_waits_for_a_choice_keeps_both_parts(
    known: Known, old: OAuth1Provider, old_row: ProviderRow, tmp_path: Path
) -> None:
    """This provider does not say whose account it is, so the person is asked from the second one on."""
    nameless = ENTRY.format(url=old.url).replace(f'userinfo = "{old.url}/account"', "")
    (tmp_path / "old.toml").write_text(nameless)
    catalogue.configure(tmp_path)
    connected(known)
    row = ask(known, scopes=[], reuse="never")
    elicitations.resume("drive", Answer(visit(press(row))), row.claim, BROWSER)
    elicitations.choose(row.pk, row.claim, "both", PendingGrant.objects.get().pk)
    row.refresh_from_db()
    assert (row.status, Connection.objects.count()) == ("completed", 2)
    for held in Connection.objects.all():
        given = vault.token(known.row, held.pk)
        assert old.memory.tokens[given["access_token"]] == given["token_secret"]


def test_a_token_of_which_half_is_missing_is_not_imported(known: Known) -> None:
    agent_access.forget()
    with pytest.raises(Invalid, match="two parts"):
        check_import(known.row, rows.ALICE_CLAIM, "drive", {})


@pytest.mark.parametrize(
    "changed",
    [
        {"oauth_token": ["another"]}, {"oauth_token": []}, {"oauth_verifier": []}, {"denied": ["x"]},
        {"oauth_verifier": ["a", "b"]}, {"oauth_verifier": ["v" * 5000]},
    ],
    ids=["other", "none", "no verifier", "yes and no", "twice", "long"],
)  # fmt: skip
def test_t168_an_answer_that_is_not_of_this_attempt_spends_nothing(
    known: Known, old: OAuth1Provider, changed: dict[str, list[str]]
) -> None:
    row = ask(known, scopes=[])
    back = visit(press(row))
    with pytest.raises(BadCallback):
        elicitations.resume("drive", Answer({**back, **changed}), row.claim, BROWSER)
    assert (old.calls["access_token"], Attempt.objects.get().used_at) == (0, None)
    elicitations.resume("drive", Answer(back), row.claim, BROWSER)
    assert Connection.objects.count() == 1


def test_t168_an_answer_of_another_attempt_of_the_same_person_is_refused(known: Known, old: OAuth1Provider) -> None:
    """Without a state of its own the protocol would take the credentials that somebody else agreed to."""
    first, second = ask(known, scopes=[]), ask(known, scopes=[], reuse="never")
    mine, theirs = visit(press(first)), visit(press(second, "another"))
    with pytest.raises(BadCallback):
        elicitations.resume("drive", Answer({**theirs, "state": mine["state"]}), first.claim, BROWSER)
    assert old.calls["access_token"] == 0


def test_t131_nothing_is_redeemed_where_the_entry_leads_elsewhere_meanwhile(
    known: Known, old: OAuth1Provider, old_row: ProviderRow, tmp_path: Path
) -> None:
    row = ask(known, scopes=[])
    back = visit(press(row))
    with OAuth1Provider() as elsewhere:
        (tmp_path / "old.toml").write_text(ENTRY.format(url=elsewhere.url))
        catalogue.configure(tmp_path)
        with pytest.raises(Unavailable):
            elicitations.resume("drive", Answer(back), row.claim, BROWSER)
        assert elsewhere.calls["access_token"] == 0
        assert provider_settings.moved_hosts(old_row)["request"] == elsewhere.url
    assert not Connection.objects.exists()
    assert not PendingGrant.objects.exists()


def test_t169_calls_are_signed_here_and_no_secret_comes_back(served: Served, known: Known, old: OAuth1Provider) -> None:
    _, row = connected(known)
    given = vault.token(known.row, row.pk)
    at = f"/v1/connections/{row.pk}/proxy"
    with known.client(served.url) as agent:
        answer = agent.get(f"{at}/account?q=a+b%26c")
        assert (answer.status_code, answer.json()["id"]) == (200, 42), answer.text
        form = agent.post(f"{at}/account", data={"status": "a & b", "plus": "+"})
        assert (form.status_code, form.json()["heard"]) == (200, "status=a+%26+b&plus=%2B"), form.text
        other = agent.post(f"{at}/account", json={"a": 1})
        assert other.json()["method"] == "POST"
        own = agent.get(f"{at}/account", headers={"authorization": 'OAuth oauth_token="mine"'})
        assert own.status_code == 401, "an agent's own key does not count, and neither does its signature"
        long = agent.post(f"{at}/account", data={"a": "b" * 900_000})
        assert (long.status_code, long.json()["code"]) == (413, "too_large")
        for path in ("request_token", "access_token"):
            assert agent.post(f"{at}/{path}").json()["code"] == "bad_path"
        sent = [request.headers["authorization"] for request in old.seen("account")]
        assert len({one.partition("oauth_nonce=")[2] for one in sent}) == len(sent)
        assert not [one for one in sent if SECRET in one or given["token_secret"] in one]
        old.scripted["account"] = Response(200, b"ok", {"x-token": f"the {given['token_secret']}", "x-other": "fine"})
        echoed = agent.get(f"{at}/account")
        assert (echoed.headers.get("x-token"), echoed.headers["x-other"]) == (None, "fine")
