from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from elicit_flows import oauth
from elicit_flows.identity import jwks
from elicit_flows.oauth import cache
from tests.doubles.policy import loopback_allowed
from tests.doubles.provider import Provider


@pytest.fixture
def provider() -> Iterator[Provider]:
    """An identity provider that nobody has asked anything yet."""
    oauth.forget()
    jwks.forget()
    with loopback_allowed(), Provider() as provider:
        yield provider


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """The time of the caches: add to the one number in the list."""
    now = [time.monotonic()]
    monkeypatch.setattr(cache, "monotonic", lambda: now[0])
    yield now
    oauth.forget()
    jwks.forget()
