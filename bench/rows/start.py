"""Starting: the processor time that importing the server takes, and the memory of one that nobody asks."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

from bench import machine
from bench.findings import Finding, Goal
from bench.ground import Ground, settle
from bench.plan import Plan
from bench.rounds import Sample, interleaved
from tests.support.box import Box, answers_ready
from tests.support.process import PROJECT, clean_env, guard, until

TITLE = "Start"
IMPORT = "import config.asgi"
END = "import os; os._exit(0)"  # without freeing all that was imported, which a server never does


def measure(ground: Ground, plan: Plan) -> Iterator[Finding]:
    box = ground.box(start=False, sqlite=True, settings={"DJANGO_SETTINGS_MODULE": "config.settings"})
    found = interleaved(plan.rounds, server=lambda: _import(box), python=lambda: _run(box, "pass"))
    beside = f"{found.span('server', 'cpu', 's')}; Python alone {found.span('python', 'cpu', 's')}"
    yield Finding("processor time to import the server", found.median("server", "cpu"), "s", Goal("≤", 1.0), beside)
    yield Finding(
        "memory of an idle server", _idle_megabytes(ground, box), "MB", Goal("≤", 90), "resident, embedded on SQLite"
    )


def _import(box: Box) -> Sample:
    return _run(box, IMPORT)


def _run(box: Box, program: str) -> Sample:
    """User and system time of a new Python that runs ``program``; its bytecode is compiled already."""
    before = os.times()
    subprocess.run([sys.executable, "-c", f"{program}\n{END}"], env=clean_env(box.env), cwd=PROJECT, check=True)
    after = os.times()
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return {"cpu": spent}


def _idle_megabytes(ground: Ground, box: Box) -> float:
    """Of a process of its own: the tests' ``Process`` may be forked from a loaded server, whose pages would count."""
    command = [sys.executable, "manage.py", "serve", "--port", str(box.ports[0])]
    with (ground.home / "idle.log").open("wb") as log:
        server = subprocess.Popen(command, env=clean_env(box.env), cwd=PROJECT, stdout=log, stderr=log)
    guard(server.pid)
    try:
        until(lambda: answers_ready(box.url), "the idle server answers /readyz with 200", timeout=60)
        settle(server.pid)
        return machine.memory(server.pid) / 1e6
    finally:
        server.terminate()
        server.wait()
