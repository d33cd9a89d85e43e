"""``make mutants``: takes every defence out in a copy of the project and expects a test of its threat to fail.

``python -m tests.house.mutants T26 T27`` tries these alone; ``-j 2`` has two at a time; ``--list`` only holds the table
against the code, as ``make check`` does.
"""

from __future__ import annotations

import argparse
import os
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
from tests.house.mutants.table import Mutant
from tests.support.copying import copied
from tests.support.process import RUN_NAME

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
        if not is_green(sorted({test for mutant in mutants for test in mutant.tests}), Path(home) / "0", jobs):
            return 1

        def tried(mutant: Mutant) -> bool:
            tree = trees.get()
            try:
                return is_caught(mutant, tree)
            finally:
                trees.put(tree)

        caught = list(pool.map(tried, mutants))
    print(f"{sum(caught)} of {len(mutants)} mutants caught")
    return 0 if all(caught) else 1


def is_green(tests: list[str], tree: Path, jobs: int) -> bool:
    """With every defence in place. A test that is red already would show nothing."""
    done = pytest(tree, "-n", str(jobs), "--dist", "loadfile", *tests)
    print(f"{len(tests)} tests or files with every defence in place: pytest ended with {done.returncode}", flush=True)
    if done.returncode:
        print("\n".join(_FAILED.findall(done.stdout)) or done.stdout[-2000:])
    return done.returncode == 0


def is_caught(mutant: Mutant, tree: Path) -> bool:
    with edited(mutant, tree):
        done = pytest(tree, *mutant.tests)
    failed = _FAILED.findall(done.stdout)
    caught = any(map(mutant.is_caught_by, failed))
    said = f"by {len(failed)}" if caught else f"NOT CAUGHT (pytest ended with {done.returncode}): {failed}"
    print(f"{mutant.threat:5} {mutant.what}: {said}", flush=True)
    return caught


def pytest(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider", *arguments]
    # The run there has a folder and servers of its own: the one that this process names is empty.
    env = {name: value for name, value in os.environ.items() if name != RUN_NAME}
    return subprocess.run(command, cwd=tree, env=env, capture_output=True, text=True, check=False)


@contextmanager
def edited(mutant: Mutant, tree: Path) -> Iterator[None]:
    texts = mutant.texts()
    before = {file: (tree / file).read_text() for file in texts}
    try:
        for file, text in texts.items():
            (tree / file).write_text(text)
        yield
    finally:
        for file, text in before.items():
            (tree / file).write_text(text)


if __name__ == "__main__":
    sys.exit(main())
