"""The sandbox's Stripe, with somebody in it who pays."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx2

from elicit_flows.kinds.payment.values import Account
from elicit_flows.values import Secret
from tests.sandbox.browser import Forms
from tests.support.process import Process, until
from tests.support.sink import Sink

KEY, OTHER_KEY = "sk_test_development_only_sandbox", "sk_test_of_somebody_else"
SECRET, OTHER_SECRET = "whsec_development_only_sandbox", "whsec_of_somebody_else"
USUAL = "acct_sandbox"


class StripeHouse:
    def __init__(self, log: Path) -> None:
        self.sink = Sink()
        command = [sys.executable, "-m", "sandbox", "--port", "0", "--service-url", self.sink.url("")]
        self.process = Process(command, log, env={"ELICIT_API_KEY": "key-of-nobody-in-these-tests"})
        self.process.start()
        self.url = until(lambda: self._address(log), "the sandbox says where it is") or ""
        self.account = Account("sandbox", "stripe", Secret(KEY), (Secret(SECRET),), self.url)
        self.other = Account("other", "stripe", Secret(OTHER_KEY), (Secret(OTHER_SECRET),), self.url)
        self.order("account", id="acct_other", key=OTHER_KEY)

    def _address(self, log: Path) -> str | None:
        assert self.process.alive, log.read_text()
        said = re.search(r"^Sandbox at (\S+)$", log.read_text(), re.MULTILINE)
        return said[1] if said else None

    def close(self) -> None:
        self.process.stop()
        self.sink.close()

    def order(self, act: str, **given: Any) -> Any:
        answer = httpx2.post(f"{self.url}/_control/{act}", json=given, trust_env=False, timeout=20)
        assert answer.is_success, answer.text
        return answer.json()

    def state(self) -> dict[str, Any]:
        return dict(httpx2.get(f"{self.url}/_control/state", trust_env=False, timeout=20).json())

    def act(self, url: str, what: str) -> None:
        """Nobody is where the page leads back to."""
        with httpx2.Client(trust_env=False) as browser:
            _, fields = Forms(browser.get(url).text).found[what]
            answer = browser.post(url, data=fields)
        assert answer.status_code in {200, 303}, answer.text

    def settle(self, ref: str, *, ok: bool) -> None:
        self.order("settle", session=ref, outcome="ok" if ok else "fail")

    def refund(self, ref: str, amount: int, *, pending: bool = False) -> str:
        return str(self.order("refund", of=ref, amount=amount, pending=pending)["id"])

    def finish_refund(self, refund: str, *, ok: bool) -> None:
        self.order("refund_outcome", refund=refund, outcome="done" if ok else "failed")

    def dispute(self, ref: str, outcome: str) -> None:
        self.order("dispute", of=ref, outcome=outcome)

    def end_subscription(self, payment_ref: str) -> None:
        self.order("end", subscription=payment_ref)

    def forward(self, seconds: int) -> None:
        self.order("clock", seconds=seconds)

    def lose_next_answer(self) -> None:
        self.order("fault", name="lose_reply")

    def checkouts(self) -> int:
        return len(self.state()["sessions"])

    def webhooks(self, about: str) -> list[tuple[Mapping[str, str], bytes]]:
        """All that were sent, once they have arrived."""
        until(lambda: all(one["state"] == "delivered" for one in self.state()["deliveries"]), "all is delivered")
        return [(one.headers, one.body) for one in self.sink.received() if about.encode() in one.body]
