"""T137: a provider that does not say whose account it is. Nothing is put in its place without the person's word."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections as databases

from elicit_flows import elicitations, vault
from elicit_flows.domain.errors import StartAgain
from elicit_flows.models import Connection, Elicitation, PendingGrant
from elicit_flows.models import Provider as ProviderRow
from tests.doubles.provider import Provider
from tests.oauth.journey import BROWSER, ask, come_back, press, told
from tests.support import rows
from tests.support.rows import ALICE_CLAIM, Known


def connect(double: Provider, known: Known, **asked: object) -> Elicitation:
    """The whole way, at a provider that says nothing of whose account it is."""
    double.user = {"plan": "free"}
    row = ask(known, reuse="never", **asked)
    return come_back(double, row, press(row))


def choose(row: Elicitation, choice: str, earlier: str = "") -> Elicitation:
    waiting = vault.pending_grant(row)
    return elicitations.choose(row.pk, ALICE_CLAIM, choice, waiting.pk if waiting else "", earlier)


def token_of(known: Known, row: Connection) -> str:
    return str(vault.token(known.row, row.pk)["access_token"])


@pytest.fixture
def first(known: Known, double: Provider, drive_row: ProviderRow) -> Connection:
    done = connect(double, known)
    assert (done.status, done.result["account"]) == ("completed", None)
    assert done.result["label"].startswith("connected on ")
    return Connection.objects.get()


@pytest.fixture
def second(known: Known, double: Provider, first: Connection) -> Elicitation:
    return connect(double, known)


def test_t137_a_second_one_changes_nothing_before_a_word(known: Known, first: Connection, second: Elicitation) -> None:
    before = token_of(known, first)
    assert (second.status, second.result, Connection.objects.count()) == ("started", None, 1)
    change = elicitations.look(second.pk, ALICE_CLAIM).change
    assert change
    assert (change.came, change.meant, [one.id for one in change.earlier]) == ("", None, [first.pk])
    assert token_of(known, first) == before
    assert "elicitation.completed" not in told(known)[-2:]


def test_t137_the_same_account_renews_its_connection(known: Known, first: Connection, second: Elicitation) -> None:
    before = token_of(known, first)
    done = choose(second, "same", first.pk)
    assert (done.status, done.result["connection"], Connection.objects.count()) == ("completed", first.pk, 1)
    assert token_of(known, first) != before
    assert not PendingGrant.objects.exists()


def test_t137_another_account_stands_beside_it_and_a_third_is_asked_about_both(
    known: Known, double: Provider, first: Connection, second: Elicitation
) -> None:
    before = token_of(known, first)
    done = choose(second, "both")
    other = Connection.objects.exclude(pk=first.pk).get()
    assert (done.result["connection"], token_of(known, first)) == (other.pk, before)
    assert token_of(known, other) != before
    third = connect(double, known)
    change = elicitations.look(third.pk, ALICE_CLAIM).change
    assert change
    assert [one.id for one in change.earlier] == [first.pk, other.pk]
    assert choose(third, "same", other.pk).result["connection"] == other.pk
    assert token_of(known, first) == before
    again = ask(known)
    assert (again.reused, again.result["connection"]) == (True, other.pk), "the newest answers"
    named = ask(known, connection=first.pk)
    assert (named.reused, named.result["connection"]) == (True, first.pk)


def test_t137_instead_ends_the_earlier_one(known: Known, first: Connection, second: Elicitation) -> None:
    done = choose(second, "replace", first.pk)
    first.refresh_from_db()
    assert (first.status, done.status) == ("revoked", "completed")
    assert Connection.objects.get(status="active").pk == done.result["connection"] != first.pk


def test_t137_going_back_keeps_nothing(known: Known, first: Connection, second: Elicitation, double: Provider) -> None:
    before = token_of(known, first)
    assert choose(second, "back").status == "started"
    assert (elicitations.look(second.pk, ALICE_CLAIM).change, token_of(known, first)) == (None, before)


def test_t137_connecting_a_named_one_again_asks_too(known: Known, double: Provider, first: Connection) -> None:
    Connection.objects.filter(pk=first.pk).update(status="reauthorization_required")
    row = connect(double, known, connection=first.pk)
    change = elicitations.look(row.pk, ALICE_CLAIM).change
    assert change
    assert [(one.id, one.meant) for one in change.earlier] == [(first.pk, True)]
    assert elicitations.look(row.pk, ALICE_CLAIM).what["again_since"] == first.created_at
    assert choose(row, "same", first.pk).result["connection"] == first.pk
    assert Connection.objects.get().status == "active"


def test_t137_a_provider_that_says_it_from_now_on_gives_the_earlier_one_its_name(
    known: Known, double: Provider, first: Connection
) -> None:
    row = ask(known, reuse="never")
    double.user = {"sub": "bob", "name": "Bob"}
    assert come_back(double, row, press(row)).status == "started"
    change = elicitations.look(row.pk, ALICE_CLAIM).change
    assert change
    assert (change.came, [one.id for one in change.earlier]) == ("Bob", [first.pk])
    done = choose(row, "same", first.pk)
    assert (done.result["connection"], done.result["account"]) == (first.pk, {"id": "bob", "label": "Bob"})
    row = ask(known, reuse="never")
    assert come_back(double, row, press(row)).result["connection"] == first.pk, "now it is known, nobody is asked"


def test_t29_a_named_one_is_not_renewed_by_an_account_that_is_not_named(known: Known, double: Provider) -> None:
    row = ask(known)
    come_back(double, row, press(row))
    named = Connection.objects.get()
    row = connect(double, known, connection=named.pk)
    change = elicitations.look(row.pk, ALICE_CLAIM).change
    assert change
    assert (change.came, change.meant, change.earlier) == ("", "Alice Example", ())
    with pytest.raises(StartAgain):
        choose(row, "same", named.pk)
    assert choose(row, "both").result["account"] is None


@pytest.mark.parametrize("choice", ["same", "replace"])
def test_t137_nobody_elses_connection_is_put_in_or_ended(
    known: Known, double: Provider, drive_row: ProviderRow, second: Elicitation, choice: str
) -> None:
    stranger = rows.connection(rows.agent(), drive_row, rows.grant(account=None))
    for wrong in (stranger.pk, "cn_nothing"):
        with pytest.raises(StartAgain):
            choose(second, choice, wrong)
    assert (vault.pending_grant(second) is not None, Connection.objects.filter(status="active").count()) == (True, 2)


def test_t137_a_yes_that_was_for_no_other_is_asked_again_when_there_is_one(
    known: Known, double: Provider, first: Connection, second: Elicitation
) -> None:
    with pytest.raises(StartAgain):
        choose(second, "yes")
    assert vault.pending_grant(second)
    vault.revoke(first)
    with pytest.raises(StartAgain):
        choose(second, "same", first.pk)
    assert choose(second, "both").status == "completed"


def test_t137_of_two_that_come_back_at_once_one_is_asked(
    known: Known, double: Provider, drive_row: ProviderRow
) -> None:
    double.user = {"plan": "free"}
    asked = [ask(known, reuse="never") for _ in range(4)]
    answers = [(row, double.visit(press(row, f"press-{place}"))) for place, row in enumerate(asked)]

    def land(row: Elicitation, fields: dict[str, list[str]]) -> None:
        elicitations.resume("drive", elicitations.callback.Answer(fields), row.claim, BROWSER)
        databases.close_all()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda one: land(*one), answers))
    stands = sorted(Elicitation.objects.filter(pk__in=[row.pk for row in asked]).values_list("status", flat=True))
    assert stands == ["completed", "started", "started", "started"]
    assert Connection.objects.count() == 1


def test_two_of_no_name_are_told_apart_by_when_they_were_connected(
    known: Known, double: Provider, first: Connection, second: Elicitation
) -> None:
    Connection.objects.filter(pk=first.pk).update(created_at="2026-03-05T09:07:00Z")
    done = choose(second, "both")
    first.refresh_from_db()
    assert first.summary()["label"] == "connected on 5 March 2026, 09:07 UTC"
    assert done.result["label"] != first.label
    assert first.summary()["account"] is None
