"""A pytest plug-in for the tests of an agent: ``pytest_plugins = ["elicit_flows.sdk.testing"]`` in its conftest.py.

Imported by pytest alone; the rest of the SDK does not need it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from elicit_flows.sdk.testing.service import Service
from elicit_flows.sdk.testing.user import ScriptedUser

__all__ = ["ScriptedUser", "Service", "elicit_box", "elicit_service", "elicit_user"]


@pytest.fixture(scope="session")
def elicit_box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The service and the sandbox, started once for all tests."""
    with Service(tmp_path_factory.mktemp("elicit")) as service:
        yield service


@pytest.fixture
def elicit_service(elicit_box: Service, monkeypatch: pytest.MonkeyPatch) -> Service:
    """The same, with ELICIT_URL and ELICIT_API_KEY set: the agent's own ``Elicit()`` finds it."""
    for name, value in (("ELICIT_URL", elicit_box.url), ("ELICIT_API_KEY", elicit_box.api_key)):
        monkeypatch.delenv(f"{name}_FILE", raising=False)
        monkeypatch.setenv(name, value)
    return elicit_box


@pytest.fixture
def elicit_user(elicit_box: Service) -> Iterator[Callable[[str], ScriptedUser]]:
    """``elicit_user("alice")`` is somebody whom the agent may ask, with a browser of their own."""
    with ExitStack() as stack:

        def make(name: str = "alice") -> ScriptedUser:
            user = elicit_box.user(name)
            stack.callback(user.close)
            return user

        yield make
