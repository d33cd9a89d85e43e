"""``docs/reference/protocols.md`` and ``docs/explanation/conformance.md`` name only what exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import elicit_flows.wires
from elicit_flows.wires import MESSAGES
from tests.support.process import PROJECT

TEXT = (PROJECT / "docs/reference/protocols.md").read_text()
ROW = re.compile(r"^\| ((?:L|ACP|AHP|MT|T)-\d+) \| .+ \| (.+) \|$", re.MULTILINE)

CONFORMANCE = (PROJECT / "docs/explanation/conformance.md").read_text()
MOST = {"ACP": 18, "AHP": 16, "L": 17, "MT": 9, "T": 11}


def known_tests() -> set[str]:
    folders = [path for path in (PROJECT / "tests").iterdir() if path.is_dir() and path.name != "peers"]
    files = [file for folder in folders for file in folder.rglob("test_*.py")]
    return {
        name for file in files for name in re.findall(r"^(?:async )?def (test_\w+)", file.read_text(), re.MULTILINE)
    }


def test_every_feature_row_names_a_test_that_there_is_or_says_why_not():
    rows = ROW.findall(CONFORMANCE)
    wanted = [f"{name}-{number}" for name, most in MOST.items() for number in range(1, most + 1)]
    assert [name for name, _ in rows] == wanted
    known = known_tests()
    for name, said in rows:
        named = set(re.findall(r"`(test_\w+)`", said))
        assert named <= known, name
        assert named or len(said) > 40, f"{name} says neither"


def test_every_case_of_mcp_names_tests_that_there_are():
    text = CONFORMANCE
    numbers = [int(number) for row in re.findall(r"^\| ([\d, ]+) \|", text, re.MULTILINE) for number in row.split(",")]
    assert sorted(numbers) == list(range(1, 26))
    assert set(re.findall(r"`(test_\w+)`", text)) <= known_tests()


@pytest.mark.parametrize("protocol", MESSAGES)
def test_every_protocol_has_its_row(protocol: str):
    assert re.search(rf"^\| `{re.escape(protocol)}` \| .+ \| .+ \| .+ \|$", TEXT, re.MULTILINE)


def test_every_older_dialect_is_told_of():
    modules = {path.stem for path in Path(elicit_flows.wires.__file__).parent.glob("*.py")}
    told = set(re.findall(r"^\| `(\w+)` \| .+ \| .+ \|$", TEXT, re.MULTILINE))
    assert {"ahp_session_input", "acp_session_elicitation", "mcp_input_list"} <= told & modules
