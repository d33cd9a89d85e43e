"""The package as npm would install it, and programs that use it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from elicit_flows.sdk.testing import ScriptedUser, Service
from tests.support import op, shared
from tests.support.left_out import left_out
from tests.support.process import PROJECT, Process, clean_env, until

PACKAGE = PROJECT / "clients" / "typescript"
PROGRAMS = Path(__file__).with_name("programs")
Env = Mapping[str, str]
Faults = dict[str, set[int]]
SAME = "--skipLibCheck"  # the programs of the tests have had these declarations checked
# What runs a program beside Node. npm has them for one platform; elsewhere the machine's are taken.
RUNTIMES = {
    "deno": [
        "@deno/linux-x64-glibc/deno", "run", "--allow-all", "--no-prompt", "--no-remote", "--node-modules-dir=manual",
    ],
    "bun": ["@oven/bun-linux-x64/bin/bun"],
}  # fmt: skip


def runner(runtime: str) -> list[str]:
    """The command that a program's file is added to; leaves the test out where the runtime cannot be had."""
    packaged, *options = RUNTIMES[runtime]
    own = op.PEERS / "node_modules" / packaged
    found = str(own) if own.exists() else shutil.which(runtime)
    if found is None:
        left_out(f"{runtime} (npm has it for Linux on x86-64; elsewhere install it)")
    return [found, *options]


class Program(Process):
    """A program of the tests, which prints one JSON object in each line that says something."""

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.output().splitlines() if line.startswith('{"')]

    def said(self, word: str) -> list[Any]:
        return [line[word] for line in self.lines if word in line]

    def link(self, number: int = 0) -> str:
        """The link that it shows as the one with this number, from 0."""
        self.wait_until(lambda: len(self.said("link")) > number, f"link {number} is shown")
        return str(self.said("link")[number])

    def end(self) -> dict[str, Any]:
        """What it said by the word, when it has ended by itself; of words said often, the last."""
        until(lambda: not self.alive, f"{self.command[-1]} ends", timeout=60)
        assert self.said("end") == [True], self.output()
        return {word: said for line in self.lines for word, said in line.items()}


class TypeScript:
    """A folder with the built package in node_modules, and what the type checker says of the programs in it."""

    def __init__(self, home: Path) -> None:
        self.node = op.node()
        self.home = home
        self.installed = home / "node_modules" / "elicit-flows"
        shutil.copytree(shared.made_once("typescript", self._build), home, symlinks=True, dirs_exist_ok=True)

    def _build(self, home: Path) -> None:
        package = home / "node_modules" / "elicit-flows"
        shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("dist", "node_modules"))
        for name in ("@modelcontextprotocol", "zod"):  # their own requirements are found where they really are
            (home / "node_modules" / name).symlink_to(op.PEERS / "node_modules" / name)
        built = self._tsc(package)
        assert not built, built

    def _tsc(self, project: Path, *options: str) -> str:
        """Compile; what was printed, which is nothing where all is well."""
        compiler = op.PEERS / "node_modules" / "typescript" / "bin" / "tsc"
        command = [str(self.node), str(compiler), "-p", str(project), *options]
        return subprocess.run(command, cwd=project, capture_output=True, text=True, check=False).stdout

    def compile(self, folder: Path, *options: str) -> Faults:
        """The lines with faults by the file's name."""
        said = self._tsc(folder, "--typeRoots", str(op.PEERS / "node_modules" / "@types"), *options)
        found: Faults = {}
        for name, line in re.findall(r"(\w+)\.ts\((\d+),\d+\): error", said):
            found.setdefault(name, set()).add(int(line))
        assert bool(said) == bool(found), said
        return found


@pytest.fixture(scope="session")
def typescript(tmp_path_factory: pytest.TempPathFactory) -> TypeScript:
    return TypeScript(tmp_path_factory.mktemp("typescript"))


@pytest.fixture(scope="session")
def faults(typescript: TypeScript) -> Faults:
    """What the type checker finds in the programs, which are JavaScript after that, and in what the package declares.

    Other programs that use the same declarations are compiled with SAME: most of the time goes to these.
    """

    def make(home: Path) -> None:
        shutil.copytree(typescript.home / "node_modules", home / "node_modules", symlinks=True)
        shutil.copytree(PROGRAMS, home / "programs")
        (home / "programs" / "package.json").write_text('{"type": "module"}')
        found = typescript.compile(home / "programs")
        (home / "faults.json").write_text(json.dumps({name: sorted(lines) for name, lines in found.items()}))

    made = shared.made_once("typescript-programs", make)
    shutil.copytree(made / "programs", typescript.home / "programs")
    return {name: set(lines) for name, lines in json.loads((made / "faults.json").read_text()).items()}


@pytest.fixture
def start(typescript: TypeScript, faults: Faults, tmp_path: Path) -> Iterator[Callable[..., Program]]:
    """Starts a program by its name, with its environment. ``runner``: another than the Node of the peers."""
    started: list[Program] = []

    def start(name: str, env: Env, *runner: str) -> Program:
        assert name not in faults, faults[name]
        command = [*(runner or [str(typescript.node)]), f"programs/{name}.js"]
        one = Program(command, tmp_path / f"{name}.log", env=clean_env(env), cwd=typescript.home)
        started.append(one)
        one.start()
        return one

    yield start
    for one in started:
        one.kill9()


def disconnect(service: Service, user: ScriptedUser) -> None:
    """The service is that of other tests too."""
    with service.sync_elicit() as elicit:
        for connection in elicit.connections(user.claim):
            elicit.revoke(connection)


@pytest.fixture
def stranger(elicit_service: Service, alice: ScriptedUser) -> ScriptedUser:
    """Alice, who has connected nothing yet."""
    disconnect(elicit_service, alice)
    return alice
