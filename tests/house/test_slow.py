"""``make test`` leaves out slow tests. Each threat keeps at least one test that is not slow."""

from __future__ import annotations

import ast

from tests.house import threats


def slow_names(source: str) -> set[str] | None:
    """The test functions that bear the marker; None where the file does."""
    found = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and _says_slow(node.value) and _name(node.targets[0]) == "pytestmark":
            return None
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and any(map(_is_slow, node.decorator_list)):
            found.add(node.name)
    return found


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _is_slow(node: ast.expr) -> bool:
    return ast.unparse(node) == "pytest.mark.slow"


def _says_slow(node: ast.expr) -> bool:
    return any(_is_slow(one) for one in (node.elts if isinstance(node, ast.List) else [node]))


def quick() -> set[int]:
    """The threats that have a test without the marker."""
    marked: dict[str, set[str] | None] = {}
    found = set()
    for (letter, number), tests in threats.found().items():
        for path, name in (test.split("::") for test in tests):
            if path not in marked:
                marked[path] = slow_names((threats.ROOT / path).read_text(encoding="utf-8"))
            slow = marked[path]
            if letter == "t" and slow is not None and name not in slow:
                found.add(number)
    return found


def test_make_test_has_a_test_of_every_threat() -> None:
    covered = {number for letter, number in threats.found() if letter == "t"}
    assert covered - quick() == set()


def test_the_marker_is_seen_at_a_test_and_at_a_file() -> None:
    assert slow_names("@pytest.mark.slow\ndef test_a(): pass\ndef test_b(): pass\n") == {"test_a"}
    assert slow_names("pytestmark = [pytest.mark.slow, pytest.mark.anyio]\ndef test_a(): pass\n") is None
    assert slow_names("pytestmark = pytest.mark.anyio\ndef test_a(): pass\n") == set()
