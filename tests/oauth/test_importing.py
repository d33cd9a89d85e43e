"""Tokens that were connected elsewhere: brought line by line or by an agent that may."""

from __future__ import annotations

import json
import os
import signal
from io import StringIO
from pathlib import Path
from typing import Any

import httpx2
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from elicit_flows import vault
from elicit_flows.elicitations import agent_access
from elicit_flows.management.commands import import_tokens
from elicit_flows.models import Agent, Connection
from elicit_flows.models import Provider as ProviderRow
from tests.doubles.provider import Provider
from tests.oauth.journey import connect, told
from tests.support import dump, rows
from tests.support.rows import ISSUER, Known
from tests.support.serving import Served


def line(known: Known, sub: str = "alice", **more: Any) -> dict[str, Any]:
    usual = {
        "agent": known.row.slug, "subject": {"iss": ISSUER, "sub": sub}, "provider": "drive",
        "access_token": f"at-canary-{sub}", "refresh_token": f"rt-canary-{sub}", "scopes": ["files.read"],
        "expires_at": "2090-01-01T00:00:00+02:00", "account": {"id": sub, "label": sub.title()},
    }  # fmt: skip
    return {name: value for name, value in {**usual, **more}.items() if value is not None}


def run(path: Path, *lines: dict[str, Any] | bytes, **options: Any) -> tuple[str, str]:
    """What the command says on each stream."""
    agent_access.forget()
    if lines:
        path.write_bytes(b"\n".join(one if isinstance(one, bytes) else json.dumps(one).encode() for one in lines))
    out, err = StringIO(), StringIO()
    try:
        call_command("import_tokens", str(path), stdout=out, stderr=err, **options)
    except CommandError as error:
        err.write(str(error))
    return out.getvalue(), err.getvalue()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tokens.jsonl"


def test_every_line_becomes_a_connection_and_an_event(known: Known, path: Path, committed_database: str) -> None:
    out, err = run(path, line(known), b"", line(known, "bob", expires_at=None, account=None, refresh_token=None))
    assert (out.partition(".")[0], err) == ("2 imported", "")
    assert "Delete the file" in out
    assert told(known) == ["connection.imported"] * 2
    row = Connection.objects.get(sub="alice")
    assert (row.account_id, row.account_label, row.scopes) == ("alice", "Alice", ["files.read"])
    assert vault.token(known.row, row.pk)["access_token"] == "at-canary-alice"
    assert vault.token(known.row, Connection.objects.get(sub="bob").pk)["expires_at"] is None
    assert "canary" not in dump.database(committed_database)


def test_a_refresh_token_alone_is_refreshed_when_it_is_used_first(known: Known, path: Path, double: Provider) -> None:
    issued = rows.grant(double)
    assert issued.refresh_token
    run(path, line(known, access_token=None, refresh_token=issued.refresh_token.reveal()))
    assert double.live(vault.token(known.row, Connection.objects.get().pk)["access_token"])


def test_connecting_later_renews_what_was_brought(known: Known, path: Path, double: Provider) -> None:
    run(path, line(known))
    assert connect(double, known, reuse="never").result["connection"] == Connection.objects.get().pk


def test_run_again_it_leaves_what_there_is(known: Known, path: Path) -> None:
    run(path, line(known))
    Connection.objects.update(generation=7)
    out, _ = run(path, line(known, access_token="at-older"), line(known, "bob"))
    assert out.partition(".")[0] == "1 imported, 1 connected already"
    assert vault.token(known.row, Connection.objects.get(sub="alice").pk)["access_token"] == "at-canary-alice"
    assert len(told(known)) == 2


WRONG: list[tuple[Any, str]] = [
    ({"agent": "nobody"}, "agent: There is no agent"),
    ({"provider": "nothing"}, "provider: There is no OAuth provider"),
    ({"subject": {"iss": "https://other.test", "sub": "a"}}, "subject.iss: This is not the issuer"),
    ({"subject": {"iss": ISSUER}}, "subject.sub: Field required"),
    ({"access_token": "at-canary two"}, "access_token: "),
    ({"access_token": 7}, "access_token: "),
    ({"access_token": None, "refresh_token": None}, "give an access_token, a refresh_token, or both"),
    ({"expires_at": "tomorrow"}, "expires_at: "),
    ({"expires_at": "2026-01-01T00:00:00"}, "expires_at: "),
    ({"expires_at": "9999-12-31T23:59:59-12:00"}, "expires_at: Value error, Give a time between"),
    ({"expires_at": "0001-01-01T00:00:00+14:00"}, "expires_at: Value error, Give a time between"),
    ({"scopes": ["a b"]}, "scopes.0: "),
    ({"account": {"id": ""}}, "account.id: "),
    ({"password": "canary"}, "password: Extra inputs"),
    (b"{", "The body is not JSON"),
    (b'{"agent": "a", "agent": "b"}', ""),
    (b"\xff", "not UTF-8"),
    (b"[]", "must be a JSON object"),
]


@pytest.mark.parametrize(("wrong", "said"), WRONG)
def test_one_wrong_line_is_named_and_nothing_is_kept(known: Known, path: Path, wrong: Any, said: str) -> None:
    bad = wrong if isinstance(wrong, bytes) else line(known, "bob") | wrong
    bad = bad if isinstance(bad, bytes) else {name: value for name, value in bad.items() if value is not None}
    out, err = run(path, line(known), bad)
    assert out == ""
    assert f"{path}:2: " in err
    assert said in err
    assert "Nothing was imported: 1 of 2 lines are wrong." in err
    assert "canary" not in err
    assert not Connection.objects.exists()


def test_a_provider_whose_tokens_are_bound_takes_none(known: Known, path: Path, drive_row: ProviderRow) -> None:
    ProviderRow.objects.update(dpop="required")
    assert "are bound to a key" in run(path, line(known))[1]


def test_of_many_wrong_lines_a_hundred_are_shown(known: Known, path: Path) -> None:
    _, err = run(path, *[b"{"] * 150)
    assert err.count(f"{path}:") == 100
    assert "The first 100 are shown." in err
    assert "150 of 150 lines are wrong." in err


def test_no_file(known: Known, path: Path) -> None:
    assert "cannot be read" in run(path)[1]


def test_it_stops_between_batches_and_is_taken_up_again(
    known: Known, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_tokens, "BATCH", 2)
    keep, kept = import_tokens.elicitations.import_connection, []

    def stop_in_the_first_batch(*args: Any) -> Connection | None:
        if not kept:
            os.kill(os.getpid(), signal.SIGTERM)
        kept.append(keep(*args))
        return kept[-1]

    lines = [line(known, f"user-{number}") for number in range(5)]
    with monkeypatch.context() as patched:
        patched.setattr(import_tokens.elicitations, "import_connection", stop_in_the_first_batch)
        _, err = run(path, *lines)
    assert "done so far: 2 imported" in err
    assert Connection.objects.count() == 2
    assert run(path)[0].startswith("3 imported, 2 connected already")
    assert Connection.objects.count() == 5


def bring(api: httpx2.Client, said: dict[str, Any]) -> httpx2.Response:
    agent_access.forget()
    return api.post("/v1/connections", json={name: value for name, value in said.items() if name != "agent"})


def test_t66_an_agent_brings_tokens_only_where_it_may(known: Known, served: Served) -> None:
    with known.client(served.url) as api:
        assert bring(api, line(known)).status_code == 403
    assert not Connection.objects.exists()
    allowed = rows.agent(import_connections=True)
    with allowed.client(served.url) as api:
        answer = bring(api, line(allowed))
        assert answer.status_code == 201
        assert answer.json()["account"] == {"id": "alice", "label": "Alice"}
        assert "canary" not in answer.text
        assert (bring(api, line(allowed)).status_code, Connection.objects.count()) == (409, 1)
        token = api.post(f"/v1/connections/{answer.json()['id']}/token").json()
        assert token["access_token"] == "at-canary-alice"
        for wrong, place in (
            ({"provider": "nothing"}, ["provider"]),
            ({"subject": {"iss": "https://other.test", "sub": "a"}}, ["subject", "iss"]),
            ({"access_token": "a b"}, ["access_token"]),
            ({"expires_at": "9999-12-31T23:59:59-12:00"}, ["expires_at"]),
        ):
            refused = bring(api, line(allowed) | wrong)
            assert (refused.status_code, refused.json()["errors"][0]["loc"]) == (422, place)
    assert Agent.objects.get(pk=known.row.pk).import_connections is False
