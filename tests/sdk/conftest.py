"""One service in a box for all that drives it, with its users; and one that follows a script."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from elicit_flows.sdk import Elicit, Elicitation
from elicit_flows.sdk.testing import ScriptedUser, Service, elicit_service, elicit_user
from tests.sdk.fake import FakeService
from tests.sdk.forked import ForkedService
from tests.sdk.hooks import Hooks, sent
from tests.support.process import Elsewhere

__all__ = ["elicit_service", "elicit_user"]


@pytest.fixture(scope="session")
def elicit_box(tmp_path_factory: pytest.TempPathFactory, migrated_sqlite: Path) -> Iterator[Service]:
    """The service and the sandbox, started once for all tests."""
    with ForkedService(tmp_path_factory.mktemp("elicit"), migrated_sqlite) as service:
        yield service


@pytest.fixture(scope="session")
def elsewhere() -> Iterator[Elsewhere]:
    """Other Pythons, each with its libraries loaded, to fork programs from."""
    with tempfile.TemporaryDirectory(prefix="elicit-elsewhere-") as home:
        servers = Elsewhere(Path(home))
        yield servers
        servers.close()


@pytest.fixture
def hooks(elicit_box: Service) -> Iterator[Hooks]:
    with sent(elicit_box) as hooks:
        yield hooks


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def alice(elicit_user: Callable[[str], ScriptedUser]) -> ScriptedUser:
    return elicit_user("alice")


@pytest.fixture
def bob(elicit_user: Callable[[str], ScriptedUser]) -> ScriptedUser:
    return elicit_user("bob")


class Slow(Elicit):
    """A client that hears of what it created only a moment after the service has created it."""

    def __init__(self, service: Service) -> None:
        super().__init__(service.url, service.api_key)
        self.created: asyncio.Queue[Elicitation] = asyncio.Queue()

    async def create(self, *args: Any, **options: Any) -> Elicitation:
        made = await super().create(*args, **options)
        self.created.put_nowait(made)
        await asyncio.sleep(0.1)
        return made


@pytest.fixture
async def slow(elicit_box: Service, anyio_backend: str) -> AsyncIterator[Slow]:
    async with Slow(elicit_box) as client:
        yield client


@pytest.fixture
def service() -> Iterator[FakeService]:
    fake = FakeService()
    yield fake
    fake.close()


@pytest.fixture
async def elicit(service: FakeService, anyio_backend: str) -> AsyncIterator[Elicit]:
    async with Elicit(service.url, "key-of-the-tests") as client:
        yield client
