"""What a provider says beside the tokens, from its answers to the agent."""

from __future__ import annotations

import logging
from typing import Any
from urllib.parse import urlsplit

import pytest

from elicit_flows import elicitations, vault
from elicit_flows.domain.errors import Unavailable
from elicit_flows.domain.values import Answer
from elicit_flows.models import Connection, PendingGrant
from elicit_flows.models import Provider as ProviderRow
from elicit_flows.people.export import export_data
from tests.doubles.provider import Provider
from tests.doubles.server import json_response, redirect
from tests.oauth.journey import BROWSER, ask, come_back, connect, press
from tests.support import dump, jobs, rows
from tests.support.rows import ALICE_CLAIM, Known


def configure(row: ProviderRow, **columns: Any) -> None:
    """As an operator does, who gives the client secret with the addresses."""
    for name, value in columns.items():
        setattr(row, name, value)
    vault.seal_client_secret(row, vault.client_secret(row))
    row.save()


@pytest.fixture
def own_host(double: Provider) -> str:
    return urlsplit(double.url).netloc


@pytest.fixture
def talkative(double: Provider, drive_row: ProviderRow, own_host: str) -> ProviderRow:
    """It says where its API is, brings the realm back, and has more on call."""
    configure(
        drive_row,
        metadata=[
            {"name": "instance_url", "type": "url", "hosts": [own_host]},
            {"name": "realm_id", "from": "callback", "path": ["realmId"]},
            {"name": "plan", "from": "userinfo"},
            {"name": "sites", "from": "call", "path": ["*", "id"], "type": "integer"},
        ],
        metadata_url="{instance_url}/api/about",
    )
    double.reply = {"instance_url": double.url}
    double.callback = {"realmId": "4620816365"}
    double.user = {"sub": "alice", "name": "Alice", "plan": "free"}
    double.about = [{"id": 1}, {"id": 2}]
    return drive_row


OTHER_HOSTS = [{"name": "instance_url", "type": "url", "hosts": ["*.evil.com"]}]


def everything(double: Provider) -> dict[str, Any]:
    return {"instance_url": double.url, "realm_id": "4620816365", "plan": "free", "sites": [1, 2]}


def go(double: Provider, known: Known, **asked: Any) -> Any:
    row = ask(known, reuse="never", **asked)
    return come_back(double, row, press(row))


def test_agents_read_it_with_the_result_the_connection_and_the_token(
    known: Known, double: Provider, talkative: ProviderRow
) -> None:
    done = go(double, known)
    row = Connection.objects.get()
    expected = everything(double)
    assert (done.result["metadata"], row.summary()["metadata"]) == (expected, expected)
    assert vault.token(known.row, row.pk)["metadata"] == expected
    assert vault.fresh_tokens({(known.row.pk, row.pk)})[known.row.pk, row.pk]["metadata"] == expected
    reused: Any = ask(known)
    assert (reused.reused, reused.result["metadata"]) == (True, expected)
    (told,) = export_data(ALICE_CLAIM)["connections"]
    assert told["metadata"] == expected
    assert double.calls["api"] == 1


def test_a_provider_of_which_nothing_is_kept_says_nothing(known: Known, double: Provider) -> None:
    double.reply = {"instance_url": double.url}
    done: Any = connect(double, known)
    assert done.result["metadata"] == {}
    assert double.calls["api"] == 0


def test_a_refresh_that_names_it_again_changes_it_and_one_that_is_silent_keeps_it(
    known: Known, double: Provider, talkative: ProviderRow
) -> None:
    go(double, known)
    row = Connection.objects.get()
    double.reply = {}
    rows.expire(row)
    assert vault.token(known.row, row.pk)["metadata"] == everything(double)
    double.reply = {"instance_url": f"{double.url}/moved", "realmId": "not from here"}
    rows.expire(row)
    moved = everything(double) | {"instance_url": f"{double.url}/moved"}
    assert vault.token(known.row, row.pk)["metadata"] == moved
    double.reply = {"instance_url": "https://elsewhere.example.com"}
    rows.expire(row)
    assert vault.token(known.row, row.pk)["metadata"] == moved, "another host does not get in by a refresh"


def test_the_worker_keeps_it_too(known: Known, double: Provider, talkative: ProviderRow) -> None:
    go(double, known)
    row = Connection.objects.get()
    double.reply = {"instance_url": f"{double.url}/moved"}
    rows.expire(row)
    Connection.objects.filter(pk=row.pk).update(refresh_due_at=row.created_at)
    jobs.refresh()
    row.refresh_from_db()
    assert row.metadata == everything(double) | {"instance_url": f"{double.url}/moved"}


def test_connecting_again_forgets_what_was_said_before(known: Known, double: Provider, talkative: ProviderRow) -> None:
    go(double, known)
    double.callback, double.reply = {"realmId": "2"}, {}
    again = go(double, known)
    assert (again.result["metadata"], Connection.objects.count()) == ({"realm_id": "2", "plan": "free"}, 1)


def test_a_grant_that_waits_for_a_choice_has_it_sealed_with_it(
    known: Known, double: Provider, talkative: ProviderRow, committed_database: str
) -> None:
    go(double, known)
    double.user, double.callback = {"sub": "bob", "plan": "paid"}, {"realmId": "the-other-realm"}
    row = go(double, known, connection=Connection.objects.get().pk)
    (held,) = PendingGrant.objects.all()
    assert "the-other-realm" not in dump.database(committed_database)
    elicitations.choose(row.pk, ALICE_CLAIM, "both", held.pk)
    row.refresh_from_db()
    kept = Connection.objects.get(account_id="bob").metadata
    assert (kept["realm_id"], kept["plan"], row.result["metadata"]) == ("the-other-realm", "paid", kept)


@pytest.mark.parametrize("url", ["https://evil.com", "https://evil.com#", "http://127.0.0.1:1", "//evil.com", "x"])
def test_t148_no_address_but_the_entrys_is_kept_or_called(
    known: Known, double: Provider, talkative: ProviderRow, url: str
) -> None:
    double.reply = {"instance_url": url}
    done = go(double, known)
    assert (done.status, double.calls["api"]) == ("completed", 0)
    assert done.result["metadata"] == {"realm_id": "4620816365", "plan": "free"}


def test_t148_what_is_called_may_not_send_the_token_on(known: Known, double: Provider, talkative: ProviderRow) -> None:
    with Provider() as other:
        double.scripted["api"] = redirect(f"{other.url}/api/about")
        assert "sites" not in go(double, known).result["metadata"]
        assert other.requests == []


def test_userinfo_too_may_be_at_the_address_that_came(known: Known, double: Provider, talkative: ProviderRow) -> None:
    configure(talkative, userinfo_url="{instance_url}/userinfo", issuer="")
    assert go(double, known).result["account"] == {"id": "alice", "label": "Alice"}
    double.calls.clear()
    double.reply = {"instance_url": "https://evil.com"}
    done = go(double, known)
    assert (done.status, done.result["account"], double.calls["userinfo"]) == ("completed", None, 0)


@pytest.mark.parametrize("where", ["token", "callback", "userinfo", "call"])
def test_t147_no_secret_becomes_metadata_wherever_it_is_repeated(
    known: Known, double: Provider, talkative: ProviderRow, caplog: pytest.LogCaptureFixture, where: str
) -> None:
    caplog.set_level(logging.DEBUG)
    named = [{"name": "it", "from": where}, {"name": "fine", "from": where}]
    configure(talkative, metadata=named, metadata_url=f"{double.url}/api/about" if where == "call" else "")
    secret = "the-double's-client-secret"
    said = {"it": secret, "fine": "fine"}
    double.reply, double.callback = (said if where == "token" else {}), (said if where == "callback" else {})
    double.user = {"sub": "alice", **(said if where == "userinfo" else {})}
    double.about = said
    assert go(double, known).result["metadata"] == {"fine": "fine"}
    assert "metadata it was left out" in caplog.text
    assert secret not in caplog.text


def test_t147_the_code_and_the_tokens_are_no_metadata(known: Known, double: Provider, talkative: ProviderRow) -> None:
    named = [
        {"name": "first", "from": "callback"},
        {"name": "second", "from": "call"},
        {"name": "third", "from": "call"},
    ]
    configure(talkative, metadata=named, metadata_url=f"{double.url}/api/about")
    row = ask(known)
    url = press(row)

    def repeats(request: Any) -> Any:
        access = request.headers["authorization"].removeprefix("Bearer ")
        return json_response({"second": access, "third": double.tokens[access].refresh_token})

    double.scripted["api"] = repeats
    fields = double.visit(url)
    fields["first"] = fields["code"]
    done: Any = elicitations.resume("drive", Answer(fields), row.claim, BROWSER)
    done.refresh_from_db()
    assert (done.status, done.result["metadata"]) == ("completed", {})


def test_a_parameter_that_came_twice_is_none(known: Known, double: Provider, talkative: ProviderRow) -> None:
    row = ask(known)
    fields = double.visit(press(row)) | {"realmId": ["1", "2"]}
    elicitations.resume("drive", Answer(fields), row.claim, BROWSER)
    assert "realm_id" not in Connection.objects.get().metadata


def test_t131_no_client_secret_goes_along_with_metadata_that_is_asked_for_elsewhere(
    known: Known, double: Provider, talkative: ProviderRow
) -> None:
    for changed in ({"metadata_url": "https://evil.com/about"}, {"metadata": OTHER_HOSTS}):
        row = ProviderRow.objects.get()
        for name, value in changed.items():
            setattr(row, name, value)
        row.save()
        with pytest.raises(Unavailable, match="has to give the secret again"):
            press(ask(known, reuse="never"))
        talkative.save()
    assert go(double, known).status == "completed"
