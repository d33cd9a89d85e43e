"""The payee is a FastAPI application with the package's own middleware."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from elicit_flows.sdk import Completed
from tests.support.environments import environment
from tests.support.http_user import HttpUser
from tests.support.money import WALLET_ADDRESS
from tests.support.process import Process
from tests.x402.conftest import Buyer, Shop
from tests.x402.shop import PAYEE
from tests.x402.test_paying import bought

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def fastapi_shop(shops: Shop, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    python, program = environment("x402-fastapi"), Path(__file__).with_name("fastapi_shop.py")
    log = tmp_path_factory.mktemp("fastapi") / "shop.log"
    process = Process([python, str(program), shops.facilitator, PAYEE], log)
    process.start()
    yield process.wait_for_output(r"at (http://\S+)", timeout=60)[1]
    process.stop()


def test_a_payment_for_a_fastapi_application_is_settled_once_and_its_answer_is_the_agents(
    buyer: Buyer, fastapi_shop: str, http_user: HttpUser
) -> None:
    there = replace(buyer, shop=Shop(fastapi_shop, buyer.shop.facilitator))
    before = len(there.shop.chain())
    paid = bought(there, http_user, "/report/bern", method="POST", json={"day": "today"})
    assert (paid.response.status_code, paid.response.json()) == (
        200, {"report": "rainy", "town": "bern", "asked": {"day": "today"}},
    )  # fmt: skip
    assert isinstance(paid.outcome, Completed)
    assert there.shop.chain()[before:] == [{"from": WALLET_ADDRESS, "to": PAYEE, "value": 10_000}]
    assert there.agent.get("/v1/authorizations").json()["data"][0]["url"] == f"{fastapi_shop}/report/bern"


def test_a_no_is_the_applications_402_and_nothing_is_settled(
    buyer: Buyer, fastapi_shop: str, http_user: HttpUser
) -> None:
    there = replace(buyer, shop=Shop(fastapi_shop, buyer.shop.facilitator))
    before = len(there.shop.chain())
    paid = bought(there, http_user, "/report/bern", action="decline", method="POST", json={})
    assert (paid.response.status_code, there.shop.chain()[before:]) == (402, [])
