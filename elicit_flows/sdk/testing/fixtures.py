"""The fixtures of the plug-in."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from elicit_flows.sdk.testing.double import Double, DoubleUser
from elicit_flows.sdk.testing.service import Service
from elicit_flows.sdk.testing.user import ScriptedUser


@pytest.fixture(scope="session")
def elicit_box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service | Double]:
    """The service and the sandbox, started once for all tests; with ELICIT_DOUBLE=1 the double in their place."""
    if os.environ.get("ELICIT_DOUBLE") == "1":
        with Double() as double:
            yield double
        return
    with Service(tmp_path_factory.mktemp("elicit")) as service:
        yield service


@pytest.fixture
def elicit_service(elicit_box: Service | Double, monkeypatch: pytest.MonkeyPatch) -> Service | Double:
    """The same ``Service``, with ELICIT_URL and ELICIT_API_KEY set, so that the agent's own ``Elicit()`` finds it."""
    for name, value in (("ELICIT_URL", elicit_box.url), ("ELICIT_API_KEY", elicit_box.api_key)):
        monkeypatch.delenv(f"{name}_FILE", raising=False)
        monkeypatch.setenv(name, value)
    return elicit_box


@pytest.fixture
def elicit_user(elicit_box: Service | Double) -> Iterator[Callable[[str], ScriptedUser | DoubleUser]]:
    """``elicit_user("alice")`` makes a user whom the agent may ask, with a browser session of their own."""
    with ExitStack() as stack:

        def make(name: str = "alice") -> ScriptedUser | DoubleUser:
            user = elicit_box.user(name)
            stack.callback(user.close)
            return user

        yield make
