"""A bookkeeper's month at each provider, as docs/how-to/payments.md says.

The file of the page Money adds up to what the provider says, and ``manage.py reconcile`` finds what does not.
"""

from __future__ import annotations

import csv
import io
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.cast import OLGA, program
from tests.kinds.payment import mollie_house, paypal_house
from tests.payments.test_reconciliation import reconciled
from tests.payments.till import KEY, SECRET, Json, Stripe, Till, start
from tests.support import box_config
from tests.support.box import Box
from tests.support.http_user import HttpUser
from tests.support.op import Op
from tests.support.process import Process, until

pytestmark = [pytest.mark.slow, pytest.mark.limit(240)]
# By the slug of the account: where the sandbox has this provider, and what the account is.
PROVIDERS: dict[str, tuple[str, Json]] = {
    "sandbox": ("", {"provider": "stripe", "secret_key": KEY, "webhook_secrets": [SECRET], "allow_mandates": True}),
    "mollie": ("/mollie", {"provider": "mollie", "secret_key": mollie_house.KEY}),
    "paypal": (
        "/paypal",
        {
            "provider": "paypal", "secret_key": paypal_house.SECRET, "client_id": paypal_house.CLIENT_ID,
            "webhook_secrets": [paypal_house.WEBHOOK],
        },
    ),
}  # fmt: skip
Sums = Counter[tuple[str, str]]  # minor units by charge or refund, and currency


@dataclass
class Shop(Till):
    """``stripe`` is the provider of ``account``, whichever that is."""

    account: str

    def buy(self, user: HttpUser, **params: Any) -> Json:
        asked = self.ask(account=self.account, **params)
        with user.stopping_at(self.stripe.url):
            user.connect(asked["url"], "alice")
            assert user.stopped, f"{user.url}: {user.text[:300]}"
        user.follow()
        user.press("pay")
        return self.becomes(asked, "completed", timeout=20)

    def give_back(self, asked: Json, amount: int) -> None:
        """By the agent; Mollie's bank takes its time."""
        payment = self.payment_id(asked)
        self.agent.post(f"/v1/payments/{payment}/refunds", json={"amount": amount}).raise_for_status()
        if self.account == "mollie":
            said = "SELECT ref FROM elicit_flows_refund WHERE payment_id = %s AND ref IS NOT NULL"
            ref = until(lambda: self.sql(said, payment), "Mollie has it")[0][0]
            self.stripe.order("refund_outcome", refund=ref, outcome="refunded")
        until(lambda: self.payment(asked)["amount_refunded"] == amount, "it is given back", timeout=20)

    def at_provider(self) -> Sums:
        """Stripe's charges, Mollie's payments, PayPal's captures, and what went back of them."""
        return Counter({key: amount for key, amount in OF[self.account](self.stripe.state()).items() if amount})


def of_stripe(state: Json) -> Sums:
    sums: Sums = Counter()
    for one in state["charges"]:
        sums["charge", one["currency"]] += one["amount_captured"]
        sums["refund", one["currency"]] -= one["amount_refunded"]
    return sums


def of_mollie(state: Json) -> Sums:
    sums: Sums = Counter()
    for one in state["payments"]:
        if one["status"] == "paid":
            sums["charge", one["amount"]["currency"].lower()] += minor(one["amount"])
            for back in one["_embedded"]["refunds"]:
                sums["refund", back["amount"]["currency"].lower()] -= minor(back["amount"])
    return sums


def of_paypal(state: Json) -> Sums:
    sums: Sums = Counter()
    for order in state["orders"]:
        for sort, name in (("charge", "captures"), ("refund", "refunds")):
            for one in order["purchase_units"][0].get("payments", {}).get(name, []):
                money = minor(one["amount"])
                sums[sort, one["amount"]["currency_code"].lower()] += money if sort == "charge" else -money
    return sums


def minor(amount: Json) -> int:
    return round(float(amount["value"]) * (1 if "JPY" in amount.values() else 100))


OF: dict[str, Callable[[Json], Sums]] = {"sandbox": of_stripe, "mollie": of_mollie, "paypal": of_paypal}


@pytest.fixture(scope="module")
def shops(new_box: Callable[..., Box], tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Box, str]]:
    """A box with an account at each provider, and where the sandbox is."""
    box, running = new_box("embedded"), list[Process]()
    sandbox = start(box.url, tmp_path_factory.mktemp("sandbox") / "log", running)
    accounts = [
        {"slug": slug, "livemode": False, "api_base": f"{sandbox}{path}", **what}
        for slug, (path, what) in PROVIDERS.items()
    ]
    who = [program(f"books-{slug}") for slug in PROVIDERS]
    tables = [box_config.agent(one, None, payment_accounts=list(PROVIDERS)) for one in who]
    box.apply({"payment_account": accounts, "agent": tables})
    box.programs.update({one.slug: one for one in who})
    box.add_operator(OLGA)
    yield box, sandbox
    for process in running:
        process.stop()


@pytest.fixture(params=PROVIDERS)
def shop(request: pytest.FixtureRequest, shops: tuple[Box, str], corp: Op, drive: Op) -> Shop:
    box, sandbox = shops
    provider = Stripe(sandbox + PROVIDERS[request.param][0])
    return Shop(box, box.agent(f"books-{request.param}"), provider, corp, drive, request.param)


def a_month(shop: Shop, user: HttpUser) -> list[Json]:
    """What was bought, and in part given back: by the agent, and at the dashboard. One was never paid."""
    bought = [shop.buy(user, amount=amount) for amount in (1999, 500, 700)]
    bought.append(shop.buy(user, amount=500, currency="jpy"))
    shop.ask(account=shop.account, amount=900)
    shop.give_back(bought[0], 300)
    shop.give_back(bought[1], 500)
    if shop.account == "sandbox":
        monthly = shop.buy(user, amount=400, mode="subscribe", interval="month")
        ref = shop.sql("SELECT payment_ref FROM elicit_flows_payment WHERE id = %s", shop.payment_id(monthly))[0][0]
        shop.stripe.order("renew", subscription=ref)
        paid = "SELECT 1 FROM elicit_flows_renewal WHERE status = 'paid'"
        until(lambda: shop.sql(paid), "it is renewed", timeout=20)
        limits = {"per_charge": 800, "total": 900, "until": (datetime.now(UTC) + timedelta(days=9)).isoformat()}
        given = shop.buy(user, amount=None, mode="mandate", mandate=limits)["result"]["mandate"]
        body = {"amount": 800, "description": "A ticket"}
        charge = shop.agent.post(f"/v1/mandates/{given}/charges", json=body, headers={"idempotency-key": "one"})
        assert charge.json()["status"] == "paid", charge.text
    return bought


def exported(shop: Shop, folder: Path) -> list[Json]:
    """The lines of the signed file that an operator takes from the page Money."""
    with httpx2.Client(base_url=shop.box.url, trust_env=False, follow_redirects=True, timeout=40) as browser:
        browser.get("/admin/login/")
        entered = {"username": OLGA.username, "password": OLGA.password, "next": "/admin/money/"}
        page = browser.post("/admin/login/", data=entered | token(browser), headers={"referer": shop.box.url})
        assert page.url.path == "/admin/money/", page.text[:500]
        asked = {"account": shop.account} | token(browser)
        file = browser.post("/admin/money/", data=asked, headers={"referer": shop.box.url})
    assert file.headers["content-type"] == "application/zip", file.text[:500]
    zipfile.ZipFile(io.BytesIO(file.content)).extractall(folder)
    (lines,) = folder.glob("money-*.csv")
    assert " signed at " in shop.box.manage("verify", str(lines)).stdout
    return list(csv.DictReader(io.StringIO(lines.read_text(encoding="utf-8"))))


def token(browser: httpx2.Client) -> Json:
    return {"csrfmiddlewaretoken": next(one.value for one in browser.cookies.jar if "csrf" in one.name)}


def test_the_file_of_a_month_adds_up_to_what_the_provider_says_and_what_differs_is_found(
    shop: Shop, http_user: HttpUser, tmp_path: Path
) -> None:
    bought = a_month(shop, http_user)
    sums: Sums = Counter()
    for line in exported(shop, tmp_path):
        assert line["account"] == shop.account
        sums["charge" if line["sort"] == "renewal" else line["sort"], line["currency"]] += int(line["amount"])
    assert sums == shop.at_provider()
    assert sums["refund", "eur"] == -800
    assert reconciled(shop, account=shop.account) == []
    said = shop.box.manage("reconcile", shop.account).stdout.replace("\xa0", " ")
    assert f"charge: €{sums['charge', 'eur'] / 100:.2f}\n" in said
    assert "charge: ¥500\n" in said
    assert "refund: -€8.00\n" in said
    assert said.endswith("\n0 differences.\n")
    changed, lost = (shop.payment_id(one) for one in bought[2:])
    shop.sql("UPDATE elicit_flows_payment SET amount = 699 WHERE id = %s", changed)
    shop.sql("UPDATE elicit_flows_payment SET status = 'closed', payment_ref = '' WHERE id = %s", lost)
    shop.sql("DELETE FROM elicit_flows_refund WHERE payment_id = %s", shop.payment_id(bought[0]))
    assert sorted(reconciled(shop, account=shop.account)) == sorted(
        [
            ("amount", changed, "699 eur", "700 eur"), ("charge_unknown", lost, "", "500 jpy"),
            ("refund_unknown", shop.payment_id(bought[0]), "", "300 eur"),
        ]
    )  # fmt: skip
