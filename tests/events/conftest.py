from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, tzinfo

import pytest
from standardwebhooks import webhooks

from tests.doubles.policy import loopback_allowed
from tests.events.posting import Hooked
from tests.support.fixtures import new_redis
from tests.support.moving import MovingClock
from tests.support.services import Redis
from tests.support.sink import Sink


@pytest.fixture(autouse=True)
def loopback() -> Iterator[None]:
    with loopback_allowed():
        yield


@pytest.fixture(scope="module")
def broker() -> Iterator[Redis]:
    """A Redis of this module alone, which may be emptied and killed."""
    server = new_redis()
    yield server
    server.remove()


@pytest.fixture
def receiver() -> Iterator[Sink]:
    """Receives webhooks, of this test alone."""
    sink = Sink()
    yield sink
    sink.close()


@pytest.fixture
def hooked(committed: None, receiver: Sink) -> Hooked:
    """An agent that nobody used before, with a webhook."""
    return Hooked.new(receiver)


class _Everybodys(MovingClock):
    """In the place of the verifying library's ``datetime``; reads the clock that the product reads."""

    def __init__(self, products: MovingClock) -> None:
        super().__init__()
        self._products = products

    def now(self, tz: tzinfo | None = None) -> datetime:
        return self._products.now(tz)

    def fromtimestamp(self, timestamp: float, tz: tzinfo | None = None) -> datetime:
        return datetime.fromtimestamp(timestamp, tz)


@pytest.fixture
def everybodys_clock(moving_clock: MovingClock, monkeypatch: pytest.MonkeyPatch) -> MovingClock:
    """Moves the product's clock and that of whoever verifies with the official library."""
    monkeypatch.setattr(webhooks, "datetime", _Everybodys(moving_clock))
    return moving_clock
