"""T80, T84: reports of refused tokens: several reports of one token cause one request to the provider."""

from __future__ import annotations

import pytest
from django.db import transaction

from elicit_flows import vault
from elicit_flows.domain.errors import NotFound, ReauthorizationRequired
from elicit_flows.domain.values import Grant, Secret
from elicit_flows.lib import clock
from elicit_flows.models import Connection
from elicit_flows.models import Provider as ProviderRow
from tests.doubles.provider import Provider
from tests.doubles.server import Response, json_response
from tests.support import rows
from tests.support.moving import MovingClock
from tests.support.rows import Known
from tests.support.serving import Served
from tests.vault.refreshing import access_token_of, meanwhile, now, told


@pytest.fixture
def refused(known: Known, drive_row: ProviderRow, double: Provider, moving_clock: MovingClock) -> Connection:
    """A connection whose token the provider does not take any more, though it has an hour to live."""
    row = rows.connection(known, drive_row, rows.grant(double))
    moving_clock.forward(seconds=31)
    return row


def test_a_reported_token_is_refreshed_at_once_and_the_connection_answered(
    served: Served, known: Known, drive_row: ProviderRow, refused: Connection, double: Provider
) -> None:
    before = access_token_of(refused)
    with known.client(served.url) as client:
        answer = client.post(f"/v1/connections/{refused.pk}/report", json={"status": 401})
        assert (answer.status_code, answer.json()["status"], answer.json()["health"]) == (200, "active", "ok")
        assert answer.json()["id"] == refused.pk
        assert answer.json() == client.get("/v1/connections").json()["data"][0]
        token = client.post(f"/v1/connections/{refused.pk}/token").json()["access_token"]
        assert token != before
        assert double.live(token)
        for body in ({"status": 403}, {"status": "401"}, {}, {"status": 401, "token": "x"}):
            wrong = client.post(f"/v1/connections/{refused.pk}/report", json=body)
            assert wrong.status_code == 422, body
    with rows.agent().client(served.url) as stranger:
        assert stranger.post(f"/v1/connections/{refused.pk}/report", json={"status": 401}).status_code == 404
    assert (double.calls["token"], told(refused)) == (1, ["connection.refreshed"])


def test_t80_an_agent_in_a_loop_asks_the_provider_once_in_thirty_seconds(
    known: Known, refused: Connection, double: Provider, moving_clock: MovingClock
) -> None:
    for expected in (1, 2):
        for _ in range(10):
            vault.report_rejected_token(known.row, refused.pk)
        assert double.calls["token"] == expected
        moving_clock.forward(seconds=31)
    double.scripted["token"] = Response(503)
    for _ in range(10):
        vault.report_rejected_token(known.row, refused.pk)
    assert double.calls["token"] == 3, "a try that failed counts as well"


def test_a_token_that_is_younger_than_the_report_is_left_alone(
    known: Known, drive_row: ProviderRow, double: Provider
) -> None:
    row = rows.connection(known, drive_row, rows.grant(double))
    assert vault.report_rejected_token(known.row, row.pk).status == "active"
    assert double.calls["token"] == 0


def test_t84_a_report_while_the_provider_is_down_kills_nothing(
    known: Known, refused: Connection, double: Provider
) -> None:
    double.scripted["token"] = Response(503)
    said = vault.report_rejected_token(known.row, refused.pk).summary()
    assert (said["status"], said["health"], said["last_refresh_error"]) == ("active", "failing", "provider_unavailable")
    assert told(refused) == []


def test_a_dead_grant_is_told_with_what_the_agent_needs_to_ask_anew(
    known: Known, refused: Connection, double: Provider
) -> None:
    double.scripted["token"] = json_response({"error": "invalid_grant"}, 400)
    said = vault.report_rejected_token(known.row, refused.pk).summary()
    assert (said["status"], said["last_refresh_error"]) == ("reauthorization_required", "invalid_grant")
    event = known.row.event_set.get()
    assert event.type == "connection.reauthorization_required"
    assert event.data == said
    asked_anew = {"provider": "drive", "subject": {"iss": rows.ISSUER, "sub": "alice"}, "scopes": ["files.read"]}
    assert asked_anew.items() <= event.data.items()
    assert event.data["account"]["id"] == "alice"
    assert vault.report_rejected_token(known.row, refused.pk).status == "reauthorization_required"
    assert (double.calls["token"], len(told(refused))) == (1, 1)


def test_without_refresh_token_a_report_ends_the_connection(
    known: Known, drive_row: ProviderRow, double: Provider, moving_clock: MovingClock
) -> None:
    given = rows.grant()
    bare = Grant(given.access_token, None, "Bearer", None, given.scopes, "alice", "alice")
    row = rows.connection(known, drive_row, bare)
    moving_clock.forward(seconds=31)
    assert vault.report_rejected_token(known.row, row.pk).status == "reauthorization_required"
    assert (told(row), double.calls["token"]) == (["connection.reauthorization_required"], 0)


def test_typed_credentials_that_were_refused_are_typed_anew(known: Known, moving_clock: MovingClock) -> None:
    at = rows.provider(slug="keys", sort="credentials")
    named = {"key": Secret("one")}
    row = vault.keep_credentials(known.row, rows.ALICE_CLAIM, at, "", named)
    moving_clock.forward(seconds=31)
    assert vault.report_rejected_token(known.row, row.pk).status == "reauthorization_required"
    with pytest.raises(ReauthorizationRequired):
        vault.open_credentials(known.row, row.pk)
    vault.keep_credentials(known.row, rows.ALICE_CLAIM, at, "", {"key": Secret("two")})
    assert vault.open_credentials(known.row, row.pk) == {"fields": {"key": "two"}}


def test_credentials_without_a_provider_too(known: Known, moving_clock: MovingClock) -> None:
    with transaction.atomic():
        row = vault.keep_credentials(known.row, rows.ALICE_CLAIM, None, "API key", {"key": Secret("one")})
    moving_clock.forward(seconds=31)
    assert vault.report_rejected_token(known.row, row.pk).status == "reauthorization_required"
    assert told(row) == ["connection.reauthorization_required"]


def test_a_provider_that_is_switched_off_is_not_asked(
    known: Known, refused: Connection, drive_row: ProviderRow, double: Provider
) -> None:
    drive_row.enabled = False
    drive_row.save()
    assert vault.report_rejected_token(known.row, refused.pk).status == "active"
    assert double.calls["token"] == 0


def test_a_report_during_a_refresh_waits_for_nobody_and_asks_nobody(
    known: Known, refused: Connection, double: Provider
) -> None:
    rows.expire(refused)
    seen: list[str] = []
    meanwhile(double, lambda: seen.append(vault.report_rejected_token(known.row, refused.pk).status))
    vault.token(known.row, refused.pk)
    assert (seen, double.calls["token"]) == (["active"], 1)


def test_what_is_not_the_agents_or_is_revoked(known: Known, refused: Connection, double: Provider) -> None:
    with pytest.raises(NotFound):
        vault.report_rejected_token(rows.agent().row, refused.pk)
    vault.revoke(now(refused))
    said = vault.report_rejected_token(known.row, refused.pk).summary()
    assert (said["status"], said["health"], said["next_refresh_at"]) == ("revoked", "revoked", None)
    assert double.calls["token"] == 0
    assert clock.now() > refused.created_at
