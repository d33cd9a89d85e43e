"""The sandbox with a scripted payer, for either payment provider."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2

from tests.sandbox.browser import Forms
from tests.support.process import Process, until
from tests.support.sink import Sink


class SandboxHouse:
    """``control``: below which path the double takes orders."""

    control = "/_control"

    def __init__(self, log: Path) -> None:
        self.sink = Sink()
        command = [sys.executable, "-m", "sandbox", "--port", "0", "--service-url", self.sink.url("")]
        self.process = Process(command, log, env={"ELICIT_API_KEY": "key-of-nobody-in-these-tests"})
        self.process.start()
        self.url = until(lambda: self._address(log), "the sandbox says where it is") or ""
        self.notify_url = self.sink.url("/inbound/sandbox")

    def _address(self, log: Path) -> str | None:
        assert self.process.alive, log.read_text()
        said = re.search(r"^Sandbox at (\S+)$", log.read_text(), re.MULTILINE)
        return said[1] if said else None

    def close(self) -> None:
        self.process.stop()
        self.sink.close()

    def order(self, act: str, **given: Any) -> Any:
        answer = httpx2.post(f"{self.url}{self.control}/{act}", json=given, trust_env=False, timeout=20)
        assert answer.is_success, answer.text
        return answer.json()

    def state(self) -> dict[str, Any]:
        return dict(httpx2.get(f"{self.url}{self.control}/state", trust_env=False, timeout=20).json())

    def act(self, url: str, what: str) -> None:
        """Nobody is where the page leads back to."""
        with httpx2.Client(trust_env=False) as browser:
            _, fields = Forms(browser.get(url).text).found[what]
            answer = browser.post(url, data=fields)
        assert answer.status_code in {200, 303}, answer.text

    def forward(self, seconds: int) -> None:
        self.order("clock", seconds=seconds)

    def lose_next_answer(self) -> None:
        self.order("fault", name="lose_reply")

    def webhooks(self, about: str) -> list[tuple[Mapping[str, str], bytes]]:
        """All that were sent, once they have arrived."""
        until(lambda: all(one["state"] == "delivered" for one in self.state()["deliveries"]), "all is delivered")
        return [(one.headers, one.body) for one in self.sink.received() if about.encode() in one.body]
