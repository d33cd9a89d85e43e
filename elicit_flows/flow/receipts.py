"""What was paid, signed: for the agent and the person to keep, and for anybody to check without asking us."""

from __future__ import annotations

import hashlib
import time

from django.conf import settings

from elicit_flows import vault
from elicit_flows.errors import Conflict
from elicit_flows.ledger.reading import WENT_THROUGH
from elicit_flows.models import Payment
from elicit_flows.values import Claim, Json

PAID = tuple(status for status in WENT_THROUGH if status != Payment.Status.PROCESSING)


def receipt(payment: Payment) -> str:
    """A signed JWT that says how the payment stands now. Its keys are at ``/.well-known/jwks.json``.

    It says that we saw it paid, and nothing of what was delivered. Raises Conflict when nothing was paid.
    """
    if payment.status not in PAID:
        raise Conflict("There is a receipt once it is paid.")
    return vault.sign_receipt(_claims(payment))


def subject_hash(claim: Claim) -> str:
    """SHA-256 of issuer, blank, subject: whoever knows the person can tell, and nobody else is told."""
    return hashlib.sha256(f"{claim.iss} {claim.sub}".encode()).hexdigest()


def _claims(payment: Payment) -> Json:
    said = payment.summary()
    kept = ("elicitation", "mode", "amount", "currency", "description", "item", "status", "amount_refunded", "dispute")
    return {
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
