"""The pages that a reader follows with ``make run`` beside them: their blocks are run in order, in a copy of the
project, and what is printed is what the page says.

``sh box``: a command. ``sh box=ACTION``: alice, or the person that ``ACTION@name`` names, takes the link that is
printed to its end (``allow``, ``pay``, ``submit``, ``decline``). ``python file=NAME``: saved under that name.
``python box``: run here; ``send_to_user`` takes a link to its end. ``sh serve=WORDS``: runs on until the page ends, and
is ready when it prints WORDS. ``text output``: what the block before printed; ``…`` is anything.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import io
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from docs.generate.blocks import Block
from elicit_flows.sdk import SyncElicit
from elicit_flows.sdk.testing import ScriptedUser
from tests.docs.page import found, pages_with, same_output
from tests.support.newcomer import Newcomer, newcomer_in
from tests.support.ports import free_port
from tests.support.process import PROJECT, Process, until

pytestmark = pytest.mark.slow

RUNNERS = ("box", "file", "make-run", "serve", "output")
PAGES = pages_with("box", "file", "serve")


@pytest.fixture(scope="module")
def newcomer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Newcomer]:
    place = tmp_path_factory.mktemp("clone")
    with newcomer_in(place) as found:
        (place / ".venv").symlink_to(sys.prefix)
        yield found


class Reader:
    """Does what one page says. ``names`` are those that its Python blocks have made so far."""

    def __init__(self, page: str, newcomer: Newcomer) -> None:
        self.page, self.newcomer = page, newcomer
        self.place = newcomer.place
        self.printed = ""
        self.alice = ScriptedUser(newcomer.sandbox, "alice")
        self.served: list[Process] = []
        self.loop = asyncio.new_event_loop()
        port = free_port()
        self.ports = {"8000": newcomer.service.rpartition(":")[2], "8001": newcomer.sandbox.rpartition(":")[2]}
        self.ports |= {"3000": str(port)}
        self.names: dict[str, Any] = {"user": self.alice.claim, "send_to_user": self.says_yes}

    def as_here(self, text: str) -> str:
        """With the ports of this run."""
        return re.sub(r"\b(8000|8001|3000)\b", lambda port: self.ports[port[1]], text)

    def as_there(self, text: str) -> str:
        for said, here in self.ports.items():
            text = re.sub(rf"\b{here}\b", said, text)
        return text

    def says_yes(self, url: str) -> None:
        self.alice.open(url)
        first = "submit" if "submit" in self.alice.page.forms else "continue"
        self.alice.press(first)
        if first == "continue":
            self.alice.press("allow" if "allow" in self.alice.page.forms else "pay")

    def do(self, block: Block) -> None:
        getattr(self, f"{block.language}_{block.runner.replace('-', '_')}")(block)

    def sh_make_run(self, block: Block) -> None:
        assert block.text == "make run\n"
        assert "-m sandbox.run --port" in (PROJECT / "Makefile").read_text(), "which is what the fixture runs"

    def sh_box(self, block: Block) -> None:
        action, _, name = block.argument.partition("@")
        person = ScriptedUser(self.newcomer.sandbox, name) if name else self.alice
        visit: Callable[[str], object] | None = getattr(person, action) if action else None
        self.printed = self.newcomer.run("/bin/sh", "-e", "-c", self.as_here(block.text), visit=visit)

    def sh_serve(self, block: Block) -> None:
        log = self.place / f"served-{len(self.served)}.log"
        process = Process(
            ["/bin/sh", "-c", f"exec {self.as_here(block.text)}"], log, env=self.newcomer.env, cwd=self.place
        )
        process.start()
        self.served.append(process)
        until(lambda: block.argument in log.read_text(), f"{block.text!r} prints {block.argument!r}")

    def python_file(self, block: Block) -> None:
        path = self.place / block.argument
        path.parent.mkdir(exist_ok=True)
        path.write_text(self.as_here(block.text))

    def python_box(self, block: Block) -> None:
        code = compile(
            self.as_here(block.text), f"docs/{self.page}:{block.line}", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        )
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            left = eval(code, self.names)
            if inspect.isawaitable(left):
                self.loop.run_until_complete(left)
        self.printed = printed.getvalue()

    def text_output(self, block: Block) -> None:
        printed = self.as_there(self.printed)
        assert same_output(block.text, printed), f"line {block.line}: it printed\n{printed}"

    def toml_apply(self, block: Block) -> None:
        """Read by tests/docs/test_static.py."""

    toml_entry = json_schema = json_question = json_import = json_wire = toml_apply

    def leave(self) -> None:
        for process in self.served:
            process.stop()
        self.alice.close()
        self.loop.close()


@pytest.fixture
def read(newcomer: Newcomer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    key = (newcomer.place / "var/demo.key").read_text().strip()
    monkeypatch.setenv("ELICIT_URL", newcomer.service)
    monkeypatch.setenv("ELICIT_API_KEY", key)
    readers: list[Reader] = []
    before = set(newcomer.place.iterdir())

    def read(page: str) -> None:
        reader = Reader(page, newcomer)
        readers.append(reader)
        with SyncElicit(newcomer.service, key) as elicit:
            for connection in elicit.connections():
                elicit.revoke(connection)
        for block in found(page):
            reader.do(block)

    yield read
    for reader in readers:
        reader.leave()
    for path in set(newcomer.place.iterdir()) - before:
        shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.mark.limit(180)
@pytest.mark.parametrize("page", PAGES)
def test_the_page_can_be_followed_from_top_to_bottom(page: str, read: Callable[[str], None]) -> None:
    read(page)
