"""T83, T84: which tokens are given out, and what each answer of the provider means."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.db import connections, transaction

from elicit_flows import vault
from elicit_flows.domain.errors import ProviderUnavailable, ReauthorizationRequired
from elicit_flows.domain.values import Grant
from elicit_flows.lib import clock
from elicit_flows.models import Connection
from elicit_flows.models import Provider as ProviderRow
from elicit_flows.vault import connections as kept
from elicit_flows.vault import tokens
from tests.doubles.provider import Provider
from tests.doubles.server import Request, Response, json_response
from tests.support import rows
from tests.support.moving import MovingClock
from tests.support.rows import Known
from tests.vault.refreshing import access_token_of, now, told


def test_a_fresh_token_is_given_out_as_it_is(known: Known, drive_row: ProviderRow, double: Provider) -> None:
    given = rows.grant(double)
    row = rows.connection(known, drive_row, given)
    answer = vault.token(known.row, row.pk)
    assert answer["access_token"] == given.access_token.reveal()
    assert double.calls["token"] == 0


def test_an_expired_token_is_refreshed_and_the_agent_told(known: Known, held: Connection, double: Provider) -> None:
    answer = vault.token(known.row, held.pk)
    assert double.live(answer["access_token"])
    assert (double.calls["token"], now(held).generation, told(held)) == (1, 2, ["connection.refreshed"])
    assert vault.token(known.row, held.pk)["access_token"] == answer["access_token"]
    assert double.calls["token"] == 1


@pytest.mark.parametrize(
    ("life", "left", "min_ttl", "refreshed"),
    [
        (3600, 61, 60, False), (3600, 59, 60, True), (3600, 600, 0, False), (3600, 1000, 1200, True),
        (3600, 1801, 86400, False), (3600, 1799, 86400, True), (60, 31, 60, False), (60, 29, 60, True),
        (3600, -1, 0, True),
        (3600, 61, None, False), (3600, 59, None, True), (60, 7, None, False), (60, 5, None, True),
    ],
)  # fmt: skip
def test_min_ttl_is_kept_as_far_as_half_a_tokens_life(
    known: Known, held: Connection, double: Provider, life: int, left: int, min_ttl: int | None, refreshed: bool
) -> None:
    ends = clock.now() + timedelta(seconds=left)
    Connection.objects.filter(pk=held.pk).update(issued_at=ends - timedelta(seconds=life), expires_at=ends)
    vault.token(known.row, held.pk, min_ttl)
    assert double.calls["token"] == (1 if refreshed else 0)


def test_a_token_without_an_end_is_never_refreshed(known: Known, held: Connection, double: Provider) -> None:
    Connection.objects.filter(pk=held.pk).update(expires_at=None)
    assert vault.token(known.row, held.pk, 86400)["expires_at"] is None
    assert double.calls["token"] == 0


def test_without_refresh_token_the_access_token_serves_to_its_end(known: Known, drive_row: ProviderRow) -> None:
    given = rows.grant()
    bare = Grant(given.access_token, None, "Bearer", given.expires_at, given.scopes, "alice", "alice")
    row = rows.connection(known, drive_row, bare)
    assert vault.token(known.row, row.pk, 86400)["access_token"] == given.access_token.reveal()
    rows.expire(row)
    with pytest.raises(ReauthorizationRequired):
        vault.token(known.row, row.pk)
    assert told(row) == ["connection.reauthorization_required"]


def test_t83_a_refresh_without_new_refresh_token_keeps_the_old_one(
    known: Known, held: Connection, double: Provider
) -> None:
    double.rotates, double.reply = False, {"refresh_token": None}
    for _ in range(3):
        rows.expire(held)
        assert double.live(vault.token(known.row, held.pk)["access_token"])
    assert (double.calls["token"], now(held).generation) == (3, 4)


def test_t84_a_provider_in_trouble_is_no_dead_grant(
    known: Known, held: Connection, double: Provider, moving_clock: MovingClock
) -> None:
    double.scripted["token"] = Response(503, b"out of order")
    for number in range(20):
        moving_clock.forward(seconds=3)
        with pytest.raises(ProviderUnavailable) as refused:
            vault.token(known.row, held.pk)
        assert refused.value.retry_after
        assert double.calls["token"] == number + 1
    assert (now(held).status, told(held)) == ("active", [])
    del double.scripted["token"]
    moving_clock.forward(seconds=3)
    assert double.live(vault.token(known.row, held.pk)["access_token"])


def test_t84_while_the_provider_is_in_trouble_a_living_token_is_given_out(
    known: Known, held: Connection, double: Provider
) -> None:
    Connection.objects.filter(pk=held.pk).update(expires_at=clock.now() + timedelta(seconds=30))
    double.scripted["token"] = Response(500)
    before = access_token_of(held)
    assert vault.token(known.row, held.pk, 60)["access_token"] == before


def test_t84_whoever_has_a_living_token_waits_for_a_provider_in_trouble_no_second_time(
    known: Known, held: Connection, double: Provider, moving_clock: MovingClock
) -> None:
    Connection.objects.filter(pk=held.pk).update(expires_at=clock.now() + timedelta(seconds=50))
    double.scripted["token"] = Response(500)
    for _ in range(3):
        vault.token(known.row, held.pk, 60)
        moving_clock.forward(seconds=3)
    assert double.calls["token"] == 1
    moving_clock.forward(seconds=20)
    del double.scripted["token"]
    assert double.live(vault.token(known.row, held.pk, 60)["access_token"])
    assert now(held).generation == 2


def test_t84_a_provider_in_trouble_is_asked_once_in_two_seconds(
    known: Known, held: Connection, double: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "WAIT_FOR_REFRESH", 0.3)
    double.scripted["token"] = Response(503)
    for _ in range(4):
        with pytest.raises(ProviderUnavailable):
            vault.token(known.row, held.pk)
    assert double.calls["token"] == 1


def test_who_waits_for_another_callers_refresh_looks_less_and_less_often(
    known: Known, held: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows.expire(held)
    Connection.objects.update(refresh_lease_until=clock.now() + timedelta(hours=1))
    slept: list[float] = []
    moving = SimpleNamespace(sleep=slept.append, monotonic=lambda: sum(slept))
    monkeypatch.setattr("elicit_flows.vault.tokens.time", moving)
    with pytest.raises(ProviderUnavailable, match="slow to refresh"):
        vault.token(known.row, held.pk)
    assert slept[0] == 0.05
    assert len(slept) < 100, "in 35 seconds"
    assert max(slept) <= 0.4


def test_t84_a_refusal_counts_only_if_nobody_was_quicker(known: Known, held: Connection, double: Provider) -> None:
    """The provider refuses the old refresh token because another process has just used it and written the new one."""
    peers = rows.grant(double)

    def refuse(request: Request) -> Response:
        with transaction.atomic():
            kept.store_tokens(row := now(held), peers)
            row.save()
        connections.close_all()
        return json_response({"error": "invalid_grant"}, 400)

    double.scripted["token"] = refuse
    assert vault.token(known.row, held.pk)["access_token"] == peers.access_token.reveal()
    assert (now(held).status, told(held)) == ("active", [])


def test_t84_a_dead_grant_is_told_once_and_asked_no_more(known: Known, held: Connection, double: Provider) -> None:
    double.scripted["token"] = json_response({"error": "invalid_grant"}, 400)
    for _ in range(3):
        with pytest.raises(ReauthorizationRequired):
            vault.token(known.row, held.pk)
    assert (double.calls["token"], told(held)) == (1, ["connection.reauthorization_required"])
