"""Kind x402 passes the contract of every kind."""

from __future__ import annotations

from typing import Any

import pytest
from x402.mechanisms.evm.default_assets import DEFAULT_ASSETS

from elicit_flows import kinds
from elicit_flows.domain.errors import Invalid
from elicit_flows.domain.values import Claim, Json, Visit
from elicit_flows.kinds.x402.networks import NETWORKS
from tests.kinds.contract import PageContract
from tests.x402.shop import NETWORK, PAYEE

URL = "https://weather.example/report"
ACCEPTED: Json = {
    "scheme": "exact", "network": NETWORK, "asset": NETWORKS[NETWORK].asset, "amount": "10000", "payTo": PAYEE,
    "maxTimeoutSeconds": 60, "extra": {"name": "USDC", "version": "2"},
}  # fmt: skip
RESOURCE = {"url": URL, "description": "A weather report"}
ASKED = {"x402Version": 2, "resource": RESOURCE, "accepts": [ACCEPTED]}
CLEAN = {"url": URL, "method": "GET", "challenge": ASKED, "account": None}


def challenge(**more: Any) -> Json:
    return {"url": URL, "challenge": ASKED | more}


def accepting(**more: Any) -> Json:
    return challenge(accepts=[ACCEPTED | more])


class TestX402(PageContract):
    name = "x402"
    good: list[tuple[Json, Json]] = [
        ({"url": URL, "challenge": ASKED}, CLEAN),
        (
            {"url": URL, "challenge": ASKED, "method": "POST", "account": "w"},
            CLEAN | {"method": "POST", "account": "w"},
        ),
        (challenge(error="Payment required", extensions={"bazaar": {}}), CLEAN),
        (challenge(resource=RESOURCE | {"mimeType": "application/json"}), CLEAN),
        (challenge(error="支" * 10_000), CLEAN),
    ]
    bad: list[tuple[Json, list[list[Any]]]] = [
        ({"url": "ftp://x", "challenge": ASKED}, [["params", "url"]]),
        ({"url": URL, "challenge": ASKED, "method": "TRACE"}, [["params", "method"]]),
        ({"url": URL, "challenge": ASKED, "account": "a b"}, [["params", "account"]]),
        ({"url": URL}, [["params", "challenge"]]),
        (challenge(error="x" * 20_000), [["params", "challenge"]]),
        (challenge(x402Version=1), [["params", "challenge", "x402Version"]]),
        (challenge(resource={}), [["params", "challenge", "resource", "url"]]),
        (challenge(accepts=[]), [["params", "challenge", "accepts"]]),
        (challenge(accepts=[{}]), [["params", "challenge", "accepts", 0]]),
        (accepting(state="x"), [["params", "challenge", "accepts", 0]]),
        (accepting(scheme=""), [["params", "challenge", "accepts", 0, "scheme"]]),
        (accepting(maxTimeoutSeconds=0), [["params", "challenge", "accepts", 0, "maxTimeoutSeconds"]]),
        (accepting(extra=[]), [["params", "challenge", "accepts", 0, "extra"]]),
    ]
    right = [{"pay": ["yes"]}]
    wrong: list[tuple[dict[str, list[str]], str | None]] = [
        ({}, None), ({"pay": ["no"]}, None), ({"pay": ["yes", "yes"]}, None), ({"confirm": ["yes"]}, None),
    ]  # fmt: skip

    @pytest.fixture
    def visit(self) -> Visit:
        asked = kinds.get("x402").clean(challenge())
        return Visit("el_1", Claim("https://idp.test", "alice"), asked, None, "http://127.0.0.1/callback/x402")


@pytest.mark.parametrize(
    "amount", ["0.01", "1e4", "0x2710", "010000", "0", "-1", "", " 1", "1000000000000001", 10000, 0.01]
)
def test_t253_an_amount_is_a_whole_number_of_the_smallest_unit(amount: Any) -> None:
    with pytest.raises(Invalid) as caught:
        kinds.get("x402").clean(accepting(amount=amount))
    assert caught.value.errors[0]["loc"] == ["params", "challenge", "accepts", 0, "amount"]


def test_the_tokens_are_those_that_the_package_knows() -> None:
    for known in NETWORKS.values():
        theirs = next(one for one in DEFAULT_ASSETS[known.id] if one["symbol"] == known.symbol)
        ours = {
            "asset": known.asset, "name": known.token, "version": known.version, "decimals": known.decimals,
            "symbol": known.symbol,
        }  # fmt: skip
        assert {name: theirs[name] for name in ours} == ours  # type: ignore[literal-required]
