"""Two tokens from one consent, as at Slack: the app's, and that of the person who installs it."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from elicit_flows import catalogue, oauth, vault
from elicit_flows.domain.errors import InvalidScope, ProviderUnavailable, ReauthorizationRequired
from elicit_flows.domain.values import Secret
from elicit_flows.models import Connection, Elicitation
from elicit_flows.models import Provider as ProviderRow
from tests.doubles.policy import loopback_allowed
from tests.doubles.provider import Provider
from tests.doubles.server import Request, Response, json_response
from tests.oauth.journey import ask, come_back, press, query
from tests.support import jobs, rows
from tests.support.rows import Known

BOTH = ["chat:write", "user/search:read", "user/chat:write"]
SLACK = Path(catalogue.__file__).parent / "entries" / "slack-bot.toml"


class Slack(Provider):
    """``oauth.v2.access`` with token rotation, and ``auth.revoke`` (docs.slack.dev, "Using token rotation").

    ``types``: the token_type that it says for the app and for the user. ``dead``: refresh tokens that have ended.
    """

    def __init__(self) -> None:
        self.types = {"bot": "bot", "user": "user"}
        self.live_tokens: dict[str, str] = {}  # the kind, by token
        self.refreshing: dict[str, str] = {}  # the same by refresh token
        self.dead: set[str] = set()
        self.down: set[str] = set()
        super().__init__(client_secret="the-app's-client-secret")

    def respond(self, request: Request) -> Response:
        if request.path == "/api/auth.revoke":
            gone = self.live_tokens.pop(request.headers["authorization"].removeprefix("Bearer "), None)
            return json_response({"ok": True, "revoked": True} if gone else {"ok": False, "error": "token_revoked"})
        return super().respond(request)

    def _token(self, request: Request) -> Response:
        form = request.form
        if form.get("grant_type") == "refresh_token":
            kind = self.refreshing.get(form["refresh_token"])
            if kind in self.down:
                return Response(503)
            if kind is None or kind in self.dead:
                return json_response({"ok": False, "error": "invalid_refresh_token"})
            del self.refreshing[form["refresh_token"]]
            return json_response({"ok": True, **self._pair(kind)})
        asked = self.codes.pop(form["code"]).query
        user = self._pair("user", asked["user_scope"]) if asked.get("user_scope") else {}
        return json_response({
            "ok": True, **self._pair("bot", asked["scope"]), "team": {"id": "T1", "name": "Octo"},
            "authed_user": {"id": "U1", **user},
        })  # fmt: skip

    def _pair(self, kind: str, scope: str | None = None) -> dict[str, Any]:
        access, refresh = f"xoxe.{kind}-{secrets.token_hex(9)}", f"xoxe-1-{secrets.token_hex(9)}"
        self.live_tokens[access], self.refreshing[refresh] = kind, kind
        said = {"access_token": access, "refresh_token": refresh, "expires_in": 43200, "token_type": self.types[kind]}
        return said | ({"scope": scope} if scope else {})


def slack_at(url: str) -> str:
    """Our own entry for Slack, with the addresses of a double."""
    text = SLACK.read_text().replace("https://slack.com/oauth/v2/authorize", f"{url}/authorize")
    text = text.replace("https://slack.com/api/oauth.v2.access", f"{url}/token")
    return text.replace("https://slack.com/api/auth.revoke", f"{url}/api/auth.revoke")


@pytest.fixture
def double() -> Iterator[Slack]:
    oauth.forget()
    with Slack() as running, loopback_allowed():
        yield running


@pytest.fixture
def slack_row(double: Slack, tmp_path: Path, committed: None) -> Iterator[ProviderRow]:
    """Our own entry for Slack, at the double."""
    (tmp_path / "drive.toml").write_text(slack_at(double.url))
    catalogue.configure(tmp_path)
    row = ProviderRow(slug="drive", preset="drive", client_id=double.client_id, given=[])
    for name, value in catalogue.entries()["drive"].settings().items():
        setattr(row, name, value)
    row.token_auth = "client_secret_post"
    vault.seal_client_secret(row, Secret(double.client_secret or ""))
    row.save()
    yield row
    catalogue.configure(None)


@pytest.fixture
def known(slack_row: ProviderRow) -> Known:
    return rows.agent()


def connect(known: Known, double: Slack, scopes: list[str] = BOTH) -> tuple[Elicitation, Connection | None]:
    row = ask(known, scopes=scopes, reuse="never")
    row = come_back(double, row, press(row))
    return row, Connection.objects.filter(agent=known.row).first()


def both(known: Known, row: Connection) -> tuple[str, str]:
    first, second = vault.token(known.row, row.pk), vault.token(known.row, row.pk, scope_set="user")
    return first["access_token"], second["access_token"]


def test_one_consent_gives_two_tokens_which_are_refreshed_and_ended_together(known: Known, double: Slack) -> None:
    asked = ask(known, scopes=BOTH)
    url = press(asked)
    assert (query(url)["scope"], query(url)["user_scope"]) == ("chat:write", "search:read,chat:write")
    done = come_back(double, asked, url)
    assert (done.status, (done.result or {})["scopes"]) == ("completed", BOTH)
    row = Connection.objects.get()
    usual, other = vault.token(known.row, row.pk), vault.token(known.row, row.pk, scope_set="user")
    assert (usual["scopes"], other["scopes"]) == (["chat:write"], ["search:read", "chat:write"])
    old = both(known, row)
    rows.expire(row)
    new = both(known, row)
    assert [double.live_tokens[one] for one in (*old, *new)] == ["bot", "user", "bot", "user"]
    assert not set(old) & set(new)
    again = ask(known, scopes=["user/search:read"])
    assert (again.status, again.reused) == ("completed", True)
    row.refresh_from_db()
    assert "xoxe" not in row.set_tokens + row.access_token
    vault.revoke(row)
    jobs.tell_due_providers()
    row.refresh_from_db()
    assert (row.upstream, row.set_tokens, set(double.live_tokens) & set(new)) == ("done", "", set())


def test_a_set_that_nobody_gave_has_no_token(known: Known, double: Slack) -> None:
    _, row = connect(known, double, ["chat:write"])
    assert row
    with pytest.raises(InvalidScope, match="begin with user/"):
        vault.token(known.row, row.pk, scope_set="user")
    assert ask(known, scopes=["user/search:read"]).status == "pending", "it is asked for"


@pytest.mark.parametrize("types", [{"bot": "user", "user": "bot"}, {"bot": "user"}, {"user": "bot"}, {"user": None}])
def test_t213_a_token_of_another_set_is_never_taken_for_the_one_that_was_asked(
    known: Known, double: Slack, types: dict[str, Any]
) -> None:
    usual = dict(double.types)
    double.types |= types
    failed, row = connect(known, double)
    assert (failed.status, row) == ("failed", None)
    double.types = usual
    _, row = connect(known, double)
    assert row
    old = both(known, row)
    rows.expire(row)
    double.types = usual | types
    for scope_set in (None, "user"):
        try:
            token = vault.token(known.row, row.pk, scope_set=scope_set)["access_token"]
        except (ProviderUnavailable, ReauthorizationRequired):
            continue
        assert double.live_tokens[token] == ("user" if scope_set else "bot")
        assert scope_set is None or token == old[1], "the former one, which has not expired"


def test_one_that_has_ended_is_left_out_and_one_that_is_late_is_tried_again(known: Known, double: Slack) -> None:
    _, row = connect(known, double)
    assert row
    old = both(known, row)
    rows.expire(row)
    double.down = {"user"}
    assert double.live_tokens[vault.token(known.row, row.pk)["access_token"]] == "bot"
    row.refresh_from_db()
    assert row.expires_at
    assert (row.expires_at - row.issued_at).total_seconds() < 310
    assert vault.token(known.row, row.pk, scope_set="user")["access_token"] == old[1], "it has not expired itself"
    double.down, double.dead = set(), {"user"}
    rows.expire(row)
    vault.token(known.row, row.pk)
    with pytest.raises(InvalidScope):
        vault.token(known.row, row.pk, scope_set="user")
    row.refresh_from_db()
    assert row.scopes == ["chat:write"]
