from __future__ import annotations

from collections.abc import Iterator

import pytest

from elicit_flows.lib import oauth
from tests.doubles.policy import loopback_allowed
from tests.doubles.provider import Provider


@pytest.fixture
def provider() -> Iterator[Provider]:
    """An OAuth provider that nobody has asked anything yet."""
    oauth.forget()
    with loopback_allowed(), Provider() as provider:
        yield provider
