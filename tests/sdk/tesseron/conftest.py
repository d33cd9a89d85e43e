from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from elicit_flows.domain.values import Json
from elicit_flows.sdk.testing import ScriptedUser, Service
from tests.sdk.tesseron.gateway import Gateway, dial
from tests.support.machine import within
from tests.support.process import PROJECT, Process

Dial = Callable[..., AbstractAsyncContextManager[Gateway]]


def hurry() -> str:
    """Milliseconds of an action that has little time, of which the SDK keeps a tenth for the answer."""
    return str(round(within(1.5) * 1000))


class App:
    """An app in a process of its own, with a home of its own in which a gateway finds it."""

    def __init__(self, service: Service, home: Path, *command: str, **env: str) -> None:
        self.home = home
        ours = {"ELICIT_URL": service.url, "ELICIT_API_KEY": service.api_key, "SANDBOX_URL": service.sandbox_url}
        ours |= {"HOME": str(home), "PYTHONPATH": str(PROJECT), **env}
        self.process = Process([sys.executable, *command], home / "log", env=ours, cwd=PROJECT)

    def start(self) -> App:
        self.process.start()
        self.process.wait_for_output("ws://")
        return self

    @property
    def url(self) -> str:
        """Where its manifest says that it listens."""
        [manifest] = (self.home / ".tesseron/instances").glob("*.json")
        return str(json.loads(manifest.read_text())["transport"]["url"])


@pytest.fixture(scope="session")
def new_app(elicit_box: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., App]]:
    started: list[App] = []

    def make(*command: str, **env: str) -> App:
        started.append(App(elicit_box, tmp_path_factory.mktemp("app"), *command, **env))
        return started[-1].start()

    yield make
    for app in started:
        app.process.stop()


@pytest.fixture(scope="session")
def asking(elicit_box: Service, new_app: Callable[..., App]) -> App:
    """``tests/sdk/tesseron/app.py``, for alice."""
    return new_app("-m", "tests.sdk.tesseron.app", elicit_box.sandbox_url, "alice")


@pytest.fixture(scope="session")
def hurried(elicit_box: Service, new_app: Callable[..., App]) -> App:
    """The same, with actions of a second and a half."""
    return new_app("-m", "tests.sdk.tesseron.app", elicit_box.sandbox_url, "alice", TIMEOUT_MS=hurry())


@pytest.fixture(scope="session")
def example(elicit_box: Service, new_app: Callable[..., App]) -> App:
    """``examples/tesseron_app.py``, for alice."""
    return new_app("examples/tesseron_app.py", "--user", elicit_box.sandbox_url, "alice")


@pytest.fixture
def dialled() -> Dial:
    """``async with dialled(app, elicitation=False) as gateway``"""

    @asynccontextmanager
    async def dialled(app: App, **capabilities: bool) -> AsyncIterator[Gateway]:
        async with dial(app.url, **capabilities) as gateway:
            yield gateway

    return dialled


@pytest.fixture(scope="session")
def alice(elicit_box: Service) -> Iterator[ScriptedUser]:
    """She signs in once for all tests."""
    user = elicit_box.user("alice")
    yield user
    user.close()


class Api(httpx2.Client):
    """The service as the app's agent sees it, without the SDK."""

    def __init__(self, service: Service) -> None:
        headers = {"Authorization": f"Bearer {service.api_key}"}
        super().__init__(base_url=f"{service.url}/v1", headers=headers, trust_env=False, verify=False, timeout=30)

    def question(self, id: str, **params: int) -> Json:
        return dict(self.get(f"/elicitations/{id}", params=params).raise_for_status().json())

    def pending(self) -> set[str]:
        """The ids of the questions that wait for somebody."""
        page = self.get("/elicitations", params={"status": "pending", "limit": 100}).raise_for_status()
        return {one["id"] for one in page.json()["data"]}

    def cancel(self, id: str) -> None:
        self.post(f"/elicitations/{id}/cancel").raise_for_status()

    def disconnect(self) -> None:
        """Ends every connection."""
        for one in self.get("/connections").raise_for_status().json()["data"]:
            if one["status"] == "active":
                self.delete(f"/connections/{one['id']}").raise_for_status()


@pytest.fixture(scope="session")
def api(elicit_box: Service) -> Iterator[Api]:
    with Api(elicit_box) as client:
        yield client


async def does(act: Callable[..., None], *args: object, **answers: object) -> None:
    """A person who takes their time while the loop goes on."""
    await asyncio.to_thread(act, *args, **answers)
