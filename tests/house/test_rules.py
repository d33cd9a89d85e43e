"""The house rules find the faults that they are made for."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.house import rules

ROOT = Path(__file__).resolve().parents[2]

BROKEN = [
    ("try:\n    pass\nexcept Exception:\n    pass\n", "catch what you expect"),
    ("def f():\n    import json\n", "import inside a function"),
    ("Elicitation.objects.filter(pk=1).update(status='completed')\n", "only elicitations/ writes the status"),
    ("secret.reveal()\n", "a secret is revealed"),
    ('compare_and_set(row, {}, {"status": "completed"})\n', "write rows with the ORM"),
    ("def f():\n" + "    x = 1\n" * 60, "over 50"),
]


@pytest.mark.parametrize(("code", "told"), BROKEN)
def test_each_rule_notices_what_it_is_for(code: str, told: str) -> None:
    found = [what for node in ast.walk(ast.parse(code)) for _, what in rules.check_node("elicit_flows/api/x.py", node)]
    assert any(told in what for what in found)


def test_the_product_keeps_the_rules() -> None:
    assert [fault for path in rules.sources() for fault in rules.check(path)] == []


def test_a_file_over_the_limit_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "ROOT", tmp_path)
    (tmp_path / "long.py").write_text("x = 1\n" * (rules.MAX_FILE + 1))
    assert [what for _, _, what in rules.check("long.py")] == ["a file over 400 lines is two things: find the seam"]
