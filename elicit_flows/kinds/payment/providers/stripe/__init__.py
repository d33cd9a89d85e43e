"""Stripe Checkout, on Stripe's own SDK. The only folder that imports it."""

from elicit_flows.kinds.payment.providers.stripe.provider import Stripe

__all__ = ["Stripe"]
