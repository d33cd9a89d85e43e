"""Connecting again: the same account renews its connection, another needs a yes; more scopes take nothing away."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connections

from elicit_flows import elicitations, vault
from elicit_flows.domain.errors import BadRequest, Invalid, InvalidScope, Over, StartAgain, WrongUser
from elicit_flows.domain.values import Claim
from elicit_flows.models import Connection, Elicitation, PendingGrant
from elicit_flows.models import Provider as ProviderRow
from elicit_flows.oauth import Transient
from elicit_flows.vault import pending_grants
from tests.doubles.provider import Provider
from tests.doubles.server import Request, Response
from tests.oauth.journey import ask, come_back, connect, press, query, told
from tests.support import dump, jobs, rows
from tests.support.moving import MovingClock
from tests.support.rows import ALICE_CLAIM, Known


@pytest.fixture
def first(known: Known, double: Provider) -> Connection:
    """Alice's account, connected."""
    assert connect(double, known).status == "completed"
    double.calls.clear()
    return Connection.objects.get()


@pytest.fixture
def other(known: Known, double: Provider, first: Connection) -> Elicitation:
    """She was asked to connect it again, and chose Bob's."""
    return connect(double, known, user="bob", connection=first.pk, reuse="never")


def choose(row: Elicitation, choice: str, claim: Claim = ALICE_CLAIM) -> Elicitation:
    """What they press on the page as it stands."""
    waiting = vault.pending_grant(row)
    return elicitations.choose(row.pk, claim, choice, waiting.pk if waiting else "")


def works(double: Provider, known: Known, row: Connection) -> str:
    """Whose account the connection's token is good for."""
    token = vault.token(known.row, row.pk)["access_token"]
    assert double.live(token)
    return str(double.tokens[token].user["sub"])


def test_the_same_account_renews_its_connection(known: Known, double: Provider, first: Connection) -> None:
    Connection.objects.filter(pk=first.pk).update(status="reauthorization_required")
    row = connect(double, known, connection=first.pk)
    assert row.status == "completed"
    assert row.result["connection"] == first.pk
    assert Connection.objects.get().status == "active"


def test_t29_another_account_changes_nothing_before_a_yes(
    known: Known, double: Provider, first: Connection, other: Elicitation, committed_database: str
) -> None:
    assert (other.status, other.result) == ("started", None)
    assert [row.pk for row in Connection.objects.all()] == [first.pk]
    assert works(double, known, first) == "alice"
    change = elicitations.look(other.pk, ALICE_CLAIM).change
    assert change
    assert (change.meant, change.came) == ("Alice", "Bob")
    held = [token for token, issued in double.tokens.items() if issued.user["sub"] == "bob"]
    assert len(held) == 1
    assert held[0] not in dump.database(committed_database)


def test_t29_both(known: Known, double: Provider, first: Connection, other: Elicitation) -> None:
    row = choose(other, "both")
    assert row.status == "completed"
    assert row.result["account"] == {"id": "bob", "label": "Bob"}
    second = Connection.objects.exclude(pk=first.pk).get()
    assert row.result["connection"] == second.pk
    assert (works(double, known, first), works(double, known, second)) == ("alice", "bob")
    assert not PendingGrant.objects.exists()


def test_t29_replace(known: Known, double: Provider, first: Connection, other: Elicitation) -> None:
    row = choose(other, "replace")
    second = Connection.objects.get(status="active")
    assert (row.status, row.result["connection"]) == ("completed", second.pk)
    assert second.pk != first.pk
    first.refresh_from_db()
    assert (first.status, first.upstream) == ("revoked", "pending")
    assert works(double, known, second) == "bob"
    assert told(known)[-3:] == ["elicitation.settling", "connection.revoked", "elicitation.completed"]


def test_t29_going_back_gives_the_grant_back_and_starts_again(
    known: Known, double: Provider, first: Connection, other: Elicitation
) -> None:
    assert choose(other, "back").status == "started"
    assert elicitations.look(other.pk, ALICE_CLAIM).change is None
    assert jobs.revoke_rejected_grants() == 1
    assert not any(issued.live for issued in double.tokens.values() if issued.user["sub"] == "bob")
    double.user = {"sub": "alice", "name": "Alice"}
    assert come_back(double, other, press(other, "again")).status == "completed"
    assert other.result["connection"] == first.pk


@pytest.mark.parametrize("end", [elicitations.cancel, lambda row: elicitations.decline(row.pk, ALICE_CLAIM)])
def test_t25_what_ended_meanwhile_is_chosen_no_more_and_given_back(
    double: Provider, other: Elicitation, moving_clock: MovingClock, end: Callable[[Elicitation], object]
) -> None:
    end(other)
    with pytest.raises(Over):
        choose(other, "both")
    moving_clock.forward(minutes=11)
    assert jobs.revoke_rejected_grants() == 1
    assert not PendingGrant.objects.exists()
    assert double.calls["revoke"] == 1


def test_t29_after_ten_minutes_there_is_nothing_to_choose(other: Elicitation, moving_clock: MovingClock) -> None:
    waiting = PendingGrant.objects.get()
    moving_clock.forward(minutes=10, seconds=1)
    assert elicitations.look(other.pk, ALICE_CLAIM).change is None
    with pytest.raises(StartAgain):
        elicitations.choose(other.pk, ALICE_CLAIM, "both", waiting.pk)


def test_t29_only_the_right_person_chooses(other: Elicitation) -> None:
    with pytest.raises(WrongUser):
        choose(other, "replace", Claim(ALICE_CLAIM.iss, "bob"))
    with pytest.raises(BadRequest):
        choose(other, "everything")
    assert Connection.objects.filter(status="active").count() == 1


def test_t86_a_provider_that_does_not_listen_is_told_again(
    double: Provider, other: Elicitation, moving_clock: MovingClock
) -> None:
    choose(other, "back")
    double.scripted["revoke"] = Response(503)
    assert jobs.revoke_rejected_grants() == 0
    assert jobs.revoke_rejected_grants() == 0
    assert double.calls["revoke"] == 1
    del double.scripted["revoke"]
    moving_clock.forward(minutes=2)
    assert jobs.revoke_rejected_grants() == 1
    assert not any(issued.live for issued in double.tokens.values() if issued.user["sub"] == "bob")


def test_t86_the_tokens_of_a_refresh_that_a_rejection_needed_are_there_for_its_next_try(
    double: Provider, other: Elicitation, moving_clock: MovingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the used refresh token is refused at the next try, as if the grant had ended."""
    given: list[tuple[str, str]] = []
    first, fresh = rows.grant(double, account="bob"), rows.grant(double, account="bob")

    def tell(*args: Any) -> bool:
        given.append((args[1].reveal(), args[2].reveal()))
        if len(given) == 1:
            args[5](fresh)
            raise Transient("The provider did not answer.", sent=True)
        return True

    row = PendingGrant.objects.get()
    row.grant = pending_grants._sealed(row, first)
    row.save()
    monkeypatch.setattr(pending_grants, "tell_provider", tell)
    choose(other, "back")
    assert jobs.revoke_rejected_grants() == 0
    moving_clock.forward(minutes=2)
    assert jobs.revoke_rejected_grants() == 1
    tokens = [(one.access_token.reveal(), one.refresh_token and one.refresh_token.reveal()) for one in (first, fresh)]
    assert given == tokens


def test_an_account_that_lives_elsewhere_is_not_cut_off(
    known: Known, double: Provider, other: Elicitation, drive_row: ProviderRow
) -> None:
    rows.connection(rows.agent(), drive_row, rows.grant(account="bob"))
    double.calls.clear()
    choose(other, "back")
    assert jobs.revoke_rejected_grants() == 1
    assert double.calls["revoke"] == 0


@pytest.mark.parametrize(("user", "told"), [("alice", 0), ("bob", 1)])
def test_a_grant_that_comes_too_late_cuts_off_no_account_that_is_connected(
    known: Known, double: Provider, first: Connection, user: str, told: int
) -> None:
    """As many providers do, this one ends all tokens of an account together."""

    def end_all(request: Request) -> Response:
        for issued in double.tokens.values():
            issued.live = issued.live and issued.user["sub"] != user
        return Response(200)

    def called_off_meanwhile(request: Request) -> Response:
        elicitations.cancel(row)
        connections.close_all()
        return double._token(request)

    double.scripted["revoke"], double.scripted["token"] = end_all, called_off_meanwhile
    double.user = {"sub": user, "name": user.title()}
    row = ask(known, reuse="never")
    come_back(double, row, press(row))
    assert (row.status, double.calls["revoke"]) == ("cancelled", told)
    del double.scripted["token"]
    assert works(double, known, first) == "alice"


def test_t29_of_two_accounts_that_came_the_later_is_the_one_to_choose(
    double: Provider, first: Connection, other: Elicitation
) -> None:
    bobs = PendingGrant.objects.get()
    double.user = {"sub": "carol", "name": "Carol"}
    come_back(double, other, press(other, "again"))
    with pytest.raises(StartAgain):
        elicitations.choose(other.pk, ALICE_CLAIM, "both", bobs.pk)
    change = elicitations.look(other.pk, ALICE_CLAIM).change
    assert change
    assert change.came == "Carol"
    assert jobs.revoke_rejected_grants() == 1
    assert choose(other, "both").result["account"]["id"] == "carol"


def test_t62_only_ones_own_connection_is_connected_again(
    known: Known, first: Connection, drive_row: ProviderRow
) -> None:
    stranger = rows.agent()
    for owner, claim, named in (
        (stranger, ALICE_CLAIM, first.pk),
        (known, Claim(ALICE_CLAIM.iss, "bob"), first.pk),
        (known, ALICE_CLAIM, "cn_nothing"),
    ):
        with pytest.raises(Invalid) as refused:
            ask(owner, claim=claim, connection=named)
        assert refused.value.errors[0]["loc"] == ["params", "connection"]
    vault.revoke(first)
    with pytest.raises(Invalid):
        ask(known, connection=first.pk)


def test_the_connection_that_is_named_answers_and_no_other(
    known: Known, double: Provider, first: Connection, other: Elicitation
) -> None:
    choose(other, "both")
    again = ask(known, connection=first.pk)
    assert (again.status, again.reused, again.result["connection"]) == ("completed", True, first.pk)
    Connection.objects.filter(pk=first.pk).update(status="reauthorization_required")
    assert ask(known, connection=first.pk).status == "pending"
    assert ask(known).reused


def test_asking_for_more_takes_nothing_away(known: Known, double: Provider, first: Connection) -> None:
    more = ask(known, scopes=["files.write"])
    assert more.params["scopes"] == ["files.read", "files.write"]
    done = come_back(double, more, press(more))
    assert done.result["connection"] == first.pk
    assert done.result["scopes"] == ["files.read", "files.write"]


def test_what_was_granted_of_more_is_told(known: Known, double: Provider, first: Connection) -> None:
    double.reply = {"scope": "files.read"}
    assert connect(double, known, scopes=["files.write"]).result["scopes"] == ["files.read"]


@pytest.mark.parametrize(("issued", "reused"), [(True, True), (False, False)])
def test_offline_access_is_granted_by_the_refresh_token_whatever_scopes_are_named(
    known: Known, double: Provider, issued: bool, reused: bool
) -> None:
    """Microsoft never names it among the scopes of a token."""
    double.reply = {"scope": "files.read"} if issued else {"scope": "files.read", "refresh_token": None}
    asked = ["files.read", "offline_access"]
    granted = connect(double, known, scopes=asked).result["scopes"]
    assert granted == (asked if issued else ["files.read"])
    assert ask(known, scopes=asked).reused is reused
    if issued:
        rows.expire(Connection.objects.get())
        works(double, known, Connection.objects.get())
        assert ask(known, scopes=asked).reused


def test_a_scope_that_the_provider_names_otherwise_is_known_by_both_names(
    known: Known, double: Provider, drive_row: ProviderRow
) -> None:
    ProviderRow.objects.filter(pk=drive_row.pk).update(preset="google")
    long = "https://www.googleapis.com/auth/userinfo.email"
    double.reply = {"scope": f"openid {long}"}
    assert connect(double, known, scopes=["email"]).result["scopes"] == ["openid", long]
    assert [ask(known, scopes=[name]).reused for name in ("email", long, "profile")] == [True, True, False]
    assert vault.of_person(known.row, ALICE_CLAIM, provider="drive", scopes=["email"])
    with pytest.raises(InvalidScope):
        vault.of_person(known.row, ALICE_CLAIM, provider="drive", scopes=["profile"])


@pytest.mark.parametrize(("preset", "variables"), [("microsoft", {}), ("microsoft-tenant", {"tenant": "example.com"})])
def test_a_scope_of_microsoft_is_the_same_with_the_address_of_graph_before_it(
    known: Known, double: Provider, drive_row: ProviderRow, preset: str, variables: dict[str, str]
) -> None:
    """learn.microsoft.com, "Scopes and permissions": User.Read is equivalent to https://graph.microsoft.com/User.Read."""
    graph = "https://graph.microsoft.com/"
    ProviderRow.objects.filter(pk=drive_row.pk).update(preset=preset, variables=variables)
    double.reply = {"scope": f"openid Mail.Read {graph}User.Read"}
    connect(double, known, scopes=["Mail.Read", "User.Read"])
    for asked in (["User.Read"], ["Mail.Read", f"{graph}User.Read"], [f"{graph}Mail.Read"]):
        assert ask(known, scopes=asked).reused, asked
        assert vault.of_person(known.row, ALICE_CLAIM, provider="drive", scopes=asked)
    for asked in (["Mail.Send"], ["https://outlook.office.com/Mail.Read"]):
        assert not ask(known, scopes=asked).reused, asked


@pytest.mark.parametrize(
    ("preset", "variables"), [("github", {}), ("github-enterprise", {"host": "github.example.com"})]
)
def test_a_scope_within_a_wider_one_that_was_granted_is_there(
    known: Known, double: Provider, drive_row: ProviderRow, preset: str, variables: dict[str, str]
) -> None:
    """GitHub's answers leave out what a wider scope implies."""
    ProviderRow.objects.filter(pk=drive_row.pk).update(preset=preset, variables=variables)
    double.reply = {"scope": "repo,read:org"}
    asked = ["repo", "public_repo", "read:org"]
    assert connect(double, known, scopes=asked).result["scopes"] == ["repo", "read:org"]
    assert [ask(known, scopes=some).reused for some in (asked, ["repo:status"], ["write:org"])] == [True, True, False]


@pytest.mark.parametrize(("preset", "area"), [("shopify", "products"), ("calendly", "availability")])
def test_what_an_answer_leaves_out_beside_a_write_scope_is_there(
    known: Known, double: Provider, drive_row: ProviderRow, preset: str, area: str
) -> None:
    read, write = (f"read_{area}", f"write_{area}") if preset == "shopify" else (f"{area}:read", f"{area}:write")
    double.reply = {"scope": f"{write},x"}
    connect(double, known, scopes=[write, read, "x"])
    assert not ask(known, scopes=[read, write]).reused, "at most providers that is less than was asked for"
    ProviderRow.objects.filter(pk=drive_row.pk).update(preset=preset)
    assert [ask(known, scopes=some).reused for some in ([read, write], [read], ["y"])] == [True, True, False]


def test_with_several_accounts_the_scopes_are_those_of_the_one_that_is_named(
    known: Known, double: Provider, first: Connection, other: Elicitation
) -> None:
    choose(other, "both")
    Connection.objects.filter(pk=first.pk).update(scopes=["files.read", "files.delete"])
    assert ask(known, scopes=["files.write"]).params["scopes"] == ["files.write"]
    named = ask(known, scopes=["files.write"], connection=first.pk)
    assert named.params["scopes"] == ["files.read", "files.delete", "files.write"]


def test_the_provider_is_told_which_account_is_meant(
    known: Known, double: Provider, first: Connection, drive_row: ProviderRow
) -> None:
    assert "login_hint" not in query(press(ask(known, connection=first.pk, reuse="never")))
    ProviderRow.objects.filter(pk=drive_row.pk).update(scopes=["openid"])
    assert query(press(ask(known, connection=first.pk, reuse="never")))["login_hint"] == "alice"
    assert "login_hint" not in query(press(ask(known, reuse="never")))
