from collections.abc import AsyncIterator, Iterator

import pytest

from elicit_flows.sdk import Elicit
from tests.sdk.fake import FakeService


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def service() -> Iterator[FakeService]:
    fake = FakeService()
    yield fake
    fake.close()


@pytest.fixture
async def elicit(service: FakeService, anyio_backend: str) -> AsyncIterator[Elicit]:
    async with Elicit(service.url, "key-of-the-tests") as client:
        yield client
