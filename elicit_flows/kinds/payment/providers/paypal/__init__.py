"""PayPal's orders on its hosted page, with the library ``paypal-server-sdk``. Only this folder imports it."""

from elicit_flows.kinds.payment.providers.paypal.provider import PayPal

__all__ = ["PayPal"]
