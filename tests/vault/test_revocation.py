"""T86: a revoked connection ends here at once, and at the provider as soon as it can be reached."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections as databases

from elicit_flows import vault
from elicit_flows.domain.errors import ConnectionRevoked
from elicit_flows.domain.values import Claim, Secret
from elicit_flows.lib import clock
from elicit_flows.models import Connection, Event
from elicit_flows.models import Provider as ProviderRow
from elicit_flows.oauth import Transient
from elicit_flows.vault import connections, revocation
from elicit_flows.web.connections import shown
from tests.doubles.provider import Provider
from tests.doubles.server import Request, Response
from tests.support import jobs, rows
from tests.support.moving import MovingClock
from tests.support.rows import Known


@pytest.fixture
def held(known: Known, drive_row: ProviderRow, double: Provider) -> Connection:
    return rows.connection(known, drive_row, rows.grant(double))


def now(row: Connection) -> Connection:
    return Connection.objects.get(pk=row.pk)


def tell_all() -> None:
    while jobs.tell_due_providers():
        pass


def test_t86_revoked_ends_the_token_at_once_though_the_provider_is_down(
    known: Known, held: Connection, double: Provider
) -> None:
    double.scripted["revoke"] = Response(503)
    vault.revoke(held)
    with pytest.raises(ConnectionRevoked):
        vault.token(known.row, held.pk)
    assert list(vault.held_by(rows.ALICE_CLAIM)) == []
    assert double.calls["revoke"] == 0, "nobody who revokes waits for the provider"


def test_t86_the_provider_is_told_until_it_understands(
    known: Known, held: Connection, double: Provider, moving_clock: MovingClock
) -> None:
    token = next(iter(double.tokens))
    double.scripted["revoke"] = Response(503)
    vault.revoke(held)
    for tries in range(1, 6):
        tell_all()
        assert (double.calls["revoke"], now(held).upstream) == (tries, "pending")
        moving_clock.forward(seconds=2**tries - 1)
        tell_all()
        assert double.calls["revoke"] == tries, "not before its time"
        moving_clock.forward(seconds=2)
    del double.scripted["revoke"]
    assert double.live(token)
    tell_all()
    assert not double.live(token)
    gone = now(held)
    assert (gone.upstream, gone.upstream_next_at, gone.access_token, gone.refresh_token) == ("done", None, "", "")
    assert [event.type for event in Event.objects.all()] == ["connection.revoked"]


def test_t86_a_provider_that_never_listens_is_given_up_and_its_tokens_forgotten(
    held: Connection, double: Provider, moving_clock: MovingClock
) -> None:
    double.scripted["revoke"] = Response(500)
    vault.revoke(held)
    began = clock.now()
    while now(held).upstream == "pending":
        tell_all()
        moving_clock.forward(minutes=30)
    gone = now(held)
    assert (gone.upstream, gone.access_token, gone.refresh_token) == ("failed", "", "")
    assert double.calls["revoke"] == revocation.RETRIES.most
    assert clock.now() - began > timedelta(days=2)


@pytest.mark.parametrize("account", ["alice", None])
def test_t86_a_provider_told_late_does_not_end_what_was_connected_since(
    known: Known, drive_row: ProviderRow, double: Provider, moving_clock: MovingClock, account: str | None
) -> None:
    """Many providers revoke all tokens of an account together."""
    old = rows.connection(known, drive_row, rows.grant(double, account=account))
    double.scripted["revoke"] = Response(503)
    vault.revoke(old)
    tell_all()
    assert (double.calls["revoke"], now(old).upstream) == (1, "pending")
    moving_clock.forward(seconds=10)
    bob = Claim(rows.ISSUER, "bob")
    other = rows.connection(known, drive_row, rows.grant(double, account="alice-2" if account else None), bob)
    tell_all()
    assert (double.calls["revoke"], now(old).upstream) == (1, "pending"), "another account, or another person's"
    rows.connection(known, drive_row, rows.grant(double, account=account))
    moving_clock.forward(seconds=10)
    tell_all()
    gone = now(old)
    assert (double.calls["revoke"], gone.upstream, gone.upstream_next_at) == (0, "none", None)
    assert (gone.access_token, gone.refresh_token) == ("", "")
    vault.revoke(other)
    del double.scripted["revoke"]
    tell_all()
    assert (double.calls["revoke"], now(other).upstream) == (1, "done")


@pytest.mark.parametrize("again", [True, False])
def test_t86_nor_an_earlier_connection_that_was_connected_again_since(
    known: Known, drive_row: ProviderRow, held: Connection, double: Provider, moving_clock: MovingClock, again: bool
) -> None:
    """Of another agent with the same account, whose tokens the first try may have ended."""
    other = rows.agent()
    theirs = rows.connection(other, drive_row, rows.grant(double))
    moving_clock.forward(seconds=10)
    double.scripted["revoke"] = Response(503)
    vault.revoke(held)
    tell_all()
    moving_clock.forward(seconds=10)
    if again:
        assert rows.connection(other, drive_row, rows.grant(double)).pk == theirs.pk
    del double.scripted["revoke"]
    double.calls.clear()
    tell_all()
    assert (double.calls["revoke"], now(held).upstream) == ((0, "none") if again else (1, "done"))


def test_t86_revoking_twice_tells_once(held: Connection, double: Provider) -> None:
    vault.revoke(held)
    vault.revoke(now(held))
    tell_all()
    tell_all()
    assert (double.calls["revoke"], Event.objects.count()) == (1, 1)


def test_t86_what_cannot_be_opened_any_more_holds_up_nobody_and_comes_to_an_end(
    known: Known, drive_row: ProviderRow, held: Connection, double: Provider, moving_clock: MovingClock
) -> None:
    other = rows.connection(known, drive_row, rows.grant(double, account="alice-2"))
    vault.revoke(held)
    Connection.objects.filter(pk=held.pk).update(refresh_token="v1.gone.AAAA", access_token="")
    vault.revoke(other)
    tell_all()
    assert now(other).upstream == "done"
    for _ in range(revocation.RETRIES.most):
        moving_clock.forward(hours=4)
        tell_all()
    assert now(held).upstream == "failed"


def test_two_workers_tell_the_provider_once(held: Connection, double: Provider) -> None:
    """The second finds the row due as well, but the first has claimed it."""
    vault.revoke(held)
    as_it_was = now(held)

    def the_other_looks(request: Request) -> Response:
        del double.scripted["revoke"]
        assert not vault.tell_of_revocation(as_it_was)
        databases.close_all()
        return double._revoke(request)

    double.scripted["revoke"] = the_other_looks
    tell_all()
    assert double.calls["revoke"] == 1
    assert now(held).upstream == "done"


def test_a_provider_that_cannot_be_told_is_not_said_to_have_been_told(
    known: Known, drive_row: ProviderRow, double: Provider
) -> None:
    assert drive_row.is_told()
    untold = rows.provider(double, slug="silent", preset="linkedin")
    untold.revocation_url = ""
    untold.save()
    held = rows.connection(known, untold, rows.grant(double))
    assert not untold.is_told()
    vault.revoke(held)
    tell_all()
    gone = now(held)
    assert (gone.upstream, gone.access_token, gone.refresh_token) == ("none", "", "")
    said = shown(gone)
    assert (said["untold"], said["removal_url"]) == (
        True,
        "https://www.linkedin.com/mypreferences/d/data-sharing-for-permitted-services",
    )


@pytest.mark.parametrize("expired", [True, False])
def test_t86_a_call_that_takes_an_access_token_is_not_given_one_that_has_expired(
    known: Known, double: Provider, moving_clock: MovingClock, monkeypatch: pytest.MonkeyPatch, expired: bool
) -> None:
    """TikTok's documentation does not say how it refuses one: it could look like a grant that has ended."""
    row = rows.provider(double, slug="clips", preset="tiktok")
    held = rows.connection(known, row, rows.grant(double))
    given: list[bool] = []
    monkeypatch.setattr(revocation, "tell_provider", lambda _, access, *_rest: not given.append(access is not None))
    if expired:
        moving_clock.forward(hours=25)
    vault.revoke(held)
    tell_all()
    assert (given, now(held).upstream) == ([not expired], "done")


@pytest.mark.parametrize("rotates", [True, False])
def test_t86_the_tokens_of_a_refresh_that_a_revocation_needed_are_there_for_its_next_try(
    held: Connection, double: Provider, moving_clock: MovingClock, monkeypatch: pytest.MonkeyPatch, rotates: bool
) -> None:
    """Else the used refresh token is refused at the next try, as if the grant had ended."""
    given: list[str] = []
    fresh = replace(rows.grant(double), refresh_token=Secret("second") if rotates else None)

    def tell(*args: Any) -> bool:
        given.append(args[2].reveal())
        if len(given) == 1:
            args[5](fresh)
            raise Transient("The provider did not answer.", sent=True)
        return True

    first = connections.opened(held, "refresh_token")
    assert first
    monkeypatch.setattr(revocation, "tell_provider", tell)
    vault.revoke(held)
    tell_all()
    kept = connections.opened(now(held), "access_token")
    assert kept
    assert kept.reveal() == fresh.access_token.reveal()
    moving_clock.forward(seconds=10)
    tell_all()
    assert given == [first.reveal(), "second" if rotates else first.reveal()]
    assert (now(held).upstream, now(held).access_token, now(held).refresh_token) == ("done", "", "")
