"""HTTP 402 from end to end: the package's own server asks, a person agrees, the operator's wallet pays once."""

from __future__ import annotations

import ast
import asyncio
import base64
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from eth_account import Account
from x402 import x402ClientSync
from x402.http import decode_payment_required_header, decode_payment_signature_header
from x402.mechanisms.evm.exact import register_exact_evm_client

from elicit_flows.sdk import Completed, Declined
from elicit_flows.sdk.x402 import Paid
from tests.docs.page import found
from tests.support import box_config
from tests.support.http_user import HttpUser
from tests.support.money import WALLET_ADDRESS, WALLET_KEY
from tests.x402.conftest import WALLET, Buyer
from tests.x402.shop import PAYEE


def bought(buyer: Buyer, user: HttpUser, path: str, action: str = "submit", method: str = "GET", **more: Any) -> Paid:
    """What an agent gets that asks the shop through its SDK, while its user answers."""

    with buyer.sdk() as elicit:

        def show(url: str) -> None:
            buyer.says(user, {"url": url}, action)

        return elicit.pay_request(buyer.user, method, f"{buyer.shop.url}{path}", on_url=show, timeout=60, **more)


def test_a_402_is_paid_after_the_persons_yes_and_the_request_is_repeated(buyer: Buyer, http_user: HttpUser) -> None:
    before = len(buyer.shop.chain())
    paid = bought(buyer, http_user, "/report", message="I need the weather report.")
    assert (paid.response.status_code, paid.response.json()["report"]) == (200, "sunny")
    assert isinstance(paid.outcome, Completed)
    assert buyer.shop.chain()[before:] == [{"from": WALLET_ADDRESS, "to": PAYEE, "value": 10_000}]
    settled = json.loads(base64.b64decode(paid.response.headers["payment-response"]))
    assert settled["success"] is True
    (entry,) = buyer.agent.get("/v1/authorizations").json()["data"]
    assert {name: entry[name] for name in ("status", "amount", "symbol", "payee", "livemode")} == {
        "status": "signed", "amount": 10_000, "symbol": "USDC", "payee": PAYEE, "livemode": False,
    }  # fmt: skip
    (told,) = buyer.events()
    assert told["data"]["authorization"] == entry
    assert told["elicitation"] == entry["elicitation"] == paid.outcome.elicitation.id


def test_a_body_and_headers_are_sent_again(buyer: Buyer, http_user: HttpUser) -> None:
    paid = bought(buyer, http_user, "/report", method="POST", json={"town": "Bern"}, headers={"x-call": "7"})
    assert paid.response.json() == {"report": "cloudy", "asked": {"town": "Bern"}}


def test_a_body_that_cannot_be_sent_twice_is_refused_before_anybody_is_asked(buyer: Buyer, http_user: HttpUser) -> None:
    async def body() -> AsyncIterator[bytes]:
        yield b'{"town": "Bern"}'

    before = len(buyer.agent.get("/v1/elicitations").json()["data"])
    with pytest.raises(TypeError, match="sent twice"):
        bought(buyer, http_user, "/report", method="POST", content=body())
    assert len(buyer.agent.get("/v1/elicitations").json()["data"]) == before


def test_a_no_pays_nothing(buyer: Buyer, http_user: HttpUser) -> None:
    before = len(buyer.shop.chain())
    paid = bought(buyer, http_user, "/report", action="decline")
    assert isinstance(paid.outcome, Declined)
    assert paid.response.status_code == 402
    assert (buyer.shop.chain()[before:], buyer.agent.get("/v1/authorizations").json()["data"]) == ([], [])


def test_what_costs_nothing_asks_nobody(buyer: Buyer, http_user: HttpUser) -> None:
    paid = bought(buyer, http_user, "/free")
    assert (paid.response.json(), paid.outcome) == ({"report": "none"}, None)


def test_the_page_says_in_words_what_is_paid_to_whom(buyer: Buyer, http_user: HttpUser) -> None:
    asked = buyer.asked()
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    for words in (
        "Pay 0.01 USDC?",
        "A weather report",
        PAYEE,
        "Base Sepolia",
        f"{buyer.shop.url}/report",
        "no real money",
    ):
        assert words in http_user.text.replace("\u00a0", " "), words
    assert "You are not charged." in http_user.text
    assert http_user.page_name == "form"


def test_the_persons_account_shows_it(buyer: Buyer, http_user: HttpUser) -> None:
    buyer.agreed(http_user)
    http_user.open(f"{buyer.box.url}/account/payments?show=x402")
    assert "Allowed, not used yet" in http_user.text
    assert PAYEE in http_user.text


def test_the_documentations_example_pays_and_prints_the_report(
    buyer: Buyer, http_user: HttpUser, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (block,) = [one for one in found("how-to/x402.md", "x402") if one.language == "python"]
    monkeypatch.setenv("ELICIT_URL", buyer.box.url)
    monkeypatch.setenv("ELICIT_API_KEY", buyer.agent.api_key)

    async def send_to_user(url: str) -> None:
        await asyncio.to_thread(buyer.says, http_user, {"url": url})

    scope = {"user": buyer.user, "url": f"{buyer.shop.url}/report", "send_to_user": send_to_user}
    code = compile(block.text, "x402.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    asyncio.run(eval(code, scope))
    assert "sunny" in capsys.readouterr().out


def test_t257_a_redirect_is_not_followed_so_nobody_else_is_paid(buyer: Buyer, http_user: HttpUser) -> None:
    before = len(buyer.shop.chain())
    paid = bought(buyer, http_user, f"/moved?to={buyer.shop.url}/report")
    assert (paid.response.status_code, paid.outcome) == (307, None)
    assert buyer.agent.get("/v1/elicitations").json()["data"] == []
    assert buyer.shop.chain()[before:] == []


def test_t252_a_price_that_rose_meanwhile_is_not_paid_and_nobody_is_asked_twice(
    buyer: Buyer, http_user: HttpUser
) -> None:
    before = len(buyer.shop.chain())
    with buyer.sdk() as elicit:

        def show(url: str) -> None:
            buyer.shop.costs("$0.05")
            buyer.says(http_user, {"url": url})

        paid = elicit.pay_request(buyer.user, "GET", f"{buyer.shop.url}/report", on_url=show, timeout=60)
    assert paid.response.status_code == 402
    assert isinstance(paid.outcome, Completed)
    assert len(buyer.agent.get("/v1/elicitations").json()["data"]) == 1
    assert buyer.shop.chain()[before:] == []


def test_t255_a_header_pays_once_and_not_for_another_price(buyer: Buyer, http_user: HttpUser) -> None:
    header = buyer.sign(buyer.agreed(http_user)["authorization"]).json()
    sent = {header["name"]: header["value"]}
    assert buyer.shop.get("/dear", headers=sent).status_code == 402
    assert buyer.shop.get("/other", headers=sent).status_code == 402
    assert buyer.shop.get("/report", headers=sent).status_code == 200
    assert buyer.shop.get("/report", headers=sent).status_code == 402


@pytest.mark.parametrize(
    ("path", "code", "why"),
    [
        ("/dear", "over_limit", "pays at most 5.00"),
        ("/other", "invalid", "is not one that the operator allows"),
        ("/mainnet", "invalid", "the network eip155:8453 is not offered"),
    ],
)
def test_what_the_wallet_does_not_pay_is_refused_with_the_reason(buyer: Buyer, path: str, code: str, why: str) -> None:
    answer = buyer.ask(buyer.params(path))
    assert (answer.status_code, answer.json()["code"]) == (403 if code == "over_limit" else 422, code)
    assert why in answer.json()["detail"]


@pytest.mark.slow
def test_the_packages_own_client_pays_the_same_header_as_ours(buyer: Buyer, http_user: HttpUser) -> None:
    """What a client of the package would send, and what we send, differ in the number and the times alone."""
    params = buyer.params()
    required = decode_payment_required_header(buyer.shop.get("/report").headers["payment-required"])
    client = x402ClientSync()
    register_exact_evm_client(client, Account.from_key(WALLET_KEY))
    theirs = client.create_payment_payload(required).model_dump(by_alias=True, exclude_none=True)
    header = buyer.sign(buyer.agreed(http_user, params)["authorization"]).json()
    ours = json.loads(base64.b64decode(header["value"]))
    assert decode_payment_signature_header(header["value"]).accepted == required.accepts[0]
    assert ours["accepted"] == theirs["accepted"]
    assert ours.keys() - theirs.keys() == set()
    assert ours["payload"].keys() == theirs["payload"].keys()
    for name in ("from", "to", "value"):
        assert ours["payload"]["authorization"][name] == theirs["payload"]["authorization"][name]
    assert ours["payload"]["authorization"].keys() == theirs["payload"]["authorization"].keys()


@pytest.mark.slow
def test_apply_says_what_is_wrong_with_a_wallet(buyer: Buyer) -> None:
    for more, said in (
        ({"client_id": PAYEE}, "client_id: must be the address that secret_key belongs to"),
        ({"secret_key": "sk_test_1"}, "client_id: must be the address that secret_key belongs to"),
        ({"livemode": True}, "livemode: is true, but no real money moves on this network"),
        ({"network": "eip155:8453"}, "livemode: is false, but real money moves on this network"),
        ({"network": "eip155:5"}, "network: must be"),
        ({"max_per_day": 1}, "max_per_day: must not be less than max_per_payment"),
        ({"max_per_day": None}, "max_per_day: is missing"),
        ({"payees": ["alice.eth"]}, "must be an address"),
        ({"api_base": "http://127.0.0.1:1"}, "api_base: must not be set"),
        ({"provider": "stripe", "secret_key": "sk_test_1"}, "provider: cannot change to or from x402"),
    ):
        table = {name: value for name, value in (WALLET | {"slug": buyer.slug} | more).items() if value is not None}
        file = buyer.box.home / "wrong.toml"
        file.write_text(box_config.to_toml({"payment_account": [table]}))
        ran = buyer.box.manage("apply", "--yes", "--skip-checks", str(file), check=False)
        assert ran.returncode == 1, said
        assert said in ran.stdout + ran.stderr, ran.stdout + ran.stderr


@pytest.mark.slow
def test_the_documentations_configuration_can_be_applied(buyer: Buyer) -> None:
    (block,) = [one for one in found("how-to/x402.md", "x402") if one.language == "toml"]
    file = buyer.box.home / "documented.toml"
    file.write_text(block.text)
    arguments = ("apply", "--dry-run", "--skip-checks", str(file))
    assert "wallet" in buyer.box.manage(*arguments, env={"WALLET_KEY": WALLET_KEY}).stdout
