"""What an author's own type checker says of calls to the SDK, right ones and wrong ones: mypy's and pyright's."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import op
from tests.support.process import PROJECT, clean_env

pytestmark = pytest.mark.slow

CALLS = """
from dataclasses import dataclass
from typing import TypedDict, assert_type
from elicit_flows.sdk.mcp import McpFlows
from elicit_flows.sdk import (
    Answered, Completed, Draft, Elicit, Elicitation, Event, OnUrl, Outcome, RateLimitedError, SyncElicit, Token, User
)

USER = ("https://idp.example", "alice")

def called(elicit: SyncElicit) -> None:
    outcome = elicit.oauth(USER, "acme", scopes=["a"], message="m", on_url=print, timeout=3, expires_in=60)
    assert_type(outcome, Outcome)
    assert_type(elicit.token(outcome), Token)
    assert_type(elicit.answer("el_1", "q", {"state": "draft", "value": 3}, seq=2), Draft)
    assert_type(elicit.ask_again("el_1", params={}), Elicitation)
    assert_type(next(elicit.events()), Event)
    elicit.oauth(USER, "acme", message="m")  # wrong
    elicit.oauth(USER, "acme", message="m", on_url=print, expires="soon")  # wrong
    elicit.payment(USER, "5.00", "eur", description="d", message="m", on_url=print)  # wrong
    elicit.answer("el_1", "q", {"state": "sent"})  # wrong

def narrowed(elicit: SyncElicit, user: User, show: OnUrl) -> str:
    outcome = elicit.oauth(user, "acme", scopes="files.read", on_url=show)
    outcome.connection  # wrong
    if outcome:
        assert_type(outcome, Completed)
        return outcome.connection
    outcome.result  # wrong
    return outcome.elicitation.id

@dataclass
class Trip:
    city: str

class Stay(TypedDict):
    nights: int

def answered(elicit: SyncElicit) -> None:
    trip = elicit.form(USER, Trip, message="m", on_url=print, expires_in=60)
    trip.data  # wrong
    if trip:
        assert_type(trip.data, Trip)
    stay = elicit.form(USER, Stay, message="m", on_url=print)
    if stay:
        assert_type(stay.data, Stay)
    assert_type(elicit.form(USER, {"type": "object"}, message="m", on_url=print), Outcome)
    elicit.form(USER, Trip, on_url=print)  # wrong
    assert_type(elicit.with_options(timeout=2), SyncElicit)

async def inside(flows: McpFlows) -> None:
    assert_type(await flows.form(Trip, message="m"), Answered[Trip])
    assert_type(await flows.confirm("m"), Completed)
    no = await flows.form(Trip, message="m").outcome()
    no.data  # wrong
    if no:
        assert_type(no.data, Trip)

def limited(refused: RateLimitedError) -> None:
    assert_type(refused.retry_after, float | None)
    assert_type(refused.request_id, str | None)

async def awaited(elicit: Elicit) -> None:
    assert_type(await elicit.draft("el_1"), Draft)
    elicit.wait("el_1", timeout="1")  # wrong
"""


WRONG = {number for number, line in enumerate(CALLS.splitlines(), start=1) if line.endswith("# wrong")}


def test_mypy_knows_every_call_of_both_clients(tmp_path: Path) -> None:
    file = tmp_path / "calls.py"
    file.write_text(CALLS)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={tmp_path}", str(file)]
    ran = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert {int(line) for line in re.findall(r"calls\.py:(\d+): error", ran.stdout)} == WRONG, ran.stdout


def test_pyright_knows_them_too(tmp_path: Path) -> None:
    """What ``if outcome:`` says of an outcome above all, which needs ``__bool__`` to have a literal type."""
    (tmp_path / "calls.py").write_text(CALLS)
    config = {"include": ["calls.py"], "extraPaths": [str(PROJECT)], "typeCheckingMode": "standard"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(config))
    pyright = op.PEERS / "node_modules" / "pyright" / "index.js"
    command = [str(op.node()), str(pyright), "--outputjson", "--pythonpath", sys.executable, "-p", str(tmp_path)]
    ran = subprocess.run(command, cwd=tmp_path, env=clean_env(), capture_output=True, text=True, check=False)
    found = json.loads(ran.stdout)["generalDiagnostics"]
    errors = {one["range"]["start"]["line"] + 1 for one in found if one["severity"] == "error"}
    assert errors == WRONG, "\n".join(f"{one['range']['start']['line'] + 1}: {one['message']}" for one in found)
