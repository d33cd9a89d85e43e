"""What an entry describes where no RFC does: a longer token for the first one, and how a grant is ended."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from elicit_flows import catalogue, elicitations, oauth, vault
from elicit_flows.api.connection_import import ImportConnection
from elicit_flows.domain.values import Secret
from elicit_flows.kinds.oauth import revoke_grant
from elicit_flows.kinds.oauth.provider import OAuthProvider
from elicit_flows.lib import clock
from elicit_flows.models import Connection
from elicit_flows.models import Provider as ProviderRow
from elicit_flows.oauth import DescribedCall, described_call
from tests.doubles.policy import loopback_allowed
from tests.doubles.provider import Provider
from tests.doubles.server import Request, Response, Server, json_response
from tests.oauth.journey import ask, come_back, press
from tests.support import jobs, rows
from tests.support.rows import ISSUER, Known

ENTRY = """\
name = "Drive"
kind = "oauth"
source_url = "https://drive.example.com/docs"
checked = "unverified"
token_auth = "client_secret_basic"
refresh_tokens = false

[endpoints]
authorize = "{url}/authorize"
token = "{url}/token"
userinfo = "{url}/userinfo"
"""
CALLS = """
[long_token]
method = "GET"
url = "{url}/longer"
send = "query"
params = {{ grant_type = "x_exchange", client_secret = "{{client_secret}}", access_token = "{{access_token}}" }}
source_url = "https://drive.example.com/docs"

[renew_token]
url = "{url}/renewed"
params = {{ access_token = "{{access_token}}" }}
source_url = "https://drive.example.com/docs"

[revoke_call]
method = "DELETE"
url = "{url}/applications/{{client_id}}/grant"
auth = "client_secret_basic"
send = "json"
params = {{ access_token = "{{access_token}}" }}
done = [404]
source_url = "https://drive.example.com/docs"
"""


class Described(Provider):
    """``Provider`` with the three calls."""

    ended: list[Request]

    def respond(self, request: Request) -> Response:
        if request.path == "/longer":
            short = request.query["access_token"]
            if short in self.tokens:
                self.tokens[f"long-{short}"] = self.tokens[short]
            return json_response({"access_token": f"long-{short}", "token_type": "bearer",
                                  "expires_in": 5_184_000})  # fmt: skip
        if request.path == "/renewed":
            return json_response({"access_token": f"{request.form['access_token']}+", "token_type": "bearer",
                                  "expires_in": 5_184_000})  # fmt: skip
        if request.method == "DELETE":
            self.ended = [*getattr(self, "ended", []), request]
            return Response(404)
        return super().respond(request)


@pytest.fixture
def double() -> Iterator[Described]:
    oauth.forget()
    with Described(client_secret="the-double's-client-secret") as running, loopback_allowed():
        yield running


def write(folder: Path, double: Provider, text: str) -> None:
    (folder / "drive.toml").write_text(text.format(url=double.url))
    catalogue.configure(folder)


@pytest.fixture
def drive_row(double: Described, tmp_path: Path, committed: None) -> Iterator[ProviderRow]:
    write(tmp_path, double, ENTRY + CALLS)
    row = ProviderRow(slug="drive", preset="drive", client_id=double.client_id, given=[])
    for name, value in catalogue.entries()["drive"].settings().items():
        setattr(row, name, value)
    vault.seal_client_secret(row, Secret(double.client_secret or ""))
    row.save()
    yield row
    catalogue.configure(None)


@pytest.fixture
def known(drive_row: ProviderRow) -> Known:
    return rows.agent()


def connect(known: Known, double: Described) -> Connection:
    row = ask(known, scopes=[], reuse="never")
    come_back(double, row, press(row))
    return Connection.objects.get()


def test_the_first_token_is_exchanged_and_the_longer_one_renewed_by_itself(known: Known, double: Described) -> None:
    row = connect(known, double)
    first = vault.token(known.row, row.pk)["access_token"]
    assert first.startswith("long-")
    assert row.expires_at
    assert (row.expires_at - row.issued_at).days >= 59
    rows.expire(row)
    assert vault.token(known.row, row.pk)["access_token"] == f"{first}+"
    rows.expire(row)
    assert vault.token(known.row, row.pk)["access_token"] == f"{first}++", "the newer one renews itself"


def test_an_imported_token_is_renewed_by_itself_too(known: Known, double: Described) -> None:
    said = {"provider": "drive", "subject": {"iss": ISSUER, "sub": "alice"}, "access_token": "brought"}
    brought = ImportConnection.model_validate({**said, "expires_at": clock.rfc3339(clock.now() + timedelta(days=50))})
    row = elicitations.import_connection(
        known.row, brought.claim(), "drive", brought.grant(), vault.ConnectionUse.Actor.AGENT
    )
    assert row
    assert row.refresh_due_at
    assert row.health == "ok"
    rows.expire(row)
    assert vault.token(known.row, row.pk)["access_token"] == "brought+"


def test_t86_a_grant_is_ended_as_the_entry_describes(known: Known, double: Described) -> None:
    row = connect(known, double)
    token = vault.token(known.row, row.pk)["access_token"]
    vault.revoke(row)
    jobs.tell_due_providers()
    row.refresh_from_db()
    (request,) = double.ended
    assert (row.upstream, request.path) == ("done", f"/applications/{double.client_id}/grant")
    assert json.loads(request.body) == {"access_token": token}
    assert request.headers["authorization"].startswith("Basic ")


def test_t171_a_call_that_came_later_gets_no_secret_and_the_rest_goes_on(
    known: Known, double: Described, drive_row: ProviderRow, tmp_path: Path
) -> None:
    with Described() as elsewhere:
        text = ENTRY.format(url=double.url) + CALLS.format(url=elsewhere.url)
        (tmp_path / "drive.toml").write_text(text)
        catalogue.configure(tmp_path)
        row = connect(known, double)
        assert not vault.token(known.row, row.pk)["access_token"].startswith("long-")
        vault.revoke(row)
        jobs.tell_due_providers()
        assert elsewhere.requests == []
        assert not getattr(elsewhere, "ended", [])
        vault.seal_client_secret(drive_row, Secret(double.client_secret or ""))
        drive_row.save()
        Connection.objects.all().delete()
        assert vault.token(known.row, connect(known, double).pk)["access_token"].startswith("long-")


ODD = 'a"b&c=d%2F{client_secret}/../e?f#g\\h é'


@pytest.mark.parametrize("send", ["query", "form", "json"])
def test_t170_no_value_leaves_its_place(send: Any) -> None:
    with loopback_allowed(), Server() as server:
        server.scripted["unknown"] = json_response({})
        call = DescribedCall(
            f"{server.url}/a/{{client_id}}/b", send=send, params={"token": "{access_token}", "x": "y"},
            headers={"x-id": "-{refresh_token}-"},
        )  # fmt: skip
        values = {"client_id": ODD, "client_secret": "s3cret", "access_token": ODD, "refresh_token": "r{client_id}"}
        described_call.send(call, values)
        (_, request) = server.requests[0]
        given = json.loads(request.body) if send == "json" else (request.form or request.query)
        assert given == {"token": ODD, "x": "y"}
        assert request.path.count("/") == 3
        assert request.headers["x-id"] == "-r{client_id}-"
        with pytest.raises(oauth.ProviderError, match="header"):
            described_call.send(call, {**values, "refresh_token": "a\r\nx-other: b"})
        with pytest.raises(oauth.ProviderError, match="no refresh_token"):
            described_call.send(call, {"client_id": "a", "access_token": "b"})
        assert len(server.requests) == 1


@pytest.mark.parametrize("path", ["/a/{client_id}/b", "/a/{client_id}", "/a/{client_id}?x=y"])
def test_t170_no_value_leads_to_another_path(path: str) -> None:
    with loopback_allowed(), Server() as server:
        server.scripted["unknown"] = json_response({})
        for dots in (".", ".."):
            with pytest.raises(oauth.ProviderError, match="address"):
                described_call.send(DescribedCall(server.url + path), {"client_id": dots})
        described_call.send(DescribedCall(server.url + path), {"client_id": "..."})
        assert [request.path for _, request in server.requests] == [path.partition("?")[0].format(client_id="...")]


def test_t170_an_id_does_not_reach_into_the_secret() -> None:
    with loopback_allowed(), Server() as server:
        call = DescribedCall(f"{server.url}/end", auth="client_secret_basic")
        with pytest.raises(oauth.ProviderError, match="client id"):
            described_call.send(call, {"client_id": "id:secret", "client_secret": "x"})
        assert server.requests == []


def test_t170_nothing_is_sent_to_a_host_that_a_value_names() -> None:
    call = DescribedCall("https://{access_token}/x", auth="bearer")
    with pytest.raises(oauth.ProviderError, match="not complete"):
        described_call.send(call, {"access_token": "evil.example.com"})


@pytest.mark.parametrize(
    "expired",
    [
        json_response({}, 401),
        json_response({"ok": False, "error": "token_expired"}),
        json_response({"status": 400, "message": "Invalid token"}, 400),
        json_response({"message": "Not Found"}, 404),
    ],
    ids=["401", "slack", "twitch", "github"],
)
def test_t86_an_expired_access_token_is_refreshed_to_end_the_grant(expired: Response) -> None:
    with loopback_allowed(), Server() as server:

        def answer(request: Request) -> Response:
            if request.path == "/token":
                return json_response({"access_token": "fresh", "token_type": "Bearer"})
            return expired if request.headers["authorization"] == "Bearer old" else json_response({"ok": True})

        server.scripted["unknown"] = answer
        calls = oauth.Quirks(revoke_call=DescribedCall(f"{server.url}/end", auth="bearer", done=(404,)))
        config = OAuthProvider(
            "drive", "Drive", "elicit", Secret("s3cret"),
            authorize_url=f"{server.url}/a", token_url=f"{server.url}/token", quirks=calls,
        )  # fmt: skip
        assert revoke_grant(config, Secret("old"), Secret("rt"))
        assert [request.path for _, request in server.requests] == ["/end", "/token", "/end"]
        kept: list[str] = []
        assert revoke_grant(config, None, Secret("rt"), keep=lambda new: kept.append(new.access_token.reveal()))
        assert kept == ["fresh"], "as of tokens that were imported, or have expired"
        assert [request.path for _, request in server.requests][3:] == ["/token", "/end"]
        assert not revoke_grant(config, None, None)
        is_an_error = expired.status != 404  # without another token, no grant is no grant
        with pytest.raises(oauth.ProviderError) if is_an_error else nullcontext():
            revoke_grant(config, Secret("old"), None)
        server.scripted["unknown"] = lambda request: (
            json_response({"error": "invalid_grant"}, 400) if request.path == "/token" else expired
        )
        assert revoke_grant(config, Secret("old"), Secret("rt")), "it has ended already"
