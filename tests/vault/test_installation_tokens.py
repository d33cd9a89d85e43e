"""Tokens of an app's installations: for what the person reaches, and for nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from elicit_flows import catalogue, oauth, vault
from elicit_flows.domain.errors import (
    Conflict,
    Forbidden,
    NotFound,
    ProviderBroken,
    ProviderUnavailable,
    ReauthorizationRequired,
    TokensNeverLeave,
    Unavailable,
)
from elicit_flows.domain.values import Claim, Secret
from elicit_flows.models import Connection
from elicit_flows.models import Provider as ProviderRow
from tests.doubles import github
from tests.doubles.github import GitHub
from tests.doubles.policy import loopback_allowed
from tests.oauth.journey import ask, come_back, press
from tests.support import jobs, rows
from tests.support.moving import MovingClock
from tests.support.rows import ISSUER, Known

ENTRY = """\
name = "GitHub"
kind = "oauth"
source_url = "https://docs.example.com"
checked = "unverified"
token_auth = "client_secret_basic"

[endpoints]
authorize = "{url}/authorize"
token = "{url}/token"
userinfo = "{url}/userinfo"

[installation]
mint = "{at}/app/installations/{{installation}}/access_tokens"
repositories = "{at}/user/installations/{{installation}}/repositories"
end = "{at}/installation/token"
usual = ["contents", "issues", "metadata"]
admin = ["administration"]
source_url = "https://docs.example.com"
"""
READ = {"contents": "read"}


@pytest.fixture
def double() -> Iterator[GitHub]:
    oauth.forget()
    with GitHub() as running, loopback_allowed():
        yield running


def write(folder: Path, double: GitHub, at: str = "") -> None:
    (folder / "drive.toml").write_text(ENTRY.format(url=double.url, at=at or double.url))
    catalogue.configure(folder)


@pytest.fixture
def app_row(double: GitHub, tmp_path: Path, committed: None) -> Iterator[ProviderRow]:
    write(tmp_path, double)
    row = ProviderRow(slug="drive", preset="drive", client_id=double.client_id, given=[])
    for name, value in catalogue.entries()["drive"].settings().items():
        setattr(row, name, value)
    vault.seal_client_secret(row, Secret(double.client_secret or ""))
    vault.seal_app_key(row, Secret(github.pem()))
    row.save()
    yield row
    catalogue.configure(None)


@pytest.fixture
def known(app_row: ProviderRow) -> Known:
    return rows.agent()


def connect(known: Known, double: GitHub, user: str = "alice") -> Connection:
    row = ask(known, claim=Claim(ISSUER, user), scopes=[], reuse="never")
    double.user = {"sub": user, "name": user.title()}
    come_back(double, row, press(row))
    return Connection.objects.get(agent=known.row, sub=user)


def token(known: Known, row: Connection, number: int, names: list[str], may: dict[str, Any], **more: Any) -> Any:
    return vault.installation_token(known.row, row.pk, number, names, may, **more)


def test_a_token_of_an_installation_is_for_what_was_asked_and_kept_until_it_ends(known: Known, double: GitHub) -> None:
    row = connect(known, double)
    first = token(known, row, 7, ["api", "octo-org/Repo-129"], {"contents": "read"})
    assert first["installation"] == {
        "id": 7, "repositories": ["octo-org/api", "octo-org/repo-129"],
        "permissions": {"contents": "read", "metadata": "read"},
    }  # fmt: skip
    assert double.minted[first["access_token"]] == {"repository_ids": [1, 829], "permissions": READ}
    assert token(known, row, 7, ["octo-org/repo-129", "API"], READ)["access_token"] == first["access_token"]
    assert token(known, row, 7, ["api"], READ)["access_token"] != first["access_token"], "another set"
    assert token(known, row, 7, ["api", "octo-org/repo-129"], {"contents": "read", "issues": "read"})
    assert double.calls["mint"] == 3
    assert first.keys() == vault.token(known.row, row.pk).keys() | {"installation"}, "and nothing of how it is kept"
    double.life = timedelta(minutes=30)
    token(known, row, 7, ["site"], READ)
    assert token(known, row, 7, ["site"], READ, min_ttl=3000), "a new one would live no longer"
    assert double.calls["mint"] == 4
    assert vault.token(known.row, row.pk)["access_token"] not in double.minted, "the person's own is another"


@pytest.mark.parametrize(
    ("number", "names", "may", "why"),
    [
        (8, ["secret-plans"], READ, "does not reach this installation"),
        (99, ["api"], READ, "does not reach this installation"),
        (7, ["api", "secret-plans"], READ, "does not reach secret-plans"),
        (7, ["other-org/api"], READ, "does not reach other-org/api"),
        (7, ["api", "site"], {"contents": "write"}, "contents = write in octo-org/site: that needs push"),
        (7, ["api"], {"administration": "read"}, "that needs admin"),
        (7, ["api"], {"contents": "admin"}, "that needs admin"),
        (7, ["api"], {"members": "read"}, "No token is issued with the permission members"),
    ],
)
def test_t210_nothing_is_issued_for_what_the_person_does_not_reach(
    known: Known, double: GitHub, number: int, names: list[str], may: dict[str, str], why: str
) -> None:
    row = connect(known, double)
    with pytest.raises(Forbidden) as refused:
        token(known, row, number, names, may)
    assert why in refused.value.detail
    assert double.calls["mint"] == 0


@pytest.mark.parametrize(
    "more",
    [
        {"permissions": {"contents": "write"}},
        {"permissions": {"contents": "read", "administration": "read"}},
        {"repositories": [{"id": 1, "name": "api"}, {"id": 2, "name": "site"}]},
        {"repositories": []},
        {"repositories": None},
    ],
)
def test_t211_a_token_that_may_do_more_than_was_asked_is_ended_and_not_given(
    known: Known, double: GitHub, more: dict[str, Any]
) -> None:
    row = connect(known, double)
    double.more = more
    with pytest.raises(ProviderBroken):
        token(known, row, 7, ["api"], READ)
    assert double.minted == {} or more["repositories"] is None
    row.refresh_from_db()
    assert row.minted == ""


def test_t212_a_kept_token_is_given_to_no_other_agent_or_person(known: Known, double: GitHub) -> None:
    mine, other = connect(known, double), rows.agent()
    first = token(known, mine, 7, ["api"], READ)["access_token"]
    with pytest.raises(NotFound):
        token(other, mine, 7, ["api"], READ)
    theirs = connect(other, double)
    double.calls.clear()
    assert token(other, theirs, 7, ["api"], READ)["access_token"] != first
    assert double.calls["reach"] == 1, "it is checked for each connection"
    bobs = connect(known, double, "bob")
    with pytest.raises(Forbidden):
        token(known, bobs, 7, ["api"], READ)
    # Whoever writes the database cannot move it either.
    mine.refresh_from_db()
    Connection.objects.filter(pk=bobs.pk).update(minted=mine.minted)
    with pytest.raises(Unavailable):
        token(known, bobs, 7, ["api"], READ)
    known.row.tokens_never_leave = True
    with pytest.raises(TokensNeverLeave):
        token(known, mine, 7, ["api"], READ)


def test_t86_the_tokens_end_with_the_connection(known: Known, double: GitHub) -> None:
    row = connect(known, double)
    for names in (["api"], ["site"]):
        token(known, row, 7, names, READ)
    row.refresh_from_db()
    assert "ghs_" not in row.minted
    vault.revoke(row)
    jobs.tell_due_providers()
    row.refresh_from_db()
    assert (double.minted, double.calls["end"], row.minted, row.upstream) == ({}, 2, "", "done")


def test_t131_neither_the_apps_key_nor_the_persons_token_is_used_at_another_host(
    known: Known, double: GitHub, app_row: ProviderRow, tmp_path: Path
) -> None:
    row = connect(known, double)
    kept = token(known, row, 7, ["site"], READ)["access_token"]
    with GitHub() as elsewhere:
        write(tmp_path, double, elsewhere.url)
        with pytest.raises(Unavailable):
            token(known, row, 7, ["api"], READ)
        vault.seal_client_secret(app_row, Secret(double.client_secret or ""))
        app_row.save()
        with pytest.raises(Unavailable):
            token(known, row, 7, ["api"], READ)
        vault.seal_app_key(app_row, Secret(github.pem()))
        app_row.save()
        with pytest.raises(ReauthorizationRequired, match="have changed"):
            token(known, row, 7, ["api"], READ)
        vault.revoke(row)
        jobs.tell_due_providers()
        assert elsewhere.requests == []
        assert kept in double.minted, "it ends by itself"


def test_without_a_key_of_the_app_there_are_no_such_tokens(known: Known, double: GitHub, app_row: ProviderRow) -> None:
    row = connect(known, double)
    vault.seal_app_key(app_row, None)
    app_row.save()
    with pytest.raises(Conflict, match="app_key"):
        token(known, row, 7, ["api"], READ)


@pytest.mark.parametrize("renewable", [False, True])
def test_a_users_token_that_is_refused_there_is_renewed_or_the_user_is_asked(
    known: Known, double: GitHub, moving_clock: MovingClock, renewable: bool
) -> None:
    """Else a new question would be answered with this connection, whose token is refused again."""
    row = connect(known, double)
    if not renewable:
        Connection.objects.filter(pk=row.pk).update(refresh_token="", expires_at=None)
    moving_clock.forward(minutes=1)
    double.tokens = {f"former-{one}": issued for one, issued in double.tokens.items()}
    with pytest.raises(ProviderUnavailable if renewable else ReauthorizationRequired):
        token(known, row, 7, ["api"], READ)
    row.refresh_from_db()
    if renewable:
        assert token(known, row, 7, ["api"], READ)["access_token"] in double.minted
    else:
        assert row.status == "reauthorization_required"
        assert ask(known, scopes=[]).status == "pending"
