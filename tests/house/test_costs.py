"""What the operations cost that run all the time: Python calls, SQL statements and commits, each operation warm.

Time says little on a machine that has other work, and a benchmark there hides a fifth. These counts are the same
everywhere. ``make costs`` writes costs.toml anew; whoever makes an operation dearer says so by doing it.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tomllib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import pytest
from django.conf import settings
from django.db import connections
from django.test import Client
from django.test.utils import CaptureQueriesContext

from elicit_flows.job_table import AUDIT, PURGE
from elicit_flows.jobs import worker
from elicit_flows.lib import clock
from elicit_flows.models import Connection, Elicitation
from tests.house.conftest import Stage
from tests.support import rows
from tests.support.process import PROJECT
from tests.support.two_ways import Request

TABLE = Path(__file__).with_name("costs.toml")
# What a callback asks PostgreSQL, from the session to the last commit, each BEGIN and COMMIT counted.
ROUND_TRIPS = 10
LOOKS = sorted(worker.MAKE.keys() - {AUDIT.name, PURGE.name})  # those that look every few seconds
MORE = 1.03  # the calls of an operation may be this many times those in the table
RUNS = 8
PYTHON = platform.python_version_tuple()[:2]
W = TypeVar("W", bound="Calls | Statements")


class Calls:
    """Counts those of one thread."""

    def __init__(self) -> None:
        self.count = 0

    def start(self) -> None:
        sys.setprofile(self)

    def stop(self) -> None:
        sys.setprofile(None)

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        self.count += event in {"call", "c_call"}


class Statements:
    """Collects those of the thread that makes it."""

    def __init__(self) -> None:
        self._context = CaptureQueriesContext(connections["default"])

    def start(self) -> None:
        self._context.__enter__()

    def stop(self) -> None:
        self._context.__exit__(None, None, None)
        self.said = [query["sql"].strip().upper() for query in self._context.captured_queries]


Within = Callable[[Callable[[], Any]], Any]  # makes a call in a thread that works for the event loop


def watched(operation: Callable[[], object], within: Within | None, make: Callable[[], W]) -> list[W]:
    """What happens in this thread, and in the one that ``within`` is for."""
    here, there = make(), within(make) if within else None
    if within and there:
        within(there.start)
    here.start()
    try:
        operation()
    finally:
        here.stop()
        if within and there:
            within(there.stop)
    return [here, there] if there else [here]


def counted(within: Within | None, operations: Sequence[Callable[[], object]]) -> dict[str, int]:
    """Half of the operations are for the calls, half for the statements, and of each half the cheapest counts: others
    fill caches, collect garbage, or look up what is remembered for a second.
    """
    calls, statements = [], []
    for operation in operations[::2]:
        calls.append(sum(one.count for one in watched(operation, within, Calls)))
    for operation in operations[1::2]:
        said = [text for one in watched(operation, within, Statements) for text in one.said]
        commits = said.count("COMMIT")
        statements.append((len(said) - 2 * commits, commits))
    return {"calls": min(calls), "statements": min(statements)[0], "commits": min(statements)[1]}


def measured(stage: Stage) -> dict[str, dict[str, int]]:
    begun, person = [stage.create() for _ in range(RUNS)], Client()
    person.cookies[settings.SESSION_COOKIE_NAME] = stage.browser.session_key or ""
    pages = {"connect page": counted(None, [partial(person.get, f"/c/{row.pk}") for row in begun])}
    assert b'name="press"' in person.get(f"/c/{begun[0].pk}").content
    ways_back = [stage.press(row) for row in begun]
    question = rows.question(reuse="never")
    create = stage.request("POST", "/v1/elicitations", json.dumps(question).encode())
    ways, get = stage.ways, stage.request("GET", f"/v1/elicitations/{begun[0].pk}")
    costs = both_ways(stage, "create", create) | both_ways(stage, "get", get) | pages
    costs["callback"] = counted(None, [partial(stage.callback, brought) for brought in ways_back])
    fetch = stage.fetch(begun[0])
    assert ways.by_django(fetch).status == 200  # which notes the use
    costs |= both_ways(stage, "fetch a token", fetch)
    Connection.objects.update(refresh_due_at=None)
    for name in LOOKS:  # when nothing is due, which an agent that waits for an answer should not notice
        doing = worker.MAKE[name]()
        costs[f"a look of {name}"] = counted(None, [doing.start_due] * RUNS)
        doing.close()
    return costs


def both_ways(stage: Stage, name: str, request: Request) -> dict[str, dict[str, int]]:
    """The event loop's, and Django's."""
    assert stage.ways.by_fast_path(request)
    within = partial(stage.ways.in_thread, creates=name == "create")
    call = getattr(stage.agent, request.method.lower())
    by_django = partial(call, request.path, request.body or None, content_type="application/json")
    return {
        # more of these: how two threads meet decides whether some forty calls are made
        name: counted(within, [partial(stage.ways.by_fast_path, request)] * 5 * RUNS),
        f"{name}, by Django": counted(None, [by_django] * RUNS),
    }


def test_no_operation_costs_more_than_the_table_says(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "correction", clock.Correction())  # a test on PostgreSQL before may have measured one
    found = measured(stage)
    if os.environ.get("COSTS") == "write":
        lines = [f'python = "{".".join(PYTHON)}"', f"callback_round_trips = {ROUND_TRIPS}"]
        for name, costs in found.items():
            lines += ["", f'["{name}"]', *(f"{key} = {value}" for key, value in costs.items())]
        TABLE.write_text("# Written by make costs.\n" + "\n".join(lines) + "\n")
        print("\n" + TABLE.read_text())
        return
    table = tomllib.loads(TABLE.read_text())
    python = table.pop("python")
    assert table.pop("callback_round_trips") == ROUND_TRIPS, "run make costs"
    assert set(table) == set(found), "run make costs"
    for name, costs in found.items():
        most = table[name]
        assert costs["statements"] <= most["statements"], f"{name}: {costs}, and costs.toml says {most}"
        assert costs["commits"] <= most["commits"], f"{name}: {costs}, and costs.toml says {most}"
        if python == ".".join(PYTHON):  # another Python counts other calls
            assert costs["calls"] <= most["calls"] * MORE, f"{name}: {costs}, and costs.toml says {most}"


def test_a_callback_makes_no_more_round_trips_to_postgresql(stage_on_postgres: Stage) -> None:
    stage, person = stage_on_postgres, Client()
    person.cookies[settings.SESSION_COOKIE_NAME] = stage.browser.session_key or ""
    for _ in range(3):  # the first ones fill what is remembered, and an account that is connected again is updated
        brought = stage.press(stage.create())
        [seen] = watched(partial(person.get, "/callback/drive", brought), None, Statements)
    assert Connection.objects.count() == 1
    assert Elicitation.objects.filter(status="completed").count() == 3
    assert len(seen.said) == ROUND_TRIPS, seen.said
    assert seen.said.count("COMMIT") == 1


def test_the_benchmarks_start() -> None:
    """No other test runs them. They read this table, and have no settings of Django."""
    ran = subprocess.run(
        [sys.executable, "-m", "bench", "--help"], cwd=PROJECT, capture_output=True, text=True, check=False
    )
    assert "callback" in ran.stdout, ran.stderr


def test_the_server_starts_without_libraries_that_few_services_use() -> None:
    """They take long to import, and so each is imported by the function that uses it."""
    rare = {"apprise", "eth_account", "paypalserversdk", "qrcode", "requests", "stripe", "webauthn", "x402"}
    rare |= {"celery", "kombu", "psycopg", "redis"}  # of services that have no PostgreSQL and Redis
    rare |= {"django.test", "jinja2", "unittest"}  # which django-ninja would import
    rare |= {"elicit_flows.admin.registry", "segno"}  # of the admin and single pages
    code = f"import sys, config.asgi; print(sorted({rare} & set(sys.modules)))"
    ran = subprocess.run([sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"
