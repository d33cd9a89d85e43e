"""Signed receipts and mandates. Agents and payers keep them, and anybody can check them without asking this service."""

from __future__ import annotations

import hashlib
import time

from django.conf import settings

from elicit_flows import vault
from elicit_flows.domain.errors import Conflict
from elicit_flows.domain.values import Claim, Json
from elicit_flows.lib import money
from elicit_flows.lib.clock import rfc3339
from elicit_flows.models import Mandate, Payment
from elicit_flows.models.mandate import LIMITS
from elicit_flows.payments.queries import WENT_THROUGH

PAID = tuple(status for status in WENT_THROUGH if status != Payment.Status.PROCESSING)


def receipt(payment: Payment) -> str:
    """A signed JWT with the current state of the payment. The public keys are at ``/.well-known/jwks.json``.

    It confirms that the payment was made, not that anything was delivered. Raises Conflict if nothing was paid.
    """
    if not has_receipt(payment):
        raise Conflict("There is no receipt: nothing was paid, or not yet.")
    said = payment.summary()
    kept = ("elicitation", "mode", "amount", "currency", "description", "item", "order", "tax")
    return vault.sign_receipt(
        {
            "iss": settings.ELICIT_PUBLIC_URL,
            "iat": int(time.time()),
            "payment": payment.pk,
            **{name: said[name] for name in (*kept, "status", "amount_refunded", "dispute", "paid_at")},
            "agent": payment.agent.slug,
            "subject_hash": subject_hash(payment.claim),
            "provider": payment.account.provider,
            "provider_ref": payment.payment_ref,
            "livemode": payment.account.livemode,
            "state_url": f"{settings.ELICIT_PUBLIC_URL}/v1/payments/{payment.pk}",
        }
    )


def has_receipt(payment: Payment) -> bool:
    """Whether the payment was made. What a trial leads to is paid by its renewals."""
    return payment.status in PAID and not payment.trial_days


def mandate_document(mandate: Mandate) -> str:
    """A signed JWT with the current state of the mandate. The public keys are at ``/.well-known/jwks.json``.

    ``constraints`` are those of AP2's open payment mandate (github.com/google-agentic-commerce/AP2,
    open_payment_mandate.json), with our limits in 24 hours and 30 days beside them under names of ours. It is no such
    mandate itself: it is not bound to a key of the agent (``cnf``) nor to a checkout (``payment.reference``), so it has
    a ``vct`` of its own.
    """
    currency = mandate.currency.upper()
    ours = {f"elicit_flows.{name}": mandate.limits[name] for name in LIMITS if name in ("per_day", "per_month")}
    constraints: list[Json] = [
        {"type": "payment.amount_range", "currency": currency, "max": mandate.per_charge},  # in minor units
        # In major units, by AP2's schema.
        {"type": "payment.budget", "currency": currency, "max": float(money.decimal(mandate.total, mandate.currency))},
        {"type": "payment.agent_recurrence", "frequency": "ON_DEMAND"},
        {
            "type": "payment.execution_date",
            "not_before": rfc3339(mandate.given_at),
            "not_after": rfc3339(mandate.until),
        },
        *({"type": name, "currency": currency, "max": limit} for name, limit in ours.items() if limit is not None),
    ]
    return vault.sign_receipt(
        {
            "iss": settings.ELICIT_PUBLIC_URL,
            "iat": int(time.time()),
            "exp": int(mandate.until.timestamp()),
            "vct": "elicit-flows.mandate.1",
            "constraints": constraints,
            "payee": {"id": mandate.account.slug, "name": mandate.agent.name},
            "payment_instrument": {
                "id": mandate.pk,
                "type": mandate.account.provider,
                "description": mandate.method,
            },
            "mandate": mandate.pk,
            "status": str(mandate.status),
            "description": mandate.description,
            "notice": "before" if mandate.notice else "after",
            "agent": mandate.agent.slug,
            "subject_hash": subject_hash(mandate.claim),
            "livemode": mandate.account.livemode,
            "state_url": f"{settings.ELICIT_PUBLIC_URL}/v1/mandates/{mandate.pk}",
        },
        vault.MANDATE_TYPE,
    )


def subject_hash(claim: Claim) -> str:
    """SHA-256 of the issuer, a space and the subject. Only somebody who knows both can recognise the person."""
    return hashlib.sha256(f"{claim.iss} {claim.sub}".encode()).hexdigest()
