"""The service as a process of its own, the bridge in ours, and the example host as another process."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from elicit_flows.sdk import Elicit, SyncElicit
from elicit_flows.sdk.testing.service import Service
from elicit_flows.sdk.testing.user import ScriptedUser
from tests.sdk.ahp.chat import BareChat
from tests.sdk.ahp.client import Client
from tests.support.ports import free_port
from tests.support.process import PROJECT, Process


@pytest.fixture
async def live(elicit_box: Service, anyio_backend: str) -> AsyncIterator[Elicit]:
    async with elicit_box.elicit() as elicit:
        yield elicit


@pytest.fixture
async def chat(live: Elicit, alice: ScriptedUser) -> AsyncIterator[BareChat]:
    async with BareChat(live, alice.claim) as chat:
        yield chat


class Host:
    """``examples/ahp_host.py``; ``client`` connects to it."""

    def __init__(self, service: Service, log: Path, keep: int) -> None:
        self.port = free_port()
        self.user = (service.sandbox_url, "alice")
        command = [sys.executable, "examples/ahp_host.py", "--port", str(self.port), "--user", *self.user]
        env = {"ELICIT_URL": service.url, "ELICIT_API_KEY": service.api_key, "PYTHONPATH": str(PROJECT)}
        more = ["--sandbox-url", service.sandbox_url, "--keep", str(keep)]
        self.process = Process([*command, *more], log, env=env)
        self._stack = ExitStack()

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/ahp"

    def start(self) -> Host:
        self.process.start()
        self.process.wait_for_output(r"ws://\S+")
        return self

    def client(self, name: str, *channels: str) -> Client:
        made = Client(self.url, name)
        self._stack.callback(made.close)
        made.initialize(*channels)
        return made

    def hang_up(self) -> None:
        self._stack.close()

    def remove(self) -> None:
        self.hang_up()
        self.process.kill9()


@pytest.fixture(scope="session")
def shared_host(elicit_box: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    started = Host(elicit_box, tmp_path_factory.mktemp("host") / "log", 1000).start()
    yield started
    started.remove()


@pytest.fixture
def host(shared_host: Host) -> Iterator[Host]:
    """The shared one; whatever turn the test left behind is cancelled."""
    yield shared_host
    broom = shared_host.client("broom", *CHATS)
    for chat in CHATS:
        broom.cancel_turn(chat)
    shared_host.hang_up()


CHATS = ("ahp-chat:/one", "ahp-chat:/two")


@pytest.fixture
def new_host(elicit_box: Service, tmp_path: Path) -> Iterator[Callable[..., Host]]:
    with ExitStack() as stack:

        def make(keep: int = 1000) -> Host:
            made = Host(elicit_box, tmp_path / "log", keep)
            stack.callback(made.remove)
            return made.start()

        yield make


@pytest.fixture
def unconnected(elicit_box: Service, alice: ScriptedUser) -> SyncElicit:
    """Alice has no account connected at Acme."""
    with elicit_box.sync_elicit() as elicit:
        for one in elicit.connections(alice.claim):
            elicit.revoke(one)
        yield elicit
