"""T80, T82, T84: tokens are refreshed before anybody asks for them, as rarely as possible, and never all at once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from elicit_flows import vault
from elicit_flows.domain.errors import ReauthorizationRequired
from elicit_flows.job_table import REFRESH
from elicit_flows.lib import clock
from elicit_flows.models import Connection
from elicit_flows.models import Provider as ProviderRow
from elicit_flows.vault import refresh_job, refresh_schedule
from tests.doubles.provider import Provider
from tests.doubles.server import Response, json_response
from tests.support import jobs, rows
from tests.support.moving import MovingClock
from tests.support.rows import Known
from tests.vault.refreshing import access_token_of, now, told

HOUR, DAY = 3600, 86400


@pytest.fixture(autouse=True)
def no_provider_rests() -> Iterator[None]:
    refresh_job.silent_providers.forget()
    yield
    refresh_job.silent_providers.forget()


def sweep() -> None:
    jobs.refresh()


def due_in(row: Connection) -> float:
    """Seconds from now."""
    planned = now(row).refresh_due_at
    assert planned is not None
    return (planned - clock.now()).total_seconds()


@pytest.mark.parametrize(
    ("life", "at"),
    [
        (60, (0, 10, 20, 30, 40)), (60, (0, 12, 24, 36, 53)), (HOUR, (0, 900, 1800, 2700, 3500)),
        (365 * DAY, (0, 30 * DAY, 40 * DAY, 50 * DAY, 60 * DAY)),
    ],
)  # fmt: skip
def test_a_token_serves_for_most_of_its_life_whatever_its_length(
    known: Known, drive_row: ProviderRow, double: Provider, moving_clock: MovingClock, life: int, at: tuple[int, ...]
) -> None:
    """Five fetches of a valid token cause no refresh. One at the end of its life causes one."""
    row = rows.connection(known, drive_row, rows.grant(double, expires_in=life))
    double.expires_in = life
    given, past = set(), 0
    for second in at:
        moving_clock.forward(seconds=second - past)
        past = second
        given.add(vault.token(known.row, row.pk)["access_token"])
    assert (double.calls["token"], len(given)) == (0, 1)
    moving_clock.forward(seconds=life - past - min(60, life / 10) + 0.5)
    for _ in range(5):
        vault.token(known.row, row.pk)
    assert double.calls["token"] == 1


@pytest.mark.parametrize("life", [60, HOUR, 365 * 86400])
def test_a_token_in_use_is_refreshed_once_a_life_by_worker_and_agent_together(
    known: Known, drive_row: ProviderRow, double: Provider, moving_clock: MovingClock, life: int
) -> None:
    """An agent that fetches twenty times a life, and a worker that looks as often, for three lives."""
    double.expires_in = life
    row = rows.connection(known, drive_row, rows.grant(double, expires_in=life))
    for _ in range(60):
        token = vault.token(known.row, row.pk)
        assert datetime.fromisoformat(token["expires_at"]) > clock.now()
        moving_clock.forward(seconds=life / 20)
        sweep()
    assert 3 <= double.calls["token"] <= 4


def test_the_worker_is_there_before_the_agent(
    known: Known, drive_row: ProviderRow, double: Provider, moving_clock: MovingClock
) -> None:
    row = rows.connection(known, drive_row, rows.grant(double))
    vault.token(known.row, row.pk)
    assert 0.8 * HOUR <= due_in(row) <= 0.9 * HOUR
    moving_clock.forward(seconds=due_in(row) - 5)
    sweep()
    assert double.calls["token"] == 0
    moving_clock.forward(seconds=6)
    jobs.refresh()
    assert (double.calls["token"], now(row).generation, told(row)) == (1, 2, ["connection.refreshed"])
    assert double.live(access_token_of(row))


@pytest.mark.slow
def test_what_nobody_uses_is_kept_alive_daily_and_then_left_alone(
    known: Known, drive_row: ProviderRow, double: Provider, moving_clock: MovingClock
) -> None:
    row = rows.connection(known, drive_row, rows.grant(double))
    for _ in range(8 * 60):
        moving_clock.forward(hours=3)
        sweep()
    assert 38 <= double.calls["token"] <= 45
    assert now(row).refresh_due_at is None
    assert double.live(vault.token(known.row, row.pk)["access_token"]), "whoever comes back finds it as it was left"
    assert now(row).refresh_due_at is not None


@pytest.mark.slow
def test_what_was_made_in_one_minute_is_not_due_in_one_minute(known: Known, drive_row: ProviderRow) -> None:
    held = [rows.connection(known, drive_row, rows.grant(account=str(number))) for number in range(120)]
    for row in held:
        vault.token(known.row, row.pk)
    due = sorted(due_in(row) for row in held)
    busiest = max(sum(begin <= one < begin + 60 for one in due) for begin in due)
    assert busiest < 120 / 3, "a minute's worth of six"


def test_nobody_is_asked_for_tokens_without_an_end_or_for_revoked_ones(
    known: Known, drive_row: ProviderRow, double: Provider, moving_clock: MovingClock
) -> None:
    revoked, endless = (rows.connection(known, drive_row, rows.grant(double, account=name)) for name in "re")
    vault.token(known.row, revoked.pk)
    vault.revoke(now(revoked))
    Connection.objects.filter(pk=endless.pk).update(expires_at=None, refresh_due_at=clock.now())
    moving_clock.forward(hours=30)
    sweep()
    assert double.calls["token"] == 0
    assert {now(row).refresh_due_at for row in (revoked, endless)} == {None}


def test_what_is_switched_off_is_not_refreshed_until_it_is_on_again(
    known: Known, held: Connection, drive_row: ProviderRow, double: Provider
) -> None:
    Connection.objects.filter(pk=held.pk).update(refresh_due_at=clock.now())
    for row in (drive_row, known.row):
        row.enabled = False
        row.save()
        sweep()
        assert double.calls["token"] == 0
        row.enabled = True
        row.save()
    sweep()
    assert double.calls["token"] == 1


def test_t84_a_provider_that_is_down_is_asked_less_and_less_and_the_grant_lives(
    known: Known, held: Connection, double: Provider, moving_clock: MovingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refresh_job.silent_providers, "rest", 0.0)
    Connection.objects.filter(pk=held.pk).update(refresh_due_at=clock.now())
    double.scripted["token"] = Response(503)
    pauses = []
    for number in range(12):
        sweep()
        assert double.calls["token"] == number + 1
        pauses.append(due_in(held))
        moving_clock.forward(seconds=due_in(held) + 1)
    assert pauses[0] <= 20
    assert all(later > before - 1 for before, later in pairwise(pauses))
    assert 450 <= pauses[-1] <= 900
    failing = now(held)
    assert (failing.status, failing.health, told(held)) == ("active", "failing", [])
    del double.scripted["token"]
    sweep()
    healed = now(held)
    assert (healed.health, healed.refresh_failures, healed.last_refresh_error) == ("ok", 0, "")


def test_t84_what_is_due_elsewhere_does_not_wait_for_a_provider_that_is_down(
    known: Known, drive_row: ProviderRow, double: Provider
) -> None:
    with Provider() as down:
        down.scripted["token"] = Response(503)
        theirs = rows.provider(down, slug="down")
        many = [rows.connection(known, theirs, rows.grant(account=str(number))) for number in range(40)]
        other = rows.connection(known, drive_row, rows.grant(double))
        rows.expire(*many, other)
        Connection.objects.update(refresh_due_at=clock.now() - timedelta(hours=1))
        Connection.objects.filter(pk=other.pk).update(refresh_due_at=clock.now())
        sweep()
        assert down.calls["token"] == REFRESH.per_party
        assert now(other).generation == 2


def test_t84_an_invalid_grant_found_by_the_worker_is_told_once(
    known: Known, held: Connection, double: Provider, moving_clock: MovingClock
) -> None:
    Connection.objects.filter(pk=held.pk).update(refresh_due_at=clock.now())
    double.scripted["token"] = json_response({"error": "invalid_grant"}, 400)
    for _ in range(3):
        sweep()
        moving_clock.forward(hours=1)
    assert (double.calls["token"], told(held)) == (1, ["connection.reauthorization_required"])
    with pytest.raises(ReauthorizationRequired):
        vault.token(known.row, held.pk)


def test_what_cannot_be_opened_holds_up_nobody(known: Known, drive_row: ProviderRow, double: Provider) -> None:
    broken, whole = (rows.connection(known, drive_row, rows.grant(double, account=name)) for name in "bw")
    rows.expire(broken, whole)
    Connection.objects.filter(pk=broken.pk).update(refresh_token="v1.gone.AAAA")
    Connection.objects.update(refresh_due_at=clock.now())
    sweep()
    assert now(whole).generation == 2
    assert (now(broken).health, now(broken).last_refresh_error) == ("failing", "unreadable")
    assert due_in(broken) > 4


def test_the_schedule_says_the_same_when_it_is_asked_twice(known: Known, drive_row: ProviderRow) -> None:
    row = rows.connection(known, drive_row)
    assert refresh_schedule.next_refresh(now(row)) == refresh_schedule.next_refresh(now(row)) == now(row).refresh_due_at
