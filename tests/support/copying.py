"""A copy of the project to be changed and thrown away."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.support.process import PROJECT

BESIDE = (".venv", "tests/peers/node_modules")  # not in git, and never edited


def copied(tree: Path) -> Path:
    """The project as git knows it, changes included; git knows the copy too, for tests that ask it."""
    tree.mkdir()
    known = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=PROJECT,
        capture_output=True,
        check=True,
    ).stdout.decode()
    for name in filter(None, known.split("\0")):
        source, target = PROJECT / name, tree / name
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
            target.chmod(source.stat().st_mode)
    for command in (["init", "--quiet"], ["add", "--all"]):
        subprocess.run(["git", "-c", "init.defaultBranch=main", *command], cwd=tree, check=True)
    for name in BESIDE:
        if (PROJECT / name).exists():
            (tree / name).symlink_to(PROJECT / name)
    return tree
