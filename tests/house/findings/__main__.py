"""``make findings``: what the reviews found, shown on the commit that was reviewed.

It takes that commit as it was and puts the folder reviewed/ into its tests. Each test there has the name of one of
today's, asks the same of the product of that commit, and has to fail for the reason that findings.toml states.
``python -m tests.house.findings "security H1"`` runs the tests of these alone; ``--keep FOLDER`` leaves the tree there.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from tests.support.process import PROJECT

REVIEWED = "bb257c4"
HERE = Path(__file__).parent
# What is not in git, and is the same for both.
BESIDE = ("tests/peers/node_modules",)


@dataclass(frozen=True)
class Finding:
    """``fails``: tests below reviewed/, and a part of what each says when it fails on REVIEWED."""

    id: str
    fault: str
    fails: Mapping[str, str]


@dataclass(frozen=True)
class Case:
    """One run of a test: ``outcome`` is passed, failure, error or skipped; ``said`` is what it printed."""

    outcome: str
    said: str


def read() -> list[Finding]:
    """The table findings.toml."""
    return [Finding(**entry) for entry in tomllib.loads((HERE / "findings.toml").read_text())["finding"]]


def build(tree: Path) -> None:
    """Put the product of REVIEWED, its tests and those of reviewed/ into the empty folder ``tree``.

    Raises SystemExit where this clone does not have that commit.
    """
    packed = subprocess.run(["git", "archive", REVIEWED], cwd=PROJECT, capture_output=True, check=False)
    if packed.returncode:
        sys.exit(f"This clone has no commit {REVIEWED}. If it is shallow, git fetch --unshallow brings it.")
    subprocess.run(["tar", "x"], cwd=tree, input=packed.stdout, check=True)
    shutil.copytree(HERE / "reviewed", tree / "tests" / "reviewed")
    # Some tests ask git which files the project has.
    for command in (["init", "--quiet"], ["add", "--all"]):
        subprocess.run(["git", "-c", "init.defaultBranch=main", *command], cwd=tree, check=True)
    for name in BESIDE:
        if (PROJECT / name).exists():
            (tree / name).symlink_to(PROJECT / name)


def run(tree: Path, tests: list[str]) -> dict[str, list[Case]]:
    """How each test of ``tests/reviewed`` ended there, a case for each of its parameters."""
    report = tree / "report.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", f"--junit-xml={report}"]
    env = {**os.environ, "PYTHONPATH": str(tree)}
    chosen = [f"tests/reviewed/{test}" for test in tests]
    subprocess.run([*command, *chosen], cwd=tree, env=env, stdout=subprocess.DEVNULL, check=False)
    found = defaultdict(list)
    for one in ElementTree.parse(report).iter("testcase"):
        file = (one.get("classname") or "").removeprefix("tests.reviewed.").replace(".", "/")
        name = f"{file}.py::{(one.get('name') or '').partition('[')[0]}"
        ended = next((part for part in one if part.tag in {"failure", "error", "skipped"}), None)
        said = "" if ended is None else f"{ended.get('message')}\n{ended.text}"
        found[name].append(Case("passed" if ended is None else ended.tag, said))
    return found


def fault_of(cases: list[Case], says: str) -> str:
    """Why these cases do not show the finding; "" if they do: one fails for its reason, and none by anything else."""
    if not cases:
        return "was not run"
    others = [one for one in cases if one.outcome in {"error", "skipped"}]
    if others:
        return f"{others[0].outcome}: {others[0].said.strip()[:300]}"
    failed = [one for one in cases if one.outcome == "failure"]
    if not failed:
        return "passed"
    if not any(says in one.said for one in failed):
        return f"failed otherwise: {failed[0].said.strip()[:300]}"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(prog="findings", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("ids", nargs="*", help='"security H1" …; all unless given')
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave the tree there")
    given = parser.parse_args()
    chosen = [one for one in read() if not given.ids or one.id in given.ids]
    if not chosen:
        parser.error(f"there is no such finding; there are {', '.join(one.id for one in read())}")
    if given.keep:
        given.keep.mkdir(parents=True)
        return show(given.keep.resolve(), chosen)
    with tempfile.TemporaryDirectory(prefix="elicit-findings-") as home:
        return show(Path(home), chosen)


def show(tree: Path, chosen: list[Finding]) -> int:
    """Print how the tests of each end in ``tree``; 1 if one of them does not show its finding."""
    build(tree)
    found = run(tree, sorted({test for one in chosen for test in one.fails}))
    green = 0
    for one in chosen:
        print(f"{one.id}: {one.fault}")
        for test, says in one.fails.items():
            fault = fault_of(found[test], says)
            green += bool(fault)
            print(f"    {f'NOT SHOWN, {fault}' if fault else 'fails'}: {test}")
    print(f"{len(chosen)} findings, {sum(len(one.fails) for one in chosen)} tests, {green} that show nothing")
    return 1 if green else 0


if __name__ == "__main__":
    sys.exit(main())
