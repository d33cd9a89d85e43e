"""T80 to T87 for a person's own OAuth client: the agent gets tokens and never what the person typed."""

from __future__ import annotations

import pytest
from django.db import connections, transaction

from elicit_flows import vault
from elicit_flows.domain.errors import (
    Conflict,
    ConnectionRevoked,
    ProviderUnavailable,
    ReauthorizationRequired,
    Unavailable,
)
from elicit_flows.domain.values import Secret
from elicit_flows.kinds.credentials import client_credentials
from elicit_flows.models import Connection
from elicit_flows.models import Provider as ProviderRow
from elicit_flows.vault import credentials, refresh, tokens
from tests.doubles.provider import Provider
from tests.doubles.server import Request, Response, json_response
from tests.support import jobs, rows
from tests.support.moving import MovingClock
from tests.support.rows import ALICE_CLAIM, Known
from tests.vault.refreshing import access_token_of, meanwhile, now, told
from tests.vault.test_refresh_races import lease_runs_out, many_at_once, slowly

TYPED = {"client_id": "elicit", "client_secret": "the-double's-client-secret"}


@pytest.fixture
def house(drive_row: ProviderRow, double: Provider) -> ProviderRow:
    """Beside the OAuth provider drive, at the same double."""
    return own_house(double)


def own_house(double: Provider) -> ProviderRow:
    return ProviderRow.objects.create(
        slug="house",
        name="House",
        sort="credentials",
        fields=client_credentials.FIELDS,
        token_url=f"{double.url}/token",
        scopes=["meters.read"],
    )  # fmt: skip


def typed(known: Known, house: ProviderRow, **instead: str) -> Connection:
    """What was typed, with its first token."""
    named = {name: Secret(value) for name, value in (TYPED | instead).items()}
    config = vault.credentials_provider(house)
    assert config.token
    first = client_credentials.ask(config.token, {name: Secret(value) for name, value in TYPED.items()})
    with transaction.atomic():
        return vault.keep_credentials(known.row, ALICE_CLAIM, house, "", named, first)


@pytest.fixture
def held(known: Known, house: ProviderRow, double: Provider) -> Connection:
    """Its token ran out a minute ago."""
    row = typed(known, house)
    rows.expire(row)
    double.calls.clear()
    double.requests.clear()
    return row


def test_a_token_is_asked_for_when_it_is_wanted_and_kept_while_it_lives(
    known: Known, held: Connection, double: Provider
) -> None:
    given = vault.token(known.row, held.pk)
    assert double.live(given["access_token"])
    assert given["scopes"] == ["meters.read"]
    assert vault.token(known.row, held.pk)["access_token"] == given["access_token"]
    (request,) = double.seen("token")
    assert request.form == {"grant_type": "client_credentials", "scope": "meters.read"}
    kept = now(held)
    assert (kept.generation, kept.health, kept.refresh_token, told(held)) == (2, "ok", "", ["connection.refreshed"])


def test_nothing_is_asked_for_in_the_background(known: Known, held: Connection, double: Provider) -> None:
    assert (now(held).health, now(held).refresh_due_at) == ("ok", None)
    vault.token(known.row, held.pk)
    rows.expire(held)
    assert jobs.refresh_due() == 0
    assert (now(held).refresh_due_at, double.calls["token"]) == (None, 1)


def test_t80_many_callers_at_once_are_one_request(known: Known, held: Connection, double: Provider) -> None:
    slowly(double, 0.2)
    answers = many_at_once(known, held)
    assert double.calls["token"] == 1
    assert {answer["access_token"] for answer in answers} == {access_token_of(held)}


def test_t80_many_callers_at_once_are_one_request_on_postgres(on_postgres: str, double: Provider) -> None:
    known = rows.agent()
    row = typed(known, own_house(double))
    rows.expire(row)
    double.calls.clear()
    slowly(double, 0.2)
    answers = many_at_once(known, row)
    assert double.calls["token"] == 1
    assert {answer["access_token"] for answer in answers} == {access_token_of(row)}


def test_t81_whoever_lost_the_lease_while_asking_writes_nothing(
    known: Known, held: Connection, double: Provider
) -> None:
    second: list[str] = []

    def overtake() -> None:
        lease_runs_out(held)
        second.append(vault.token(known.row, held.pk)["access_token"])

    meanwhile(double, overtake)
    assert vault.token(known.row, held.pk)["access_token"] == second[0] == access_token_of(held)
    assert (double.calls["token"], now(held).generation) == (2, 2)


@pytest.mark.parametrize("code", ["invalid_client", "unauthorized_client"])
def test_t84_a_client_that_is_not_taken_any_more_ends_it_and_the_agent_is_told_once(
    known: Known, held: Connection, double: Provider, code: str
) -> None:
    double.scripted["token"] = json_response({"error": code}, 400)
    for _ in range(3):
        with pytest.raises(ReauthorizationRequired):
            vault.token(known.row, held.pk)
    assert (double.calls["token"], told(held)) == (1, ["connection.reauthorization_required"])
    assert (now(held).status, now(held).last_refresh_error) == ("reauthorization_required", code)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (Response(503), "provider_unavailable"),
        (json_response({"error": "invalid_scope"}, 400), "invalid_scope"),  # the operator's to mend
        (Response(403), "access_denied"),
        (Response(200, b"{}"), "bad_response"),
    ],
)
def test_t84_any_other_trouble_is_no_verdict_on_the_client(
    known: Known, held: Connection, double: Provider, moving_clock: MovingClock, answer: Response, error: str
) -> None:
    double.scripted["token"] = answer
    with pytest.raises(ProviderUnavailable):
        vault.token(known.row, held.pk)
    assert (now(held).status, now(held).health, now(held).last_refresh_error) == ("active", "failing", error)
    del double.scripted["token"]
    moving_clock.forward(seconds=30)
    assert double.live(vault.token(known.row, held.pk)["access_token"])
    assert (now(held).health, told(held)) == ("ok", ["connection.refreshed"])


def test_t84_in_trouble_it_is_asked_once_in_two_seconds(
    known: Known, held: Connection, double: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "WAIT_FOR_REFRESH", 0.2)
    double.scripted["token"] = Response(503)
    for _ in range(3):
        with pytest.raises(ProviderUnavailable):
            vault.token(known.row, held.pk)
    assert double.calls["token"] == 1


def test_t73_the_agent_never_gets_what_was_typed_whatever_becomes_of_the_provider(
    known: Known, held: Connection, house: ProviderRow, double: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not any(
        value in str([now(held).summary(), vault.result(now(held))]) for value in TYPED.values() if "-" in value
    )
    for change in ({"token_url": ""}, {"sort": "oauth"}):
        ProviderRow.objects.filter(pk=house.pk).update(**change)
        with pytest.raises(Conflict, match="Ask for the token"):
            vault.open_credentials(known.row, held.pk)
    with monkeypatch.context() as patched:
        patched.setattr(tokens, "WAIT_FOR_REFRESH", 0.1)
        ProviderRow.objects.filter(pk=house.pk).update(token_url="", sort="credentials")
        with pytest.raises(ProviderUnavailable):
            vault.token(known.row, held.pk)
    assert (now(held).status, now(held).last_refresh_error, double.calls["token"]) == ("active", "not_allowed", 0)


def test_t75_both_are_sealed_and_bound_to_their_row(known: Known, held: Connection, house: ProviderRow) -> None:
    sealed = Connection.objects.filter(pk=held.pk).values("secrets", "access_token").get()
    assert not any(value in str(sealed) for value in TYPED.values() if "-" in value)
    other = typed(rows.agent(), house)
    Connection.objects.filter(pk=other.pk).update(secrets=sealed["secrets"])
    with pytest.raises(Unavailable):
        credentials.open_fields(now(other))


def test_t85_revoked_while_asking_stays_revoked_and_the_late_token_is_kept_nowhere(
    known: Known, held: Connection, double: Provider
) -> None:
    meanwhile(double, lambda: vault.revoke(now(held)))
    with pytest.raises(ConnectionRevoked):
        vault.token(known.row, held.pk)
    gone = now(held)
    assert (gone.status, gone.upstream, gone.access_token, gone.secrets) == ("revoked", "none", "", "")
    assert told(held) == ["connection.revoked"]


def test_t86_ending_it_forgets_the_secret_and_the_token_at_once(known: Known, held: Connection) -> None:
    vault.revoke(held)
    gone = now(held)
    assert (gone.secrets, gone.access_token, gone.upstream, gone.typed) == ("", "", "none", False)
    assert jobs.tell_due_providers() == 0


@pytest.fixture
def revoking(held: Connection, house: ProviderRow, double: Provider) -> Connection:
    """The same, where the operator says how tokens are given back."""
    ProviderRow.objects.filter(pk=house.pk).update(revocation_url=f"{double.url}/revoke")
    return now(held)


def tell_all() -> None:
    while jobs.tell_due_providers():
        pass


def test_t86_where_tokens_can_be_given_back_the_provider_is_told_and_then_all_is_forgotten(
    known: Known, revoking: Connection, double: Provider, moving_clock: MovingClock
) -> None:
    token = access_token_of(revoking)
    double.scripted["revoke"] = Response(503)
    vault.revoke(revoking)
    tell_all()
    with pytest.raises(ConnectionRevoked):
        vault.open_credentials(known.row, revoking.pk)
    assert (now(revoking).upstream, double.live(token)) == ("pending", True)
    del double.scripted["revoke"]
    moving_clock.forward(seconds=5)
    tell_all()
    gone = now(revoking)
    assert (gone.upstream, gone.access_token, gone.secrets, double.live(token)) == ("done", "", "", False)


def test_t86_a_provider_that_never_listens_keeps_no_secret_here(
    revoking: Connection, double: Provider, moving_clock: MovingClock
) -> None:
    double.scripted["revoke"] = Response(500)
    vault.revoke(revoking)
    while now(revoking).upstream == "pending":
        tell_all()
        moving_clock.forward(hours=4)
    assert (now(revoking).upstream, now(revoking).access_token, now(revoking).secrets) == ("failed", "", "")


def test_t85_a_token_that_comes_after_the_provider_was_told_is_given_back_too(
    known: Known, revoking: Connection, double: Provider
) -> None:
    def revoke_and_tell() -> None:
        vault.revoke(now(revoking))
        tell_all()

    meanwhile(double, revoke_and_tell)
    with pytest.raises(ConnectionRevoked):
        vault.token(known.row, revoking.pk)
    late = next(reversed(double.tokens))
    tell_all()
    gone = now(revoking)
    assert (gone.upstream, gone.access_token, gone.secrets, double.live(late)) == ("done", "", "", False)


def test_t85_typed_again_while_asking_the_new_client_counts(
    known: Known, held: Connection, house: ProviderRow, double: Provider
) -> None:
    """The provider refuses the old secret because the person has just made a new one, and typed it."""

    def refuse(request: Request) -> Response:
        del double.scripted["token"]
        typed(known, house)
        connections.close_all()
        return json_response({"error": "invalid_client"}, 401)

    double.scripted["token"] = refuse
    assert vault.token(known.row, held.pk)["access_token"] == access_token_of(held)
    assert (now(held).status, told(held)) == ("active", [])


def test_a_report_has_another_token_asked_for(
    known: Known, house: ProviderRow, double: Provider, moving_clock: MovingClock
) -> None:
    row = typed(known, house)
    before = access_token_of(row)
    moving_clock.forward(seconds=31)
    assert vault.report_rejected_token(known.row, row.pk).status == "active"
    assert access_token_of(row) != before
    assert told(row) == ["connection.refreshed"]


def test_a_token_without_an_end_is_asked_for_once(known: Known, house: ProviderRow, double: Provider) -> None:
    double.reply = {"expires_in": None, "refresh_token": "rt-unwanted"}
    row = typed(known, house)
    assert vault.token(known.row, row.pk, 86400)["expires_at"] is None
    assert (double.calls["token"], now(row).refresh_token) == (1, "")


def test_typed_again_nothing_that_the_former_client_was_told_stays(
    known: Known, house: ProviderRow, double: Provider
) -> None:
    house.metadata = [{"name": "region", "from": "token", "path": ["region"]}]
    house.save()
    double.reply = {"region": "eu"}
    assert typed(known, house).metadata == {"region": "eu"}
    double.reply = {}
    again = typed(known, house)
    assert vault.token(known.row, again.pk)["metadata"] == {}
    double.reply = {"region": "us"}
    typed(known, house)
    with transaction.atomic():
        plain = vault.keep_credentials(known.row, ALICE_CLAIM, house, "", {"key": Secret("plain")})
    assert (now(plain).pk, now(plain).metadata) == (again.pk, {})


def test_typed_again_without_tokens_it_is_the_agents_to_read(
    known: Known, held: Connection, house: ProviderRow
) -> None:
    """The operator removed the token endpoint. People see what the credentials are for now, and type them again."""
    with transaction.atomic():
        row = vault.keep_credentials(known.row, ALICE_CLAIM, house, "", {"key": Secret("plain")})
    assert row.pk == held.pk
    assert vault.open_credentials(known.row, row.pk) == {"fields": {"key": "plain"}}
    with pytest.raises(Conflict):
        vault.token(known.row, row.pk)
    assert (now(row).access_token, now(row).expires_at, now(row).scopes, now(row).own_client) == ("", None, [], False)


def test_t82_after_a_crash_the_next_caller_asks_anew(
    known: Known, held: Connection, double: Provider, moving_clock: MovingClock
) -> None:
    assert refresh.claim(refresh.read(held)), "and then the process died"
    moving_clock.forward(seconds=refresh.LEASE.total_seconds() + 1)
    assert jobs.refresh_due() == 1, "the worker puts it aside"
    assert (now(held).refresh_due_at, double.calls["token"]) == (None, 0)
    assert double.live(vault.token(known.row, held.pk)["access_token"])
