"""Signed receipts. The agent and the payer keep them, and anybody can check them without asking this service."""

from __future__ import annotations

import hashlib
import time

from django.conf import settings

from elicit_flows import vault
from elicit_flows.domain.errors import Conflict
from elicit_flows.domain.values import Claim
from elicit_flows.models import Payment
from elicit_flows.payments.queries import WENT_THROUGH

PAID = tuple(status for status in WENT_THROUGH if status != Payment.Status.PROCESSING)


def receipt(payment: Payment) -> str:
    """A signed JWT with the current state of the payment. The public keys are at ``/.well-known/jwks.json``.

    It confirms that the payment was made, not that anything was delivered. Raises Conflict if nothing was paid.
    """
    if payment.status not in PAID:
        raise Conflict("There is no receipt yet: this payment is not paid.")
    said = payment.summary()
    kept = ("elicitation", "mode", "amount", "currency", "description", "item", "status", "amount_refunded", "dispute")
    return vault.sign_receipt(
        {
            "iss": settings.ELICIT_PUBLIC_URL,
            "iat": int(time.time()),
            "payment": payment.pk,
            **{name: said[name] for name in (*kept, "paid_at")},
            "agent": payment.agent.slug,
            "subject_hash": subject_hash(payment.claim),
            "provider": payment.account.provider,
            "provider_ref": payment.payment_ref,
            "livemode": payment.account.livemode,
            "state_url": f"{settings.ELICIT_PUBLIC_URL}/v1/payments/{payment.pk}",
        }
    )


def subject_hash(claim: Claim) -> str:
    """SHA-256 of the issuer, a space and the subject. Only somebody who knows both can recognise the person."""
    return hashlib.sha256(f"{claim.iss} {claim.sub}".encode()).hexdigest()
