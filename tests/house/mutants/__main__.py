"""``make mutants``: takes every defence out in a copy of the project and expects a test of its threat to fail.

``python -m tests.house.mutants T26 T27`` tries these alone; ``-j 2`` has two at a time; ``--list`` only holds the table
against the code, as ``make check`` does.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue

from tests.house import threats
from tests.house.mutants import table
from tests.house.mutants.table import ROOT, Mutant

BESIDE = (".venv", "tests/peers/node_modules")  # not in git, and never edited
_FAILED = re.compile(r"^FAILED (\S+)", re.MULTILINE)


def main() -> int:
    parser = argparse.ArgumentParser(prog="mutants", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("threats", nargs="*", help="T26 T27 …; all unless given")
    parser.add_argument("-j", "--jobs", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="hold the table against the code and run nothing")
    given = parser.parse_args()
    every = table.read()
    chosen = [one for one in every if not given.threats or one.threat in given.threats]
    faults = [fault for one in chosen for fault in one.faults()] + ([] if given.threats else without_any(every))
    for fault in faults:
        print(fault)
    if faults or given.list:
        return 1 if faults else 0
    return run(chosen, given.jobs)


def without_any(mutants: list[Mutant]) -> list[str]:
    """The threats that have a test and no mutant."""
    tried = {mutant.threat for mutant in mutants}
    covered = [f"T{number}" for number, (_, why_not) in threats.THREATS.items() if not why_not]
    return [f"{threat} has no mutant" for threat in covered if threat not in tried]


def run(mutants: list[Mutant], jobs: int) -> int:
    with tempfile.TemporaryDirectory(prefix="elicit-mutants-") as home, ThreadPoolExecutor(jobs) as pool:
        trees: SimpleQueue[Path] = SimpleQueue()
        for number in range(jobs):
            trees.put(copied(Path(home) / str(number)))

        def tried(mutant: Mutant) -> bool:
            tree = trees.get()
            try:
                return is_caught(mutant, tree)
            finally:
                trees.put(tree)

        caught = list(pool.map(tried, mutants))
    print(f"{sum(caught)} of {len(mutants)} mutants caught")
    return 0 if all(caught) else 1


def copied(tree: Path) -> Path:
    """The project as git knows it, changes included."""
    tree.mkdir()
    known = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout.decode()
    for name in filter(None, known.split("\0")):
        source, target = ROOT / name, tree / name
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
            target.chmod(source.stat().st_mode)
    for name in BESIDE:
        if (ROOT / name).exists():
            (tree / name).symlink_to(ROOT / name)
    return tree


def is_caught(mutant: Mutant, tree: Path) -> bool:
    with edited(mutant, tree):
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider", *mutant.tests],
            cwd=tree, capture_output=True, text=True, check=False,
        )  # fmt: skip
    failed = _FAILED.findall(done.stdout)
    caught = any(map(mutant.is_caught_by, failed))
    said = f"by {len(failed)}" if caught else f"NOT CAUGHT (pytest ended with {done.returncode}): {failed}"
    print(f"{mutant.threat:5} {mutant.what}: {said}", flush=True)
    return caught


@contextmanager
def edited(mutant: Mutant, tree: Path) -> Iterator[None]:
    before = {edit.file: (tree / edit.file).read_text() for edit in mutant.edits}
    try:
        for edit in mutant.edits:
            edit.apply(tree)
        yield
    finally:
        for file, text in before.items():
            (tree / file).write_text(text)


if __name__ == "__main__":
    sys.exit(main())
