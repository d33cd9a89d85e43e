from __future__ import annotations

from collections.abc import Iterator

import pytest

from elicit_flows import http
from tests.doubles.sending import Send, from_a_loop


@pytest.fixture(params=["threads", "loop"])
def send(request: pytest.FixtureRequest) -> Iterator[Send]:
    """Sends a request in each of the two ways: what holds for one holds for the other."""
    if request.param == "threads":
        yield http.send
    else:
        with from_a_loop() as looped:
            yield looped
