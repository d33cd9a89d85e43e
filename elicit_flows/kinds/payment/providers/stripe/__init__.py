"""Stripe Checkout, with Stripe's own SDK. Only this folder imports it."""

from elicit_flows.kinds.payment.providers.stripe.provider import Stripe

__all__ = ["Stripe"]
