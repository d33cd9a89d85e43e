"""Imports from CSV and from the exports of other services: what is taken, and what cannot be and why."""

from __future__ import annotations

import csv
import json
import shlex
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from elicit_flows import catalogue, elicitations, vault
from elicit_flows.domain.errors import Invalid
from elicit_flows.domain.values import Claim, Grant, Json, Secret
from elicit_flows.elicitations import agent_access
from elicit_flows.lib import clock
from elicit_flows.models import Connection, IdentityProvider
from elicit_flows.models import Provider as ProviderRow
from tests.docs.page import found
from tests.doubles.provider import Provider, shop_entry
from tests.oauth.journey import told
from tests.oauth.test_importing import run
from tests.support import dump, rows
from tests.support.rows import ISSUER, Known

HEAD = "agent,iss,sub,provider,access_token,refresh_token,expires_at,scopes,account_id,account_label"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tokens.csv"


@pytest.fixture
def report(tmp_path: Path) -> Path:
    return tmp_path / "report.csv"


@pytest.fixture
def shops(tmp_path: Path, double: Provider, committed: None) -> Iterator[ProviderRow]:
    """A provider whose shop each person names."""
    folder = tmp_path / "catalogue"
    folder.mkdir()
    (folder / "shops.toml").write_text(shop_entry(double.port))
    catalogue.configure(folder)
    row = ProviderRow(
        slug="drive", preset="shops", client_id="elicit", given=[], **catalogue.entries()["shops"].settings()
    )
    vault.seal_client_secret(row, Secret(double.client_secret or ""))
    row.save()
    yield row
    catalogue.configure(None)


@pytest.fixture
def shopping(shops: ProviderRow) -> Known:
    return rows.agent()


def said_in(report: Path) -> list[list[str]]:
    return list(csv.reader(report.read_text().splitlines()))


def csv_row(known: Known, sub: str = "alice", **more: str) -> str:
    said = {
        "agent": known.row.slug, "iss": ISSUER, "sub": sub, "provider": "drive", "access_token": f"at-canary-{sub}",
        "refresh_token": f"rt-canary-{sub}", "expires_at": "2090-01-01T00:00:00Z", "scopes": "files.read files.write",
        "account_id": sub, "account_label": sub.title(),
    }  # fmt: skip
    return ",".join({**said, **more}.values())


def written(path: Path, *lines: str, mark: str = "") -> Path:
    path.write_text(mark + "\n".join(lines), encoding="utf-8")
    return path


def test_every_row_becomes_a_connection_sealed_like_any_other(
    known: Known, path: Path, committed_database: str
) -> None:
    out, err = run(written(path, HEAD, csv_row(known), "", csv_row(known, "bob"), mark="\ufeff"))
    assert (out.partition(".")[0], err) == ("2 imported", "")
    row = Connection.objects.get(sub="alice")
    assert (row.account_id, row.account_label, row.scopes) == ("alice", "Alice", ["files.read", "files.write"])
    assert vault.token(known.row, row.pk)["access_token"] == "at-canary-alice"
    assert told(known) == ["connection.imported"] * 2
    assert "canary" not in dump.database(committed_database)


def test_columns_in_any_order_with_what_is_the_same_for_all_said_once(known: Known, path: Path) -> None:
    written(path, "Refresh_Token;Sub;provider", "rt-canary;alice;google-drive", "rt-canary-2;bob;drive")
    run(path, agent=known.row.slug, issuer=ISSUER, provider=[("google-drive", "drive")])
    assert sorted(Connection.objects.values_list("sub", flat=True)) == ["alice", "bob"]


def test_a_dry_run_checks_every_row_and_changes_nothing(known: Known, path: Path) -> None:
    written(path, HEAD, csv_row(known), csv_row(known, "bob", provider="nothing"))
    out, err = run(path, dry_run=True)
    assert out.startswith("1 lines could be imported, 1 not. Nothing was imported.")
    assert f"{path}:3: provider: There is no OAuth provider" in err
    assert "Without --skip-wrong, none of the lines would be imported." in err
    assert run(path, dry_run=True, skip_wrong=True)[1].count("\n") == 1
    assert not Connection.objects.exists()
    assert told(known) == []


WRONG: list[tuple[str, str]] = [
    ("a,b", "3: This line has 2 values, and the first line 10 names."),
    ('"open', "This is not CSV"),
    ("{agent},{iss},,drive,at-canary,,,,,", "3: sub: Field required"),
    ("nobody,{iss},bob,drive,at-canary,,,,,", "3: agent: There is no agent"),
    ("{agent},https://other.test,bob,drive,at-canary,,,,,", "3: iss: This is not the issuer"),
    ("{agent},{iss},bob,at-canary-misplaced,drive,,,,,", "3: provider: There is no OAuth provider"),
    ("{agent},{iss},bob,drive,,,,,,", "3: Value error, give an access_token"),
    ("{agent},{iss},bob,drive,at canary,,,,,", "3: access_token: "),
    ("{agent},{iss},bob,drive,at-canary,,tomorrow,,,", "3: expires_at: "),
    ('{agent},{iss},bob,drive,at-canary,,,"a ""b""",,', "3: scopes: "),
    ("{agent},{iss},bob,drive,at-canary,,,,,Bob", "3: account_id: "),
    ("{agent},{iss},alice,drive,at-canary,,,,alice,", "3: account_id: Line 2 has this account already."),
]


@pytest.mark.parametrize(("wrong", "said"), WRONG)
def test_t176_a_wrong_row_is_named_without_its_values_and_nothing_is_kept(
    known: Known, path: Path, report: Path, wrong: str, said: str
) -> None:
    written(path, HEAD, csv_row(known), wrong.format(agent=known.row.slug, iss=ISSUER))
    out, err = run(path, report=report)
    assert out == ""
    assert said in err
    assert "Nothing was imported: 1 of 2 lines are wrong." in err
    assert not Connection.objects.exists()
    assert "canary" not in err + report.read_text()
    assert len(said_in(report)) == 2


@pytest.mark.parametrize(
    ("head", "said"),
    [
        ("at-canary,b", "1: Column 1 has no name that is known."),
        ("sub,provider,sub", "1: sub: This column is there twice."),
        ("sub,access_token", "1: provider: This column is missing."),
    ],
)
def test_t176_a_first_line_that_names_no_columns_is_not_repeated(
    known: Known, path: Path, head: str, said: str
) -> None:
    _, err = run(written(path, head, "x,y"))
    assert said in err
    assert "canary" not in err


def test_what_is_not_utf_8_is_a_wrong_row(known: Known, path: Path) -> None:
    path.write_bytes("\n".join((HEAD, csv_row(known))).encode() + b"\n" + csv_row(known, "bob").encode() + b"\xff")
    assert f"{path}:3: account_label: " in run(path)[1]


def test_the_others_are_imported_where_that_is_asked_for(known: Known, path: Path, report: Path) -> None:
    written(path, HEAD, "a,b", csv_row(known), csv_row(known, "bob", provider="nothing"))
    out, _ = run(path, skip_wrong=True, report=report)
    assert out.startswith("1 imported; 2 lines were left out.")
    assert [row.sub for row in Connection.objects.all()] == ["alice"]
    assert [line[:2] for line in said_in(report)] == [["line", "where"], ["2", ""], ["4", "provider"]]
    assert "exists already" in run(path, skip_wrong=True, report=report)[1]


def test_t175_a_shop_of_an_imported_line_is_checked_by_its_rule(shopping: Known, path: Path, double: Provider) -> None:
    grant = rows.grant(double)
    assert grant.refresh_token
    head = "agent,iss,sub,provider,refresh_token,variable_shop"
    start = f"{shopping.row.slug},{ISSUER},alice,drive,{grant.refresh_token.reveal()}"
    for shop, said in (
        ("", "variable_shop: Give this: shop is needed"), ("evil.com#", "variable_shop: "),
        ("evil.com/", "variable_shop: "), ("{shop}", "variable_shop: "),
    ):  # fmt: skip
        assert said in run(written(path, head, f"{start},{shop}"))[1]
    assert not Connection.objects.exists()
    assert run(written(path, head, f"{start},hers"))[1] == ""
    row = Connection.objects.get()
    assert row.variables == {"shop": "hers"}
    assert all(host.startswith("http://hers.shops.") for host in row.bound_to.values())
    assert double.live(vault.token(shopping.row, row.pk)["access_token"])
    asked = [request.headers["host"] for name, request in double.requests if name == "token"]
    assert asked[-1] == f"hers.shops.localhost:{double.port}"


def test_t175_an_agent_names_no_variable_that_the_provider_has_not(known: Known) -> None:
    grant = Grant(Secret("at"), None, "Bearer", None, (), variables={"shop": "hers"})
    with pytest.raises(Invalid):
        elicitations.import_connection(
            known.row, Claim(ISSUER, "alice"), "drive", grant, vault.ConnectionUse.Actor.AGENT
        )


def nango(**more: Any) -> Json:
    """One answer of GET /connections/{connectionId}, as Nango's documentation has it."""
    credentials = {
        "type": "OAUTH2", "access_token": "at-canary", "refresh_token": "rt-canary",
        "expires_at": "2090-01-01T00:00:00.000Z", "raw": {"scope": "files.read,files.write"},
    }  # fmt: skip
    return {
        "id": 1, "connection_id": "test-1", "provider_config_key": "google-drive", "provider": "google-drive",
        "errors": [], "end_user": None, "tags": {"end_user_id": "alice"}, "metadata": None,
        "connection_config": {"subdomain": "hers"}, "created_at": "2026-01-01T00:00:00.000Z",
        "updated_at": "2026-01-01T00:00:00.000Z", "last_fetched_at": None,
    } | {"credentials": credentials | more.pop("credentials", {})} | more  # fmt: skip


def composio(**more: Any) -> Json:
    """One answer of GET /api/v3/connected_accounts/{nanoid}, as Composio's client has it."""
    values = {
        "status": "ACTIVE", "access_token": "at-canary", "refresh_token": "rt-canary", "expires_in": 3600,
        "scope": "files.read files.write", "token_type": "bearer",
    }  # fmt: skip
    return {
        "id": "ca_1", "user_id": "alice", "status": "ACTIVE", "toolkit": {"slug": "google-drive"},
        "auth_config": {"id": "ac_1", "is_composio_managed": False, "is_disabled": False},
        "state": {"authScheme": "OAUTH2", "val": values | more.pop("val", {})} | more.pop("state", {}),
    } | more  # fmt: skip


def taken(path: Path, known: Known, name: str, *lines: Json, **options: Any) -> tuple[str, str]:
    path.write_text("\n".join(json.dumps(one) for one in lines))
    mapped: dict[str, Any] = {"agent": known.row.slug, "issuer": ISSUER, "provider": [("google-drive", "drive")]}
    return run(path, **{"format": name, **mapped, **options})


@pytest.mark.parametrize(("name", "line"), [("nango", nango()), ("composio", composio())])
def test_a_connection_of_another_service_becomes_ours(known: Known, path: Path, name: str, line: Json) -> None:
    assert taken(path, known, name, line)[0].startswith("1 imported.")
    row = Connection.objects.get()
    assert (row.sub, row.scopes, bool(row.refresh_token)) == ("alice", ["files.read", "files.write"], True)
    # How old Composio's access token is, nobody says: a new one is got before the first use.
    assert row.expires_at
    assert (row.expires_at > clock.now()) == (name == "nango")


def test_t175_their_setting_is_our_variable_where_the_operator_says_so(shopping: Known, path: Path) -> None:
    assert "connection_config: Give this: shop is needed" in taken(path, shopping, "nango", nango())[1]
    evil = nango(connection_config={"subdomain": "evil.com/"})
    named = [("subdomain", "shop")]
    assert "connection_config: " in taken(path, shopping, "nango", evil, variable=named)[1]
    assert not Connection.objects.exists()
    taken(path, shopping, "nango", nango(), variable=named)
    assert Connection.objects.get().variables == {"shop": "hers"}


NOT_TAKEN: list[tuple[str, Json, str]] = [
    ("nango", nango(credentials={"type": "API_KEY", "apiKey": "canary"}), "credentials.type: Only tokens of OAuth 2"),
    ("nango", nango(credentials={"config_override": {"client_id": "x"}}), "credentials.config_override: These tokens"),
    ("nango", nango(errors=[{"type": "auth", "log_id": "x"}]), "errors: Nango could not refresh"),
    ("nango", nango(tags=None), "tags.end_user_id: Field required"),
    ("nango", nango(credentials={"expires_at": "soon"}), "credentials.expires_at: "),
    ("nango", nango(credentials={"access_token": 7}), "credentials.access_token: "),
    ("nango", nango(provider_config_key="slack"), "provider_config_key: There is no OAuth provider"),
    ("nango", {}, "credentials.type: Only tokens"),
    ("composio", composio(state={"authScheme": "API_KEY"}), "state.authScheme: Only tokens of OAuth 2"),
    (
        "composio", composio(auth_config={"is_composio_managed": True}),
        "auth_config.is_composio_managed: These tokens belong to Composio's own client",
    ),
    ("composio", composio(status="EXPIRED"), "status: Only ACTIVE accounts"),
    ("composio", composio(val={"status": "INITIATED"}), "status: Only ACTIVE accounts"),
    ("composio", composio(val={"access_token": "ya29.canary..."}), "state.val.access_token: This token is masked"),
    ("composio", composio(val={"refresh_token": "REDACTED"}), "state.val.refresh_token: This token is masked"),
    ("composio", composio(val={"refresh_token": "****canary"}), "state.val.refresh_token: This token is masked"),
    ("composio", composio(user_id=None), "user_id: Field required"),
    ("composio", composio(state={"authScheme": ["OAUTH2"]}), "state.authScheme: Only tokens"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "line", "said"), NOT_TAKEN)
def test_t176_what_cannot_be_taken_is_reported_with_its_reason(
    known: Known, path: Path, name: str, line: Json, said: str
) -> None:
    good = {"nango": nango(tags={"end_user_id": "bob"}), "composio": composio(user_id="bob")}[name]
    out, err = taken(path, known, name, line, good, skip_wrong=True)
    assert f"{path}:1: {said}" in err
    assert "canary" not in out + err
    assert out.startswith("1 imported; 1 lines were left out.")
    assert [row.sub for row in Connection.objects.all()] == ["bob"]


@pytest.mark.parametrize(("name", "language"), [("tokens", "csv"), ("nango", "json"), ("composio", "json")])
def test_the_files_and_commands_of_the_page_import_a_connection(
    known: Known, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, language: str
) -> None:
    monkeypatch.chdir(tmp_path)
    found_there = [block for block in found("how-to/import-tokens.md", name) if block.runner == name]
    text = next(block.text for block in found_there if block.language == language)
    commands = next(block.text for block in found_there if block.language == "sh").replace("\\\n", " ").splitlines()
    idp = IdentityProvider.objects.create(slug="idp", issuer="https://idp.example.com", client_id="elicit")
    bot = rows.agent("drive-bot").row
    bot.identity_providers.set([idp])
    rows.provider(slug="github")
    for command in commands:
        _, _, program, file, *options = shlex.split(command)
        (tmp_path / file).write_text(text if language == "csv" else json.dumps(json.loads(text)))
        agent_access.forget()
        call_command(program, file, *options, stdout=StringIO(), stderr=StringIO())
        assert Connection.objects.filter(agent=bot).exists() != ("--dry-run" in options)
    row = Connection.objects.get(agent=bot)
    assert (row.sub, row.scopes) == ("u-1", ["repo", "read:org"])
