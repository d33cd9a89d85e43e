"""Webhooks of the service in a box. They go to another address in each test, so that none is held up by an earlier
one.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx2

from elicit_flows.sdk.testing import Service
from elicit_flows.sdk.testing.service import free_port
from tests.support.process import until


@dataclass(frozen=True)
class Hooks:
    """They go to ``port`` of this machine, signed with ``secret``."""

    service: Service
    port: int
    secret: str

    def wait_until_delivered(self) -> None:
        url, key = f"{self.service.url}/v1/webhooks/deliveries", {"Authorization": f"Bearer {self.service.api_key}"}

        def pending() -> Any:
            return httpx2.get(url, params={"status": "pending"}, headers=key, trust_env=False, timeout=30).json()[
                "data"
            ]

        until(lambda: not pending(), "all webhooks are delivered", timeout=60)


@contextmanager
def sent(service: Service) -> Iterator[Hooks]:
    """Have the service send webhooks, and at the end none."""
    hooks = Hooks(service, free_port(), "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode())
    file = service._home / "demo.toml"
    before = file.read_text()  # the agent's table is the last one
    address = f'\nwebhook_url = "http://127.0.0.1:{hooks.port}/hooks"\nwebhook_secret = "{hooks.secret}"\n'
    try:
        file.write_text(before + address)
        service._run("manage.py", "apply", "--skip-checks", "demo.toml")
        yield hooks
    finally:
        file.write_text(before)
        service._run("manage.py", "apply", "--skip-checks", "--yes", "demo.toml")
