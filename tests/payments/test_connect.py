"""Two shops of one platform (Stripe Connect): each is paid on its own account, and speaks for itself alone."""

from __future__ import annotations

import hashlib
import hmac
import itertools
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.cast import program
from tests.payments.till import KEY, Json, Stripe, Till, start
from tests.support import box_config
from tests.support.box import Box
from tests.support.http_user import HttpUser
from tests.support.op import Op
from tests.support.process import Process, until

SECRET = "whsec_of_the_connect_endpoint"
NUMBERS = itertools.count(1)


@dataclass(frozen=True)
class Shops:
    """``one`` and ``other`` are the slugs. The platform's Connect endpoint is the address of the first."""

    till: Till
    one: str
    other: str

    def ask(self, shop: str, **params: Any) -> Json:
        return self.till.ask(account=shop, **params)

    def tell(self, **event: Any) -> int:
        """Sends an event to the endpoint, as the platform's endpoint signs it; the status of the answer."""
        usual = {"id": f"evt_{next(NUMBERS)}", "object": "event", "livemode": False}
        body, stamp = json.dumps(usual | event).encode(), int(time.time())
        mark = hmac.new(SECRET.encode(), f"{stamp}.".encode() + body, hashlib.sha256).hexdigest()
        headers = {"stripe-signature": f"t={stamp},v1={mark}"}
        return httpx2.post(
            f"{self.till.box.url}/inbound/{self.one}", content=body, headers=headers, trust_env=False
        ).status_code


@pytest.fixture(scope="module")
def platform(embedded_box: Box, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stripe]:
    """A Stripe of these tests alone: its events go to the first shop's address."""
    running: list[Process] = []
    stripe = Stripe(start(embedded_box.url, tmp_path_factory.mktemp("connect") / "log", running))
    stripe.order("account", id="acct_other", platform="acct_sandbox")
    address = f"{embedded_box.url}/inbound/shop-one"
    stripe.order("endpoints", endpoints=[{"url": address, "secrets": [SECRET], "connect": True}])
    yield stripe
    for process in running:
        process.stop()


@pytest.fixture
def shops(embedded_box: Box, platform: Stripe, corp: Op, drive: Op) -> Shops:
    usual = {
        "provider": "stripe", "secret_key": KEY, "webhook_secrets": [SECRET], "api_base": platform.url,
        "application_fee_basis_points": 250,
    }  # fmt: skip
    accounts = [
        usual | {"slug": "shop-one", "connected_account": "acct_sandbox_connected"},
        usual | {"slug": "shop-other", "connected_account": "acct_other"},
    ]
    who = program(f"market-{embedded_box.ports[0]}-{next(NUMBERS)}")
    agent = box_config.agent(who, payment_accounts=["shop-one", "shop-other"])
    embedded_box.apply({"payment_account": accounts, "agent": [agent]})
    embedded_box.programs[who.slug] = who
    till = Till(embedded_box, embedded_box.agent(who.slug), platform, corp, drive)
    return Shops(till, "shop-one", "shop-other")


def session_of(shops: Shops, asked: Json) -> Json:
    [found] = shops.till.opened_at_stripe(asked)
    return found


def test_t244_each_shop_is_paid_on_its_own_account_and_the_platform_gets_its_share(
    shops: Shops, http_user: HttpUser
) -> None:
    for shop, account in ((shops.one, "acct_sandbox_connected"), (shops.other, "acct_other")):
        asked = shops.ask(shop)
        shops.till.pay(http_user, asked)
        assert shops.till.becomes(asked, "completed")["result"]["amount"] == 1999
        paid = session_of(shops, asked)
        assert paid["_account"] == account
        [charge] = [
            one for one in shops.till.stripe.state()["charges"] if one["payment_intent"] == paid["payment_intent"]
        ]
        assert charge["application_fee_amount"] == 49


@pytest.mark.slow
def test_what_the_platforms_endpoint_hears_reaches_the_shop_that_it_is_about(shops: Shops, http_user: HttpUser) -> None:
    asked = shops.ask(shops.other)
    shops.till.pay(http_user, asked)
    shops.till.becomes(asked, "completed")
    shops.till.stripe.order("refund", of=session_of(shops, asked)["payment_intent"], amount=500, pending=False)
    until(lambda: shops.till.payment(asked)["amount_refunded"] == 500, "the refund is heard of")


@pytest.mark.slow
def test_a_month_of_a_shop_agrees_with_its_own_balance(shops: Shops, http_user: HttpUser) -> None:
    asked = shops.ask(shops.one)
    shops.till.pay(http_user, asked)
    shops.till.becomes(asked, "completed")
    for shop in (shops.one, shops.other):
        ran = shops.till.box.manage("reconcile", shop, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.slow
def test_t244_the_word_of_one_shop_is_none_about_anothers_payment(shops: Shops, http_user: HttpUser) -> None:
    """A shop that names another's checkout, or lets its own pass for it, changes nothing."""
    theirs, mine = shops.ask(shops.one), shops.ask(shops.other)
    for asked in (theirs, mine):
        shops.till.at_stripe(http_user, asked)
    http_user.press("pay")  # that of the other shop
    shops.till.becomes(mine, "completed")
    paid, unpaid = session_of(shops, mine), session_of(shops, theirs)
    for said in (unpaid, paid | {"client_reference_id": unpaid["client_reference_id"]}):
        event = {"type": "checkout.session.completed", "data": {"object": {**said, "payment_status": "paid"}}}
        for whose in ("acct_other", "acct_sandbox_connected", "acct_of_nobody"):
            assert shops.tell(**event, account=whose) == 200
        assert shops.tell(**event) == 200
    shops.till.start()
    time.sleep(1)
    assert shops.till.look(theirs)["status"] != "completed"
    assert shops.till.payment(theirs)["status"] == "open"


@pytest.mark.slow
def test_t244_a_shop_with_payments_is_not_moved_to_another_account(shops: Shops, http_user: HttpUser) -> None:
    shops.ask(shops.one)
    file = shops.till.box.home / "moved.toml"
    file.write_text(
        f"""
[[payment_account]]
slug = "shop-one"
provider = "stripe"
secret_key = "{KEY}"
webhook_secrets = ["{SECRET}"]
api_base = "{shops.till.stripe.url}"
connected_account = "acct_other"
"""
    )
    ran = shops.till.box.manage("apply", "--yes", "--skip-checks", str(file), check=False)
    assert ran.returncode == 1
    assert "connected_account: cannot change once there are payments" in ran.stderr


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"connected_account": "shop"}, "connected_account: must be acct_ and"),
        ({"application_fee_basis_points": 250}, "must not be set without connected_account"),
        ({"connected_account": "acct_1", "application_fee_basis_points": 10_001}, "must be a whole number from 0"),
        ({"provider": "mollie", "secret_key": "test_1", "connected_account": "acct_1"}, "mollie has no connected"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(embedded_box: Box, tmp_path: Path, wrong: Json, said: str) -> None:
    row = {"slug": "wrong", "provider": "stripe", "secret_key": "sk_test_1"} | wrong
    file = tmp_path / "wrong.toml"
    file.write_text(box_config.to_toml({"payment_account": [row]}))
    ran = embedded_box.manage("apply", "--skip-checks", str(file), check=False)
    assert ran.returncode == 1
    assert said in ran.stderr
