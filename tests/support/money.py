"""Rows for payments, for tests that need no provider: like those of ``manage.py apply`` and finished flows."""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import Any

from elicit_flows import vault
from elicit_flows.domain.values import Claim, Secret
from elicit_flows.kinds.x402.networks import NETWORKS
from elicit_flows.lib import clock, ids
from elicit_flows.models import (
    Authorization,
    Entitlement,
    Mandate,
    MandateCharge,
    Payment,
    PaymentAccount,
    Renewal,
    Subscription,
)
from elicit_flows.payments import charges
from tests.support.rows import ALICE_CLAIM, Known

KEY, HOOK = "sk_test_canary", "whsec_canary"
# The first account that Hardhat makes: everybody knows its key.
WALLET_ADDRESS = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
WALLET_KEY = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"


def account(slug: str = "main", **more: Any) -> PaymentAccount:
    """Nobody talks to its provider."""
    row = PaymentAccount(slug=slug, provider="stripe", **more)
    vault.seal_account(row, Secret(KEY), [Secret(HOOK)])
    row.save()
    return row


def payment(owner: Known, at: PaymentAccount, claim: Claim = ALICE_CLAIM, **more: Any) -> Payment:
    """19.99 EUR, paid."""
    usual = {
        "mode": "pay", "amount": 1999, "currency": "eur", "description": "A report", "status": Payment.Status.PAID,
        "payment_ref": ids.name("pi"), "paid_at": clock.now(), "receipt_url": "https://pay.example.com/receipt",
    }  # fmt: skip
    return Payment.objects.create(agent=owner.row, account=at, iss=claim.iss, sub=claim.sub, **{**usual, **more})


def mandate(owner: Known, at: PaymentAccount, claim: Claim = ALICE_CLAIM, **more: Any) -> Mandate:
    """20 EUR each and 50 in all, announced: a charge is not made at once."""
    usual = {
        "per_charge": 2000, "total": 5000, "currency": "eur", "description": "Train tickets", "notice": True,
        "until": clock.now() + timedelta(days=90), "status": "active", "given_at": clock.now(), "method": "visa 4242",
    }  # fmt: skip
    owner.row.payment_accounts.add(at)
    saved = payment(owner, at, claim, mode="mandate", amount=0, status=Payment.Status.SAVED, receipt_url="")
    given = {**usual, **more}
    return Mandate.objects.create(agent=owner.row, account=at, payment=saved, iss=claim.iss, sub=claim.sub, **given)


def subscription(owner: Known, at: PaymentAccount, claim: Claim = ALICE_CLAIM, **more: Any) -> Subscription:
    """19.99 EUR a month, paid for the first one."""
    until = clock.now() + timedelta(days=30)
    bought = payment(owner, at, claim, mode="subscribe", interval="month", status="active", period_end=until)
    given = {"ref": bought.payment_ref, "amount": bought.amount, "period_end": until, **more}
    return Subscription.objects.create(
        agent=owner.row, account=at, payment=bought, iss=claim.iss, sub=claim.sub, **given
    )


def renewal(of: Subscription, **more: Any) -> Renewal:
    """The period after the paid one, refused."""
    start = of.period_end or clock.now()
    usual = {
        "ref": ids.name("in"), "amount": of.amount, "currency": of.payment.currency, "status": "failed", "tries": 1,
        "period_start": start, "period_end": start + timedelta(days=30),
    }  # fmt: skip
    return Renewal.objects.create(subscription=of, **{**usual, **more})


def charge(under: Mandate, key: str = "one") -> MandateCharge:
    """One cent, announced."""
    asked = {"amount": 1, "description": "A ticket", "item": None, "uses": None, "metadata": {}}
    return charges.reserve(under, asked, key, "")[0]


def wallet(slug: str = "wallet", **more: Any) -> PaymentAccount:
    """One of Base Sepolia that pays up to 1 USDC."""
    usual = {
        "client_id": WALLET_ADDRESS, "network": "eip155:84532",
        "max_per_payment": 1_000_000, "max_per_day": 5_000_000,
    }  # fmt: skip
    row = PaymentAccount(slug=slug, provider="x402", **{**usual, **more})
    vault.seal_account(row, Secret(WALLET_KEY), [])
    row.save()
    return row


def authorization(owner: Known, at: PaymentAccount, claim: Claim = ALICE_CLAIM, **more: Any) -> Authorization:
    """0.01 USDC for a report, reserved just now."""
    payee, now = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C", clock.now()
    accepted = {
        "scheme": "exact", "network": at.network, "asset": NETWORKS[at.network].asset, "amount": "10000",
        "payTo": payee, "maxTimeoutSeconds": 60, "extra": {"name": "USDC", "version": "2"},
    }  # fmt: skip
    usual = {
        "url": "https://weather.example/report", "method": "GET", "network": at.network, "payee": payee,
        "amount": 10_000, "accepted": accepted, "nonce": f"0x{secrets.token_hex(32)}", "created_at": now,
        "sign_by": now + timedelta(minutes=10),
    }  # fmt: skip
    given = {**usual, **more}
    owner.row.payment_accounts.add(at)
    return Authorization.objects.create(agent=owner.row, account=at, iss=claim.iss, sub=claim.sub, **given)


def entitlement(of: Payment, **more: Any) -> Entitlement:
    usual = {"item": "report", "uses_left": 3}
    return Entitlement.objects.create(agent=of.agent, payment=of, iss=of.iss, sub=of.sub, **{**usual, **more})
