"""Mollie's payments on its hosted checkout, with the library ``mollie-api-python``. Only this folder imports it."""

from elicit_flows.kinds.payment.providers.mollie.provider import Mollie

__all__ = ["Mollie"]
