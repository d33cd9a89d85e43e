"""A row that was read by SQL written once is the row that Django reads."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db.models import F, Model, Q

from elicit_flows.domain.values import Claim
from elicit_flows.lib import clock
from elicit_flows.lib.compiled_query import CompiledQuery, compare_and_set, save
from elicit_flows.models import Connection, Elicitation
from tests.support import rows

CONNECTION = CompiledQuery(
    lambda agent, pk: Connection.objects.annotate(on=F("provider__enabled")).filter(agent=agent, pk=pk), 1, "cn"
)
# Two models away, and one of the parameters twice.
JOINED = CompiledQuery(
    lambda pk, iss: (
        Connection.objects.select_related("provider", "agent").annotate(mine=Q(iss=iss)).filter(pk=pk, iss=iss)
    ),
    "cn",
    "iss",
)


def cells(row: Model) -> dict[str, object]:
    return {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}


def check() -> None:
    known, drive = rows.agent(), rows.provider()
    made = rows.connection(known, drive)
    for _ in range(2):  # written, and as written before
        found = CONNECTION.get(known.row.pk, made.pk)
        assert cells(found) == cells(Connection.objects.get(pk=made.pk))
        assert found.on is True  # type: ignore[attr-defined]
        assert not found._state.adding
        assert found.provider.slug == drive.slug
    with pytest.raises(Connection.DoesNotExist):
        CONNECTION.get(known.row.pk + 1, made.pk)
    typed = Connection.objects.get(pk=made.pk)
    typed.pk, typed.provider = f"{made.pk}2", None
    typed.save(force_insert=True)
    for _ in range(2):
        found = JOINED.get(made.pk, made.iss)
        assert (cells(found.agent), found.mine) == (cells(known.row), True)  # type: ignore[attr-defined]
        assert found.provider is not None
        assert (cells(found.provider), found.provider._state.adding) == (cells(drive), False)
        assert JOINED.get(typed.pk, typed.iss).provider is None
    assert JOINED.first(made.pk, "https://another.example") is None
    check_writes(typed)


def check_writes(row: Connection) -> None:
    """Every column is what Django would have written, and another row keeps its own."""
    others = list(Connection.objects.exclude(pk=row.pk).values())
    row.scopes, row.metadata, row.expires_at, row.refresh_failures = ["a", "b"], {"x": [1]}, None, 3
    save(row)
    assert cells(Connection.objects.get(pk=row.pk)) == cells(row)
    new = Connection(agent=row.agent, iss="https://new.example", sub="new")
    save(new)
    assert not new._state.adding
    assert cells(Connection.objects.get(pk=new.pk)) == cells(new)
    old = Connection.objects.get(pk=row.pk)
    # NULL is compared as a value, one of several values will do, and what is read back has its Python type.
    now = clock.now()
    changes = {"scopes": ["c"], "refused_since": now, "last_refresh_error": ""}
    told = {"status": ["active", "revoked"], "refused_since": None, "refresh_failures": 3}
    returned = ("generation", "scopes", "refused_since", "metadata")
    for wrong in (
        {"status": ["revoked"]},
        {"status": []},
        {"refused_since": now},
        {"refresh_failures": None},
        {"sub": "x"},
    ):
        assert not compare_and_set(row, told | wrong, changes)
        assert not compare_and_set(row, told | wrong, changes, counter="generation", returned=returned)
    assert cells(Connection.objects.get(pk=row.pk)) == cells(old)
    assert compare_and_set(row, told, changes, counter="generation", returned=returned)
    assert (row.generation, row.scopes, row.refused_since, row.metadata) == (old.generation + 1, ["c"], now, {"x": [1]})
    assert cells(Connection.objects.get(pk=row.pk)) == cells(row)
    assert compare_and_set(row, {"refused_since": now}, {"refused_since": None})
    assert Connection.objects.get(pk=row.pk).refused_since is None
    assert list(Connection.objects.exclude(pk__in=[row.pk, new.pk]).values()) == others


@pytest.mark.django_db
def test_a_row_that_was_read_so_can_be_written() -> None:
    known = rows.agent()
    made = rows.connection(known, rows.provider())
    found = CONNECTION.get(known.row.pk, made.pk)
    found.account_label = "another"
    found.save(update_fields=["account_label"])
    assert Connection.objects.get(pk=made.pk).account_label == "another"


# Constants, a time, and a number of rows that each call gives.
DUE = CompiledQuery(
    lambda now, scope: (
        Connection.objects.filter(expires_at__lte=now, refresh_failures__lt=7, account_label="it's 100 %", iss=scope)
        .exclude(status="revoked")
        .order_by("expires_at")
    ),
    clock.now(),
    "iss",
    limited=True,
)


OF_AGENT = CompiledQuery(lambda agent: Connection.objects.filter(agent=agent, refresh_failures__lte=2), 1)


def check_constants() -> None:
    known, drive = rows.agent(), rows.provider()
    made = [rows.connection(known, drive, claim=Claim(rows.ISSUER, f"{number}")) for number in range(4)]
    now = clock.now()
    for number, each in enumerate(made):
        expires_at = now + timedelta(seconds=number - 1)
        Connection.objects.filter(pk=each.pk).update(expires_at=expires_at, account_label="it's 100 %")
    first, second, third, _ = made
    assert [row.pk for row in DUE.all(now, first.iss, 9)] == [first.pk, second.pk]
    assert [row.pk for row in DUE.all(now + timedelta(seconds=1), first.iss, 2)] == [first.pk, second.pk]
    assert [row.pk for row in DUE.all(now + timedelta(seconds=1), first.iss, 3)] == [first.pk, second.pk, third.pk]
    assert DUE.all(now, "another", 9) == []
    assert len(OF_AGENT.all(known.row.pk)) == 4
    Connection.objects.filter(pk=first.pk).update(status="revoked")
    Connection.objects.filter(pk=second.pk).update(account_label="100 %")
    assert DUE.all(now, first.iss, 9) == []


CHECKS = pytest.mark.parametrize("checked", [check, check_constants])  # every column; what is no argument


@CHECKS
@pytest.mark.django_db
def test_what_is_read_is_what_django_reads(checked: Callable[[], None]) -> None:
    checked()


@CHECKS
@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_on_postgresql_too(checked: Callable[[], None]) -> None:
    checked()


@pytest.mark.django_db
def test_what_may_be_another_value_the_next_time_is_refused() -> None:
    with pytest.raises(ValueError, match="neither an argument nor a constant"):
        CompiledQuery(lambda pk: Elicitation.objects.filter(pk=pk, expires_at__lte=clock.now()), "el").get("el_1")
    with pytest.raises(TypeError, match=r"text or a whole number, not 0\.5"):
        CompiledQuery(lambda: Elicitation.objects.extra(where=["seq > %s"], params=[0.5])).all()


@pytest.mark.django_db
def test_an_argument_that_was_changed_is_refused() -> None:
    with pytest.raises(ValueError, match="does not have each"):
        CompiledQuery(lambda pk: Elicitation.objects.filter(pk=pk.upper()), "el").get("el_1")
