"""A shop that charges by x402, its facilitator, and agents of a box whose operator has a wallet."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from elicit_flows.sdk import SyncElicit
from elicit_flows.sdk.x402 import challenge_of
from tests.cast import ALICE, Person, program
from tests.support import box_config
from tests.support.box import AgentClient, Box
from tests.support.http_user import HttpUser
from tests.support.money import WALLET_ADDRESS, WALLET_KEY
from tests.support.op import Op
from tests.support.process import Process
from tests.x402.shop import PAYEE

Json = dict[str, Any]
NETWORK = "eip155:84532"
NUMBERS = itertools.count(1)
WALLET: Json = {
    "slug": "wallet", "provider": "x402", "secret_key": WALLET_KEY, "client_id": WALLET_ADDRESS, "network": NETWORK,
    "max_per_payment": 5_000_000, "max_per_day": 900_000_000, "payees": [PAYEE],
}  # fmt: skip


def running(log: Path, module: str, *arguments: str) -> tuple[Process, str]:
    """A program of this folder, and the address that it prints."""
    process = Process([sys.executable, "-m", module, *arguments], log)
    process.start()
    found = process.wait_for_output(r"at (http://\S+)", timeout=60)
    return process, found[1]


@dataclass(frozen=True)
class Shop:
    url: str
    facilitator: str

    def chain(self) -> list[Json]:
        """What was transferred, in order."""
        return list(httpx2.get(f"{self.facilitator}/chain", trust_env=False).json())

    def get(self, path: str, **more: Any) -> httpx2.Response:
        return httpx2.get(f"{self.url}{path}", trust_env=False, **more)

    def costs(self, price: str) -> None:
        """What ``/report`` costs from now on."""
        httpx2.post(f"{self.url}/_price", json={"price": price}, trust_env=False)


@pytest.fixture(scope="session")
def shops(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    logs = tmp_path_factory.mktemp("x402")
    facilitator, at = running(logs / "facilitator.log", "tests.x402.facilitator")
    shop, url = running(logs / "shop.log", "tests.x402.shop", at)
    yield Shop(url, at)
    shop.stop()
    facilitator.stop()


@pytest.fixture
def shop(shops: Shop) -> Shop:
    shops.costs("$0.01")
    return shops


@dataclass
class Buyer:
    """An agent that nobody used before, whose operator's wallet is its own."""

    box: Box
    agent: AgentClient
    corp: Op
    shop: Shop
    slug: str

    @property
    def user(self) -> tuple[str, str]:
        return self.corp.issuer, ALICE.sub

    def sdk(self) -> SyncElicit:
        return SyncElicit(self.box.url, self.agent.api_key)

    def params(self, path: str = "/report", **more: Any) -> Json:
        """Of a question, with the challenge that the shop makes."""
        return {"url": f"{self.shop.url}{path}", "challenge": challenge_of(self.shop.get(path)), **more}

    def ask(self, params: Json | None = None, who: Person = ALICE, **more: Any) -> httpx2.Response:
        body = {
            "kind": "x402", "subject": who.subject(self.corp.issuer), "message": "I need the report.",
            "params": self.params() if params is None else params, **more,
        }  # fmt: skip
        return self.agent.post("/v1/elicitations", json=body)

    def asked(self, params: Json | None = None) -> Json:
        answer = self.ask(params)
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    def look(self, asked: Json) -> Json:
        return dict(self.agent.get(f"/v1/elicitations/{asked['id']}").json())

    def agreed(self, user: HttpUser, params: Json | None = None) -> Json:
        """The result of a question that Alice has said yes to."""
        asked = self.asked(params)
        self.says(user, asked)
        found = self.look(asked)
        assert found["status"] == "completed", found
        return dict(found["result"])

    def says(self, user: HttpUser, asked: Json, action: str = "submit") -> None:
        """Alice opens the link, and presses a button."""
        user.open(asked["url"])
        user.carry_on("signin", "alice")
        user.press(action)

    def sign(self, authorization: str, key: str | None = None) -> httpx2.Response:
        headers = {"idempotency-key": key} if key else {}
        return self.agent.post(f"/v1/authorizations/{authorization}/sign", headers=headers)

    def events(self, type_: str = "payment.authorized") -> list[Json]:
        found = self.agent.get("/v1/events", params={"limit": 100}).json()["data"]
        return [one for one in found if one["type"] == type_]

    def set_wallet(self, **more: Any) -> None:
        """Change the operator's configuration of the wallet."""
        self.box.apply({"payment_account": [WALLET | {"slug": self.slug} | more]})


@pytest.fixture(scope="session")
def spare_buyers() -> list[Buyer]:
    """Those that were made and not used yet: a wallet takes a second to apply, and ten no more."""
    return []


@pytest.fixture
def buyer(embedded_box: Box, corp: Op, shop: Shop, spare_buyers: list[Buyer]) -> Buyer:
    if not spare_buyers:
        spare_buyers += make_buyers(embedded_box, corp, shop, 10)
    return spare_buyers.pop()


def make_buyers(box: Box, corp: Op, shop: Shop, count: int) -> list[Buyer]:
    numbers = [next(NUMBERS) for _ in range(count)]
    named = {f"wallet-{number}": program(f"buyer-{box.ports[0]}-{number}") for number in numbers}
    agents = [box_config.agent(who, payment_accounts=[slug]) for slug, who in named.items()]
    box.apply({"payment_account": [WALLET | {"slug": slug} for slug in named], "agent": agents})
    box.programs |= {who.slug: who for who in named.values()}
    return [Buyer(box, box.agent(who.slug), corp, shop, slug) for slug, who in named.items()]
