"""Mollie's payments on its hosted checkout, on the library ``mollie-api-python``. The only folder that imports it."""

from elicit_flows.kinds.payment.providers.mollie.provider import Mollie

__all__ = ["Mollie"]
