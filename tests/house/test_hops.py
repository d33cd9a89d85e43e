"""How far five journeys go through the code: files, functions, and changes of file on the way, each journey warm.

``make hops`` writes the table that stands in docs/explanation/architecture.md, and prints it; with ``HOPS=list`` it
prints each journey's functions instead, in the order of their first call. A journey that has become
longer than its row there fails: whoever makes it longer says so by writing the table anew. Below the table stands
how many private functions there are in 1,000 lines of the product.
"""

from __future__ import annotations

import ast
import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType

import pytest

from elicit_flows import vault
from elicit_flows.api import auth
from elicit_flows.elicitations import agent_access
from tests.house.conftest import Stage
from tests.support import jobs
from tests.support.two_ways import TwoWays

PRODUCT = str(Path(vault.__file__).parents[1])
DOCUMENT = Path(__file__).parents[2] / "docs/explanation/architecture.md"
BEGIN, END = "<!-- hops: written by make hops -->", "<!-- end of hops -->"
HEAD = """| journey | files at first | now | goal | functions at first | now | goal |
| --- | --- | --- | --- | --- | --- | --- |"""
# What tests before this one have left undone may be done within a journey: a wake-up, a counter that is written.
FILES_MORE, FUNCTIONS_MORE = 2, 8
PRIVATE_MORE, PRIVATE_GOAL = 0.3, 10
# Files and functions when this was first measured, and what is wanted.
JOURNEYS = {
    "create": ((25, 60), (14, 35)),
    "callback, from the view on": ((42, 147), (22, 80)),
    "fetch a token": ((16, 39), (9, 20)),
    "fetch with a refresh": ((41, 140), (20, 75)),
    "deliver a webhook": ((14, 56), (8, 30)),
}


@dataclass
class Hops:
    """What a journey ran through. ``changes`` counts each call from one file into another."""

    files: set[str]
    functions: dict[CodeType, int]  # in the order of their first call, with how often each was called
    changes: int = 0

    def __str__(self) -> str:
        return f"{len(self.files)} files, {len(self.functions)} functions, {self.changes} changes of file"


@contextmanager
def counted(ways: TwoWays | None = None) -> Iterator[Hops]:
    """The product's functions that are called within, by whichever thread is new, and the one that reads for the event
    loop.
    """
    hops, last, turn = Hops(set(), {}), [""], threading.Lock()

    def note(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(PRODUCT) or code.co_name.startswith("<"):
            return
        with turn:
            hops.functions[code] = hops.functions.get(code, 0) + 1
            hops.files.add(code.co_filename)
            hops.changes += code.co_filename != last[0]
            last[0] = code.co_filename

    threading.setprofile(note)
    if ways:
        ways.in_thread(lambda: sys.setprofile(note))
    sys.setprofile(note)
    try:
        yield hops
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        if ways:
            ways.in_thread(lambda: sys.setprofile(None))


def journeys(stage: Stage) -> Iterator[tuple[str, Hops]]:
    """Each journey once to warm what is remembered between requests, and once counted."""
    for warm in (False, True):
        with counted() as create:
            row = stage.create()
        brought = stage.press(row)
        with counted() as callback:
            stage.callback(brought)
        stage.token(row)  # which notes the use
        fetch = stage.fetch(row)
        stage.ways.by_fast_path(fetch)
        answer = stage.ways.begin(fetch)
        with counted(stage.ways) as token:
            assert answer()
        stage.expire(row)
        with counted() as refresh:
            stage.token(row)
        with counted() as webhook:
            jobs.deliver()
        if warm:
            yield from zip(JOURNEYS, (create, callback, token, refresh, webhook), strict=True)


def private_functions() -> float:
    """How many private functions and methods there are in 1,000 lines of the product, without its migrations."""
    lines = found = 0
    for path in Path(PRODUCT).rglob("*.py"):
        if "migrations" not in path.parts:
            text = path.read_text()
            lines += text.count("\n")
            functions = (
                node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            )
            found += sum(one.name.startswith("_") and not one.name.endswith("__") for one in functions)
    return found * 1000 / lines


def test_the_journeys_are_no_longer_than_the_table_says(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    for cache in (auth.remembered, agent_access._remembered):  # their second is over too soon on a busy machine
        monkeypatch.setattr(cache, "seconds", 60.0)
    measured = dict(journeys(stage))
    if os.environ.get("HOPS") == "list":
        for name, hops in measured.items():
            print(f"\n{name}: {hops}")
            for code, calls in hops.functions.items():
                place = code.co_filename.removeprefix(f"{PRODUCT}/")
                print(f"  {place}:{code.co_firstlineno} {code.co_qualname}" + f" ({calls} times)" * (calls > 1))
        return
    page = DOCUMENT.read_text()
    before, _, rest = page.partition(BEGIN)
    _, _, behind = rest.partition(END)
    if os.environ.get("HOPS") == "write":
        lines = [HEAD]
        for name, hops in measured.items():
            first, goal = JOURNEYS[name]
            cells = (name, first[0], len(hops.files), goal[0], first[1], len(hops.functions), goal[1])
            lines.append(f"| {' | '.join(map(str, cells))} |")
        lines += ["", f"Private functions in 1,000 lines: {private_functions():.1f}; the goal is {PRIVATE_GOAL}."]
        table = "\n".join(lines)
        DOCUMENT.write_text(f"{before}{BEGIN}\n\n{table}\n\n{END}{behind}")
        print(f"\n{table}")
        return
    for name, hops in measured.items():
        row = re.search(rf"^\| {name} \| \d+ \| (\d+) \| \d+ \| \d+ \| (\d+) \|", rest, re.MULTILINE)
        assert row, f"run make hops: {name} is not in the table"
        most = (int(row[1]) + FILES_MORE, int(row[2]) + FUNCTIONS_MORE)
        assert len(hops.files) <= most[0], f"{name}: {hops}; see make hops"
        assert len(hops.functions) <= most[1], f"{name}: {hops}; see make hops"
    said = re.search(r"^Private functions in 1,000 lines: ([\d.]+)", rest, re.MULTILINE)
    assert said, "run make hops: how many private functions there are is not below the table"
    assert private_functions() <= float(said[1]) + PRIVATE_MORE, (
        "more private functions: write in place what is called once"
    )
