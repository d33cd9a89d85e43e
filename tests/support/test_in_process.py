"""Which database and which settings the code meets when a test runs it in its own process."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import connection, connections
from django.utils import timezone

from elicit_flows.elicitations import agent_access
from tests.support import rows, serving
from tests.support.environment import FULL

USUAL = "postgresql" if FULL else "sqlite"


def keep(key: str) -> None:
    Session.objects.create(session_key=key, session_data="", expire_date=timezone.now())


@pytest.mark.django_db
def test_the_usual_database_is_that_of_the_shape() -> None:
    assert connection.vendor == USUAL
    keep("usual")


@pytest.mark.django_db
def test_nothing_of_one_test_reaches_the_next() -> None:
    assert not Session.objects.filter(session_key="usual").exists()


@pytest.mark.django_db(transaction=True)
def test_sqlite_is_a_file_that_threads_share() -> None:
    keep("a")
    found: list[int] = []

    def count() -> None:
        found.append(Session.objects.count())
        connections.close_all()

    thread = threading.Thread(target=count)
    thread.start()
    thread.join()
    assert found == [1]
    assert FULL or Path(str(connection.settings_dict["NAME"])).is_file()


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_marked_test_is_on_postgresql_in_every_thread() -> None:
    vendors: list[str] = []

    def look() -> None:
        keep("b")
        vendors.append(connection.vendor)
        connections.close_all()

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert (vendors, connection.vendor, Session.objects.count()) == (["postgresql"], "postgresql", 1)


@pytest.mark.django_db
def test_after_a_marked_test_the_usual_database_is_back() -> None:
    assert connection.vendor == USUAL
    assert Session.objects.count() == 0


def test_nothing_under_var_is_used() -> None:
    assert settings.SECRET_KEY.startswith("only for the test process")
    assert "var" not in Path(str(connection.settings_dict["NAME"])).parts


@pytest.mark.parametrize("slug", ["drive", "sheets"])
def test_what_the_process_remembers_of_one_database_is_not_taken_for_another(on_postgres: str, slug: str) -> None:
    """Both agents have the same number, and a process remembers for a second what an agent may do."""
    rows.provider(slug=slug)
    assert list(agent_access.of(rows.agent().row).providers) == [slug]


def test_a_thread_that_is_busy_hangs_up_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else its connection is let go open, which fails whichever test runs when it is collected."""
    closed: set[int] = set()
    monkeypatch.setattr(serving.connections, "close_all", lambda: closed.add(threading.get_ident()))
    go_on = threading.Event()
    with ThreadPoolExecutor(4) as pool:
        busy = pool.submit(lambda: go_on.wait(10) and threading.get_ident())
        threading.Timer(0.1, go_on.set).start()
        serving.hang_up(pool)
        assert closed == {busy.result(10)}
