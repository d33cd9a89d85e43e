"""T136: a grant that has ended is recognised, in whatever words the provider reports it."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from django.conf import settings
from django.db import connections as databases

from elicit_flows import catalogue, vault
from elicit_flows.domain.errors import ProviderUnavailable, ReauthorizationRequired
from elicit_flows.lib import clock
from elicit_flows.models import Connection
from elicit_flows.models import Provider as ProviderRow
from elicit_flows.vault import refresh
from tests.doubles.provider import Provider
from tests.doubles.server import Response, json_response
from tests.support import jobs, rows
from tests.support.moving import MovingClock
from tests.support.rows import Known
from tests.support.serving import Served
from tests.vault.refreshing import access_token_of, now, told

DEAD = ["connection.reauthorization_required"]
# The preset, the status and the answer of this provider to a refresh token of a dead grant.
WORDS: dict[str, tuple[int, Any]] = {
    "hubspot": (400, {"status": "BAD_REFRESH_TOKEN", "message": "missing or unknown refresh token"}),
    "slack": (200, {"ok": False, "error": "invalid_refresh_token"}),
    "github": (200, {"error": "bad_refresh_token", "error_description": "The refresh token passed is incorrect."}),
    "google": (400, {"error": "invalid_grant", "error_description": "Token has been expired or revoked."}),
    "atlassian": (403, {"error": "invalid_grant", "error_description": "Unknown or invalid refresh token."}),
}
UNKNOWN = json_response({"status": "NO_SUCH_THING", "message": "what was this?"}, 400)


@pytest.fixture
def preset(drive_row: ProviderRow, request: pytest.FixtureRequest) -> ProviderRow:
    """The double, with the preset of a provider beside its addresses."""
    drive_row.preset, drive_row.given = request.param, ["authorize_url", "token_url", "token_auth", "scopes"]
    vault.seal_client_secret(drive_row, vault.client_secret(drive_row))  # for these hosts
    drive_row.save()
    return drive_row


@pytest.mark.parametrize("preset", WORDS, indirect=True)
def test_t136_the_providers_own_words_end_a_grant_at_once_and_the_agent_is_told_once(
    preset: ProviderRow, known: Known, held: Connection, double: Provider
) -> None:
    double.reply = {"token_type": None} if preset.preset == "slack" else {}
    status, body = WORDS[preset.preset]
    double.scripted["token"] = json_response(body, status)
    for _ in range(3):
        with pytest.raises(ReauthorizationRequired):
            vault.token(known.row, held.pk)
    assert (told(held), double.calls["token"]) == (DEAD, 1)
    assert now(held).last_refresh_error in ("invalid_grant", "bad_refresh_token")


@pytest.mark.parametrize(
    "preset",
    [
        slug
        for slug, entry in catalogue.entries().items()
        if any(one.fact == "dead_grant" for one in entry.undocumented)
    ],
    indirect=True,
)
def test_t136_where_a_provider_documents_no_words_the_word_of_the_rfc_ends_a_grant(
    preset: ProviderRow, known: Known, held: Connection, double: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = catalogue.entries()[preset.preset]
    here = entry.endpoints.model_copy(update={"refresh": None})  # Figma's is another address than the double's
    monkeypatch.setattr(catalogue, "find", lambda slug: entry.model_copy(update={"endpoints": here}))
    double.scripted["token"] = json_response({"error": "invalid_grant"}, 400)
    with pytest.raises(ReauthorizationRequired):
        vault.token(known.row, held.pk)
    assert (told(held), now(held).last_refresh_error) == (DEAD, "invalid_grant")


def test_t136_a_grant_that_answers_for_another_account_ends_as_if_refused(
    known: Known, held: Connection, double: Provider, moving_clock: MovingClock
) -> None:
    """Only who connects again can help. The answer is not used (OpenID Connect Core, 12.2)."""
    said = json.dumps({"iss": "https://drive.example", "aud": double.client_id, "sub": "mallory"}).encode()
    double.rotates = False
    double.reply = {"id_token": f"e30.{base64.urlsafe_b64encode(said).decode().rstrip('=')}.c2ln"}
    with pytest.raises(ProviderUnavailable):
        vault.token(known.row, held.pk)
    assert (now(held).refresh_refusals, now(held).last_refresh_error) == (1, "identity_changed")
    refuse_for(moving_clock, held, 75)
    assert (now(held).status, told(held)) == ("reauthorization_required", DEAD)


def test_t136_an_operator_names_the_words_of_a_provider_that_is_in_no_catalogue(
    drive_row: ProviderRow, known: Known, held: Connection, double: Provider
) -> None:
    double.scripted["token"] = json_response({"error": {"code": 190, "message": "gone"}}, 400)
    drive_row.dead_grant = [{"status": 400, "path": ["error", "code"], "words": ["190"]}]
    drive_row.save()
    with pytest.raises(ReauthorizationRequired):
        vault.token(known.row, held.pk)
    assert told(held) == DEAD


@pytest.mark.parametrize("preset", ["hubspot"], indirect=True)
@pytest.mark.parametrize("status", [429, 500, 503])
def test_t84_its_words_count_for_nothing_while_the_provider_is_in_trouble(
    preset: ProviderRow, known: Known, held: Connection, double: Provider, status: int
) -> None:
    double.scripted["token"] = json_response({"status": "BAD_REFRESH_TOKEN"}, status)
    with pytest.raises(ProviderUnavailable):
        vault.token(known.row, held.pk)
    assert (now(held).status, now(held).refresh_refusals) == ("active", 0)


def refuse_for(clock: MovingClock, row: Connection, hours: float) -> None:
    """The worker asks as often as it does, until the connection is over or so much time has gone."""
    gone = 0.0
    while gone < hours and now(row).status == "active":
        clock.forward(minutes=20)
        gone += 1 / 3
        jobs.refresh_due()


def test_t136_a_refusal_that_nobody_knows_ends_a_grant_after_a_time_and_a_number_of_tries(
    known: Known, held: Connection, double: Provider, moving_clock: MovingClock
) -> None:
    double.scripted["token"] = UNKNOWN
    with pytest.raises(ProviderUnavailable) as refused:
        vault.token(known.row, held.pk)
    assert "once since" in refused.value.detail
    assert "(no_such_thing)" in refused.value.detail
    assert refused.value.retry_after
    refuse_for(moving_clock, held, 71)
    assert (now(held).status, now(held).health, told(held)) == ("active", "failing", [])
    asked = double.calls["token"]
    assert settings.ELICIT_REFUSED_TRIES < asked < 150, "often enough to count, and not as often as it could"
    refuse_for(moving_clock, held, 4)
    assert (now(held).status, now(held).last_refresh_error) == ("reauthorization_required", "no_such_thing")
    with pytest.raises(ReauthorizationRequired):
        vault.token(known.row, held.pk)
    assert told(held) == DEAD


def test_t136_time_alone_does_not_do_and_tries_alone_do_not(
    known: Known, held: Connection, double: Provider, moving_clock: MovingClock
) -> None:
    double.scripted["token"] = UNKNOWN
    for _ in range(settings.ELICIT_REFUSED_TRIES - 1):
        moving_clock.forward(hours=24)
        with pytest.raises(ProviderUnavailable):
            vault.token(known.row, held.pk)
    assert (now(held).status, now(held).refresh_refusals) == ("active", settings.ELICIT_REFUSED_TRIES - 1)
    Connection.objects.filter(pk=held.pk).update(refused_since=clock.now())
    for _ in range(3):
        moving_clock.forward(hours=2)
        with pytest.raises(ProviderUnavailable):
            vault.token(known.row, held.pk)
    assert now(held).status == "active"


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"error": True, "status": 400, "message": "Bad refresh token", "i18n": None}, "unknown_error"),
        ({"status": 400, "code": "oauthError", "message": "No such token", "type": "error"}, "oautherror"),
    ],
    ids=["Figma", "Miro"],
)
def test_t136_errors_of_their_own_shape_are_counted_as_refusals(
    known: Known, held: Connection, double: Provider, body: Any, named: str
) -> None:
    """As these two answer other mistakes; what they answer here is documented nowhere."""
    double.scripted["token"] = json_response(body, 400)
    with pytest.raises(ProviderUnavailable) as refused:
        vault.token(known.row, held.pk)
    assert named in refused.value.detail
    assert (now(held).status, now(held).refresh_refusals) == ("active", 1)


def test_t136_a_refusal_is_not_asked_for_again_before_its_time(
    known: Known, held: Connection, double: Provider, moving_clock: MovingClock
) -> None:
    double.scripted["token"] = UNKNOWN
    for _ in range(10):
        with pytest.raises(ProviderUnavailable) as refused:
            vault.token(known.row, held.pk)
        assert refused.value.retry_after
    assert double.calls["token"] == 1
    moving_clock.forward(seconds=refused.value.retry_after + 1)
    del double.scripted["token"]
    assert double.live(vault.token(known.row, held.pk)["access_token"])
    healed = now(held)
    assert (healed.health, healed.refresh_refusals, healed.refused_since) == ("ok", 0, None)


@pytest.mark.parametrize(
    "answer",
    [
        Response(500), Response(503), Response(429), Response(408), Response(404), json_response({}, 405),
        json_response({"error": "invalid_client"}, 401), json_response({"error": "unauthorized_client"}, 400),
        json_response({"error": "access_denied", "error_description": "Unauthorized"}, 401),
        json_response({"ok": False, "error": "ratelimited"}), json_response({"ok": False, "error": "internal_error"}),
        json_response({"ok": False, "error": "bad_client_secret"}), Response(200, b"{}"),
        Response(403, b"<html>wait", {"Retry-After": "60", "Content-Type": "text/html"}),
    ],
)  # fmt: skip
def test_t84_what_is_not_about_the_grant_never_ends_it(
    known: Known, held: Connection, double: Provider, moving_clock: MovingClock, answer: Response
) -> None:
    double.scripted["token"] = answer
    for _ in range(settings.ELICIT_REFUSED_TRIES + 3):
        moving_clock.forward(hours=48)
        with pytest.raises(ProviderUnavailable) as said:
            vault.token(known.row, held.pk)
        assert said.value.retry_after
    assert (now(held).status, told(held)) == ("active", [])


def test_t136_a_refusal_is_counted_in_the_row_and_by_its_own_claim_alone(
    known: Known, held: Connection, double: Provider, moving_clock: MovingClock
) -> None:
    """A process that dies before it records a refusal has counted nothing. One that was overtaken records nothing."""
    double.scripted["token"] = UNKNOWN
    row = now(held)
    assert refresh.claim(row)
    refresh.ask(row)
    assert now(held).refresh_refusals == 0
    moving_clock.forward(minutes=5)
    jobs.refresh_due()
    assert now(held).refresh_refusals == 1
    refresh.settle(row, refresh.ask(row))
    assert now(held).refresh_refusals == 1


def test_t136_two_that_see_the_last_refusal_tell_of_one_end(
    known: Known, held: Connection, double: Provider, moving_clock: MovingClock
) -> None:
    double.scripted["token"] = UNKNOWN
    Connection.objects.filter(pk=held.pk).update(refresh_refusals=50, refused_since=clock.now())
    moving_clock.forward(hours=80)
    row = refresh.read(held)
    assert refresh.claim(row)
    outcome = refresh.ask(row)
    refresh.settle(row, outcome)
    refresh.settle(row, outcome)
    databases.close_all()
    assert (now(held).status, told(held)) == ("reauthorization_required", DEAD)


@pytest.mark.parametrize("expires", [True, False])
def test_t136_a_report_and_a_refused_refresh_do_not_go_round_in_a_circle(
    served: Served, known: Known, drive_row: ProviderRow, double: Provider, moving_clock: MovingClock, expires: bool
) -> None:
    """The agent follows the guide. The refused token is not given out again, and after some hours the user is asked."""
    row = rows.connection(known, drive_row, rows.grant(double, expires_in=30 * 86400))
    if not expires:
        Connection.objects.filter(pk=row.pk).update(expires_at=None)
    moving_clock.forward(minutes=1)
    dead = access_token_of(row)
    double.scripted["token"] = UNKNOWN
    with known.client(served.url) as client:
        given, waited = 0, 0.0
        while waited < 6 * 3600:
            answer = client.post(f"/v1/connections/{row.pk}/token")
            if answer.status_code == 409:
                break
            if answer.status_code == 200:
                given += answer.json()["access_token"] == dead
                client.post(f"/v1/connections/{row.pk}/report", json={"status": 401})
                continue
            assert (answer.status_code, answer.json()["code"]) == (503, "provider_unavailable")
            pause = int(answer.headers["retry-after"])
            moving_clock.forward(seconds=pause)
            waited += pause
        assert answer.json()["code"] == "reauthorization_required"
    assert given == 1
    assert 3600 <= waited < 3 * 3600
    assert told(row) == DEAD
    assert double.calls["token"] < 20


def test_a_report_that_a_refresh_heals_leaves_nothing_behind(
    known: Known, drive_row: ProviderRow, double: Provider, moving_clock: MovingClock
) -> None:
    row = rows.connection(known, drive_row, rows.grant(double))
    moving_clock.forward(minutes=1)
    double.scripted["token"] = UNKNOWN
    asked = {"provider": "drive", "scopes": ["files.read"]}
    assert vault.existing_connection(known.row, rows.ALICE_CLAIM, drive_row, asked)
    assert vault.report_rejected_token(known.row, row.pk).withheld
    assert vault.existing_connection(known.row, rows.ALICE_CLAIM, drive_row, asked) is None, (
        "a new question asks the user"
    )
    with pytest.raises(ProviderUnavailable):
        vault.token(known.row, row.pk)
    del double.scripted["token"]
    moving_clock.forward(minutes=1)
    assert not vault.report_rejected_token(known.row, row.pk).withheld
    assert double.live(vault.token(known.row, row.pk)["access_token"])
    assert told(row) == ["connection.refreshed"]


def test_t136_no_secret_that_a_provider_repeats_is_told_or_logged(
    known: Known, held: Connection, double: Provider, moving_clock: MovingClock, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(request: Any) -> Response:
        token, secret = request.form["refresh_token"], double.client_secret
        said = {"message": f"refresh token {token} of {secret} is unknown, see sk_live_4242424242424242424242"}
        return json_response({"error": {"type": token, "errors": [said]}, "code": token}, 400)

    double.scripted["token"] = refuse
    with pytest.raises(ProviderUnavailable) as refused:
        vault.token(known.row, held.pk)
    request = double.seen("token")[-1]
    for secret in (request.form["refresh_token"], double.client_secret or "", "sk_live_42"):
        assert secret not in refused.value.detail + caplog.text + now(held).last_refresh_error
    assert "refresh token *** of *** is unknown" in caplog.text
