"""T80, T81, T82, T85: a token is refreshed once, whatever happens to the process that refreshes it."""

from __future__ import annotations

import secrets
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections

from elicit_flows import vault
from elicit_flows.domain.errors import ConnectionRevoked, FlowError, ProviderUnavailable, ReauthorizationRequired
from elicit_flows.domain.values import Json
from elicit_flows.lib import clock
from elicit_flows.models import Connection
from elicit_flows.models import Provider as ProviderRow
from elicit_flows.vault import connections as kept
from elicit_flows.vault import refresh, tokens
from tests.doubles.provider import Provider
from tests.doubles.server import Request, Response
from tests.support import jobs, rows
from tests.support.moving import MovingClock
from tests.support.rows import Known
from tests.vault.refreshing import access_token_of, meanwhile, now, told


def lease_runs_out(row: Connection) -> None:
    Connection.objects.filter(pk=row.pk).update(refresh_lease_until=clock.now() - timedelta(seconds=1))


def many_at_once(known: Known, row: Connection, callers: int = 40) -> list[Json]:
    start = threading.Barrier(callers)

    def one(_: int) -> Json:
        start.wait(20)
        try:
            return vault.token(known.row, row.pk)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(callers) as pool:
        return list(pool.map(one, range(callers)))


def slowly(double: Provider, seconds: float) -> None:
    def handler(request: Request) -> Response:
        time.sleep(seconds)
        return double._token(request)

    double.scripted["token"] = handler


def test_t80_many_callers_at_once_are_one_refresh(known: Known, held: Connection, double: Provider) -> None:
    slowly(double, 0.2)
    answers = many_at_once(known, held)
    assert double.calls["token"] == 1
    assert len({answer["access_token"] for answer in answers}) == 1
    assert double.live(answers[0]["access_token"])


def test_t80_of_those_who_read_the_same_row_one_takes_the_lease(held: Connection) -> None:
    seen = [refresh.read(held) for _ in range(3)]
    assert [refresh.claim(row) for row in seen] == [True, False, False]


def test_t80_many_callers_at_once_are_one_refresh_on_postgres(on_postgres: str, double: Provider) -> None:
    known = rows.agent()
    row = rows.connection(known, rows.provider(double), rows.grant(double))
    rows.expire(row)
    slowly(double, 0.2)
    answers = many_at_once(known, row)
    assert double.calls["token"] == 1
    assert {answer["access_token"] for answer in answers} == {access_token_of(row)}


def test_t81_whoever_lost_the_lease_while_refreshing_writes_nothing(
    known: Known, held: Connection, double: Provider
) -> None:
    """The first process is stopped after it got the provider's answer. The second does the whole refresh meanwhile."""
    double.rotates = False  # as a provider with a grace period: the second may use the same refresh token
    second: list[Json] = []

    def overtake() -> None:
        lease_runs_out(held)
        second.append(vault.token(known.row, held.pk))

    meanwhile(double, overtake)
    first = vault.token(known.row, held.pk)
    assert double.calls["token"] == 2
    assert first == second[0], "the loser hands out what the winner wrote"
    assert (now(held).generation, told(held)) == (2, ["connection.refreshed"])
    assert access_token_of(held) == first["access_token"]


def test_t81_a_lease_is_longer_than_a_provider_may_take() -> None:
    most = 20  # seconds, as kinds.oauth.refresh says of itself
    assert most < refresh.LEASE.total_seconds() < tokens.WAIT_FOR_REFRESH, "and who waits outlives a holder that died"


def test_t81_a_caller_does_not_wait_for_ever(
    known: Known, held: Connection, double: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "WAIT_FOR_REFRESH", 0.2)
    Connection.objects.filter(pk=held.pk).update(refresh_lease_until=clock.now() + timedelta(seconds=20))
    with pytest.raises(ProviderUnavailable) as refused:
        vault.token(known.row, held.pk)
    assert refused.value.retry_after
    assert double.calls["token"] == 0


class Killed(BaseException):
    """What no code of the product catches."""


@pytest.fixture
def killed_before_the_commit(
    known: Known, held: Connection, double: Provider, monkeypatch: pytest.MonkeyPatch
) -> Connection:
    """The provider has refreshed, and the process died before it wrote anything."""

    def die(*args: Any) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(refresh, "settle", die)
        with pytest.raises(Killed):
            vault.token(known.row, held.pk)
    assert double.calls["token"] == 1
    return held


@pytest.mark.parametrize("grace", [True, False])
def test_t82_after_a_crash_the_next_caller_heals_it_or_the_agent_is_told(
    known: Known, held: Connection, double: Provider, moving_clock: MovingClock, monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest, *, grace: bool,
) -> None:  # fmt: skip
    double.rotates = not grace
    request.getfixturevalue("killed_before_the_commit")
    assert (now(held).generation, now(held).status) == (1, "active")
    monkeypatch.setattr(tokens, "WAIT_FOR_REFRESH", 0.0)
    with pytest.raises(ProviderUnavailable):
        vault.token(known.row, held.pk)
    assert double.calls["token"] == 1, "while the dead one's lease lasts nobody asks twice"
    moving_clock.forward(seconds=refresh.LEASE.total_seconds())
    if grace:
        assert double.live(vault.token(known.row, held.pk)["access_token"])
        assert told(held) == ["connection.refreshed"]
    else:
        with pytest.raises(ReauthorizationRequired):
            vault.token(known.row, held.pk)
        assert told(held) == ["connection.reauthorization_required"]
        assert now(held).status == "reauthorization_required"
    assert double.calls["token"] == 2


@pytest.mark.parametrize("grace", [True, False])
def test_t82_a_refresh_that_died_is_taken_up_by_one_sweep_though_nobody_asks(
    known: Known, held: Connection, double: Provider, moving_clock: MovingClock, request: pytest.FixtureRequest,
    *, grace: bool,
) -> None:  # fmt: skip
    """Also for a connection that the worker would not check for a long time."""
    double.rotates = not grace
    Connection.objects.filter(pk=held.pk).update(refresh_due_at=None, created_at=clock.now() - timedelta(days=90))
    request.getfixturevalue("killed_before_the_commit")
    assert jobs.refresh_due() == 0, "the lease of the dead one lasts"
    assert now(held).refresh_started_at is not None
    moving_clock.forward(seconds=refresh.LEASE.total_seconds())
    while jobs.refresh_due():
        pass
    assert double.calls["token"] == 2
    assert told(held) == ["connection.refreshed" if grace else "connection.reauthorization_required"]
    assert (now(held).health, now(held).refresh_started_at) == ("ok" if grace else "reauthorization_required", None)
    moving_clock.forward(hours=1)
    assert jobs.refresh_due() == 0


def test_t85_revoked_while_refreshing_stays_revoked_and_the_late_tokens_are_given_back(
    known: Known, held: Connection, double: Provider
) -> None:
    meanwhile(double, lambda: vault.revoke(now(held)))
    with pytest.raises(ConnectionRevoked):
        vault.token(known.row, held.pk)
    assert (now(held).status, told(held)) == ("revoked", ["connection.revoked"])
    late = next(reversed(double.tokens))
    assert double.live(late)
    while jobs.tell_due_providers():
        pass
    assert not double.live(late)
    assert (now(held).upstream, now(held).access_token, now(held).refresh_token) == ("done", "", "")


def test_t85_revoked_and_upstream_told_before_the_late_tokens_come(
    known: Known, held: Connection, double: Provider
) -> None:
    def revoke_and_tell() -> None:
        vault.revoke(now(held))
        assert jobs.tell_due_providers() == 1

    meanwhile(double, revoke_and_tell)
    with pytest.raises(ConnectionRevoked):
        vault.token(known.row, held.pk)
    late = next(reversed(double.tokens))
    while jobs.tell_due_providers():
        pass
    assert not double.live(late), "tokens that came after the provider was told are given back too"


def test_t85_connected_again_while_refreshing_keeps_the_new_grant(
    known: Known, drive_row: ProviderRow, held: Connection, double: Provider
) -> None:
    again = rows.grant(double)
    meanwhile(double, lambda: rows.connection(known, drive_row, again))
    answer = vault.token(known.row, held.pk)
    assert answer["access_token"] == again.access_token.reveal()
    assert access_token_of(held) == again.access_token.reveal()
    refreshed = kept.opened(now(held), "refresh_token")
    assert refreshed == again.refresh_token


def test_t85_a_failure_to_refresh_the_old_grant_is_none_of_the_new_one(
    known: Known, drive_row: ProviderRow, held: Connection, double: Provider
) -> None:
    again = rows.grant(double)

    def fail(request: Request) -> Response:
        rows.connection(known, drive_row, again)
        connections.close_all()
        return Response(503)

    double.scripted["token"] = fail
    assert vault.token(known.row, held.pk)["access_token"] == again.access_token.reveal()
    assert (now(held).health, now(held).last_refresh_error, now(held).refresh_started_at) == ("ok", "", None)


def test_a_random_mix_of_everything_leaves_one_truth(known: Known, drive_row: ProviderRow, double: Provider) -> None:
    """I6 and T85 by chance: fetch, expire, revoke and connect again, from eight threads."""
    row = rows.connection(known, drive_row, rows.grant(double))

    def act(number: int) -> None:
        chance = secrets.SystemRandom()
        try:
            for _ in range(6):
                if chance.random() < 0.5:
                    rows.expire(row)
                vault.token(known.row, row.pk)
            if number == 0:
                vault.revoke(now(row))
        except (ConnectionRevoked, ReauthorizationRequired):
            return
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(act, range(8)))
    assert now(row).status == "revoked"
    with pytest.raises(FlowError):
        vault.token(known.row, row.pk)
    while jobs.tell_due_providers():
        pass
    assert [token for token in double.tokens if double.live(token)] == []
    assert told(row).count("connection.revoked") == 1
