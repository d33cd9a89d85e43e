"""Rows for payments, for tests that need no provider: like those of ``manage.py apply`` and finished flows."""

from __future__ import annotations

from typing import Any

from elicit_flows import vault
from elicit_flows.domain.values import Claim, Secret
from elicit_flows.lib import clock, ids
from elicit_flows.models import Entitlement, Payment, PaymentAccount
from tests.support.rows import ALICE_CLAIM, Known

KEY, HOOK = "sk_test_canary", "whsec_canary"


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


def entitlement(of: Payment, **more: Any) -> Entitlement:
    usual = {"item": "report", "uses_left": 3}
    return Entitlement.objects.create(agent=of.agent, payment=of, iss=of.iss, sub=of.sub, **{**usual, **more})
