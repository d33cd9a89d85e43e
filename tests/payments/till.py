"""What the tests of payments know of the service, of one of its agents and of the sandbox's Stripe."""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from tests.cast import ALICE, Person, Program, program
from tests.journey.stage import Stage
from tests.support import box_config
from tests.support.box import AgentClient, Box
from tests.support.http_user import HttpUser
from tests.support.op import Op
from tests.support.process import Process, until

Json = dict[str, Any]
AGENTS = 24
LONG_AGO = "2020-01-01 00:00:00"
KEY, SECRET = "sk_test_development_only_sandbox", "whsec_development_only_sandbox"


@dataclass
class Stripe:
    """The double, from outside: what it was asked, and what is to go wrong."""

    url: str

    def state(self) -> Json:
        return dict(httpx2.get(f"{self.url}/_control/state", trust_env=False, timeout=20).json())

    def order(self, what: str, **given: Any) -> Any:
        """An order to the control page; what it says."""
        answer = httpx2.post(f"{self.url}/_control/{what}", json=given, trust_env=False, timeout=20)
        assert answer.is_success, answer.text
        return answer.json()


@dataclass
class Till:
    """One agent of a box that nobody used before, and the Stripe that its account is at."""

    box: Box
    agent: AgentClient
    stripe: Stripe
    corp: Op
    drive: Op

    @property
    def agent_headers(self) -> dict[str, str]:
        """For requests to other processes of the box."""
        return {"authorization": self.agent.headers["authorization"]}

    def ask(self, who: Person = ALICE, *, key: str | None = None, **params: Any) -> Json:
        answer = self.try_to_ask(who, key=key, **params)
        assert answer.status_code in {200, 201}, answer.text
        return dict(answer.json())

    def try_to_ask(
        self, who: Person = ALICE, *, key: str | None = None, more: Json | None = None, **params: Any
    ) -> httpx2.Response:
        wanted = {"amount": 1999, "currency": "eur", "description": "A report"} | params
        body = {
            "kind": "payment", "subject": who.subject(self.corp.issuer), "message": "Pay for the report.",
            "params": wanted, **(more or {}),
        }  # fmt: skip
        return self.agent.post("/v1/elicitations", json=body, headers={"idempotency-key": key} if key else {})

    def look(self, asked: Json) -> Json:
        return dict(self.agent.get(f"/v1/elicitations/{asked['id']}").json())

    def becomes(self, asked: Json, status: str, timeout: float = 10) -> Json:
        """How it stands once it has that status."""
        until(lambda: self.look(asked)["status"] == status, f"it is {status}", timeout=timeout)
        return self.look(asked)

    def events(self, asked: Json) -> list[str]:
        """The types of the elicitation's events, in order, without the commonest prefix."""
        found = self.agent.get("/v1/events", params={"limit": 100}).json()["data"]
        return [one["type"].removeprefix("elicitation.") for one in found if one["elicitation"] == asked["id"]]

    def session_of(self, page: str) -> Json:
        """Stripe's own view of the checkout on that page."""
        session = page.rpartition("/")[2]
        return next(one for one in self.stripe.state()["sessions"] if one["id"] == session)

    def creates(self) -> list[Json]:
        """The requests so far that would open a checkout."""
        seen = self.stripe.state()["requests"]
        return [one for one in seen if (one["method"], one["path"]) == ("POST", "/v1/checkout/sessions")]

    def start(self) -> None:
        """The time has come for the sweep to ask about every checkout that is still open."""
        statement = "UPDATE elicit_flows_checkout SET look_at = %s WHERE look_at IS NOT NULL AND status <> 'paid'"
        self.sql(statement, LONG_AGO)

    def stands(self, asked: Json) -> tuple[str, str, list[str]]:
        """The elicitation's status, the payment's, and the events that told of them."""
        return self.look(asked)["status"], self.payment(asked)["status"], self.events(asked)

    def sql(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        return Stage(self.box, self.agent, self.corp, self.drive).sql(statement, *values)

    def payment(self, asked: Json) -> Json:
        """The money of the elicitation, however that stands."""
        return dict(self.agent.get(f"/v1/payments/{self.payment_id(asked)}").json())

    def payment_id(self, asked: Json) -> str:
        return str(self.sql("SELECT id FROM elicit_flows_payment WHERE elicitation_id = %s", asked["id"])[0][0])

    def opened_at_stripe(self, asked: Json) -> list[Json]:
        """Stripe's own view: the sessions of this elicitation."""
        rows = self.sql("SELECT id FROM elicit_flows_checkout WHERE payment_id = %s", self.payment_id(asked))
        ours = {row[0] for row in rows}
        return [one for one in self.stripe.state()["sessions"] if one["client_reference_id"] in ours]

    def differences(self, asked: Json) -> list[str]:
        """What ``reconcile`` finds of this payment. Other tests of the box leave differences of their own."""
        sessions = self.opened_at_stripe(asked)
        refs = {one.get(name) for one in sessions for name in ("payment_intent", "subscription", "invoice")}
        ours = {self.payment_id(asked), *refs} - {None}
        said = self.box.manage("reconcile", "sandbox", check=False).stdout
        assert " difference" in said, said
        return [line for line in said.splitlines() if any(str(one) in line for one in ours)]

    def paid_at_stripe(self, asked: Json) -> list[Json]:
        """Those that brought money."""
        return [one for one in self.opened_at_stripe(asked) if one["payment_status"] == "paid"]

    def at_stripe(self, user: HttpUser, asked: Json, who: str = "alice") -> str:
        """Takes the user to the provider's page; its address."""
        with user.stopping_at(f"{self.stripe.url}/c/pay/"):
            user.connect(asked["url"], who)
            assert user.stopped, f"{user.url}: {user.text[:300]}"
            page = user.location
        user.follow()
        return page

    def pay(self, user: HttpUser, asked: Json, how: str = "pay", who: str = "alice") -> None:
        """All the way, and back to our page."""
        self.at_stripe(user, asked, who)
        user.press(how)


def unused(
    box: Box, table: Callable[[Program], Json], *, beside: box_config.Tables | None = None, name: str = "till"
) -> Iterator[Program]:
    """Agents that nobody used before; applied by the dozen, with ``beside``, which costs little more than one."""
    for first in itertools.count(step=AGENTS):
        agents = [program(f"{name}-{box.ports[0]}-{number}") for number in range(first, first + AGENTS)]
        box.apply({**(beside or {}), "agent": [table(one) for one in agents]})
        box.programs.update({one.slug: one for one in agents})
        yield from agents


def start(service: str, log: Path, running: list[Process]) -> str:
    command = [sys.executable, "-m", "sandbox", "--port", "0", "--service-url", service]
    process = Process(command, log, env={"ELICIT_API_KEY": "key-of-nobody-in-the-payment-tests"})
    running.append(process)
    process.start()

    def address() -> str | None:
        assert process.alive, log.read_text()
        said = re.search(r"^Sandbox at (\S+)$", log.read_text(), re.MULTILINE)
        return said[1] if said else None

    return until(address, "the sandbox says where it is") or ""
