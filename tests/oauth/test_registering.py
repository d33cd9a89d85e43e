"""This service registers itself at a provider, once, and anew when it was forgotten (RFC 7591)."""

from __future__ import annotations

from contextlib import suppress

import httpx2
import pytest
from django.conf import settings
from django.db import connections

from elicit_flows import elicitations, vault
from elicit_flows.domain.errors import ProviderUnavailable, ReauthorizationRequired, StartAgain
from elicit_flows.domain.values import Answer
from elicit_flows.models import Connection, Elicitation, Registration
from elicit_flows.models import Provider as ProviderRow
from tests.doubles.mcp_server import McpServer
from tests.doubles.provider import Provider
from tests.doubles.server import Request, Response, json_response
from tests.oauth import test_mcp_servers as servers
from tests.oauth.journey import BROWSER, ask, come_back, connect, press, query
from tests.support import dump, rows
from tests.support.moving import MovingClock
from tests.support.rows import Known
from tests.support.serving import Served


@pytest.fixture
def unknown(double: Provider, drive_row: ProviderRow) -> Provider:
    """A provider that has not heard of this service."""
    double.metadata = {"registration_endpoint": f"{double.url}/register"}
    ProviderRow.objects.filter(pk=drive_row.pk).update(registration="dynamic", client_id="", client_secret="")
    return double


def test_the_first_to_leave_has_it_registered_and_nobody_after(known: Known, unknown: Provider) -> None:
    assert connect(unknown, known).status == "completed"
    sent = unknown.seen("register")[0].body.decode()
    assert "/callback/drive" in sent
    rows.expire(Connection.objects.get())
    assert vault.token(known.row, Connection.objects.get().pk)["access_token"]
    assert connect(unknown, known, reuse="never").status == "completed"
    assert unknown.calls["register"] == 1


def test_t75_the_secret_that_was_given_is_sealed(known: Known, unknown: Provider, committed_database: str) -> None:
    connect(unknown, known)
    assert unknown.client_secret
    assert unknown.client_secret not in dump.database(committed_database)


def test_t26_of_two_who_come_at_once_one_registers(known: Known, unknown: Provider) -> None:
    row = ask(known)

    def another_comes(request: Request) -> Response:
        with pytest.raises(ProviderUnavailable, match="is being registered"):
            press(row, "another-press")
        connections.close_all()
        return unknown._registered(request)

    unknown.scripted["register"] = another_comes
    press(row)
    assert unknown.calls["register"] == 1
    assert Registration.objects.get().client_id == unknown.client_id


def test_after_a_failure_the_next_press_tries_again(known: Known, unknown: Provider) -> None:
    row = ask(known)
    unknown.scripted["register"] = Response(503)
    with pytest.raises(ProviderUnavailable):
        press(row)
    del unknown.scripted["register"]
    assert come_back(unknown, row, press(row)).status == "completed"


def test_whoever_died_while_registering_is_overtaken(
    known: Known, unknown: Provider, drive_row: ProviderRow, moving_clock: MovingClock
) -> None:
    assert vault.client_registration._claim(drive_row)
    with pytest.raises(ProviderUnavailable):
        press(ask(known))
    moving_clock.forward(seconds=31)
    assert connect(unknown, known).status == "completed"


def test_forgotten_by_the_provider_it_registers_anew(known: Known, unknown: Provider) -> None:
    connect(unknown, known)
    row = ask(known, reuse="never")
    url = press(row)
    unknown._registered(unknown.seen("register")[0])  # another client took its place
    unknown.codes["a-code"] = unknown.codes[next(iter(unknown.codes))]
    with pytest.raises(StartAgain):
        come_back_with(row, query(url)["state"], unknown)
    assert not Registration.objects.exists()
    assert come_back(unknown, row, press(row, "again")).status == "completed"
    assert unknown.calls["register"] == 2


def deployed_anew(double: Provider) -> None:
    """It knows no client and no token any more, and tells only a token request so, not a browser."""
    double.client_id, double.client_secret = "another", "of-another"
    double.tokens.clear()


@pytest.mark.parametrize("said", ["invalid_client", "unauthorized_client"])
def test_a_refresh_that_finds_it_forgotten_lets_the_next_person_register_anew(
    known: Known, unknown: Provider, said: str
) -> None:
    """The second word is what MCP's Python SDK said until 2025 (modelcontextprotocol/python-sdk#1480)."""
    connect(unknown, known)
    row = Connection.objects.get()
    rows.expire(row)
    deployed_anew(unknown)
    unknown.scripted["token"] = json_response({"error": said}, 401)
    with pytest.raises(ProviderUnavailable):
        vault.token(known.row, row.pk)
    asked = ask(known)
    assert (asked.status, asked.reused) == ("pending", False), "this connection gives no token"
    url = press(asked)
    assert unknown.calls["register"] == 2
    del unknown.scripted["token"]
    assert come_back(unknown, asked, url).result["connection"] == row.pk
    assert unknown.live(vault.token(known.row, row.pk)["access_token"])


def test_the_same_at_the_authorization_server_of_an_mcp_server(double: Provider, committed: None) -> None:
    double.metadata = {"registration_endpoint": f"{double.url}/register"}
    known = servers.allowed("*")
    with McpServer(double.issuer) as server:
        servers.connect(double, known, server)
        row = Connection.objects.get()
        rows.expire(row)
        deployed_anew(double)
        with pytest.raises(ProviderUnavailable):
            vault.token(known.row, row.pk)
        asked = servers.ask_for(known, server)
        assert not asked.reused
        url = servers.press(asked)
    assert query(url)["client_id"] == double.client_id == Registration.objects.get().client_id


def test_one_odd_answer_to_a_refresh_costs_nobody_a_connection(
    known: Known, unknown: Provider, moving_clock: MovingClock
) -> None:
    connect(unknown, known)
    row = Connection.objects.get()
    rows.expire(row)
    unknown.scripted["token"] = json_response({"error": "invalid_client"}, 401)
    with pytest.raises(ProviderUnavailable):
        vault.token(known.row, row.pk)
    del unknown.scripted["token"]
    press(ask(known))
    assert unknown.calls["register"] == 1, "asked again, the provider knew it"
    moving_clock.forward(minutes=1)
    assert unknown.live(vault.token(known.row, row.pk)["access_token"])


def test_who_only_fetches_tokens_learns_that_the_client_is_gone(
    known: Known, unknown: Provider, moving_clock: MovingClock
) -> None:
    connect(unknown, known)
    row = Connection.objects.get()
    deployed_anew(unknown)
    for _ in range(settings.ELICIT_REFUSED_TRIES):
        moving_clock.forward(hours=48)
        with suppress(ProviderUnavailable, ReauthorizationRequired):
            vault.token(known.row, row.pk)
    row.refresh_from_db()
    assert (row.status, row.last_refresh_error) == ("reauthorization_required", "invalid_client")
    press(ask(known))
    assert unknown.calls["register"] == 2


def come_back_with(row: Elicitation, state: str, double: Provider) -> None:
    fields = {"state": [state], "code": ["a-code"], "iss": [double.issuer]}
    elicitations.resume("drive", Answer(fields), row.claim, BROWSER)


def test_the_document_says_who_we_are_to_anybody(known: Known, drive_row: ProviderRow, served: Served) -> None:
    with httpx2.Client(base_url=served.url, trust_env=False) as anybody:
        assert anybody.get("/oauth/drive/client.json").status_code == 404
        ProviderRow.objects.filter(pk=drive_row.pk).update(registration="document", token_auth="none")
        answer = anybody.get("/oauth/drive/client.json")
    said = answer.json()
    assert said["client_id"].endswith("/oauth/drive/client.json")
    assert said["redirect_uris"] == [said["client_id"].replace("/oauth/drive/client.json", "/callback/drive")]
    assert said["token_endpoint_auth_method"] == "none"
    assert "secret" not in answer.text.replace("client_secret", "")
    drive_row.refresh_from_db()
    assert query(press(ask(known)))["client_id"] == said["client_id"]
