"""A service that sends webhooks: the address changes with each test, so that none is held up by an earlier one."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import pytest

from elicit_flows.sdk.testing import ScriptedUser
from elicit_flows.sdk.testing.service import free_port
from tests.sdk.forked import ForkedService
from tests.support.process import until


class HookedService(ForkedService):
    """``port``: where the webhooks of this test go, below the path /hooks; ``secret``: what they are signed with."""

    def __init__(self, home: Path, tables: Path) -> None:
        super().__init__(home, tables)
        self.secret = "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()
        self.port = 0

    def send_elsewhere(self) -> None:
        self.port = free_port()
        file = self._home / "demo.toml"
        [text, *_] = file.read_text().split("\nwebhook_url")  # the agent's table is the last one
        hook = f'\nwebhook_url = "http://127.0.0.1:{self.port}/hooks"\nwebhook_secret = "{self.secret}"\n'
        file.write_text(text + hook)
        self._run("manage.py", "apply", "--skip-checks", "demo.toml")

    def wait_until_delivered(self) -> None:
        url, key = f"{self.url}/v1/webhooks/deliveries", {"Authorization": f"Bearer {self.api_key}"}

        def pending() -> Any:
            return httpx2.get(url, params={"status": "pending"}, headers=key, trust_env=False).json()["data"]

        until(lambda: not pending(), "all webhooks are delivered", timeout=60)


@pytest.fixture(scope="session")
def hooked_box(tmp_path_factory: pytest.TempPathFactory, migrated_sqlite: Path) -> Iterator[HookedService]:
    with HookedService(tmp_path_factory.mktemp("hooked"), migrated_sqlite) as service:
        yield service


@pytest.fixture
def hooked(hooked_box: HookedService) -> HookedService:
    hooked_box.send_elsewhere()
    return hooked_box


@pytest.fixture
def hooked_alice(hooked: HookedService) -> Iterator[ScriptedUser]:
    with closing(hooked.user("alice")) as alice:
        yield alice
