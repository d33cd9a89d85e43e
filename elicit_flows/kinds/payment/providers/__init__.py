"""The payment providers, by name. Another one is a folder, a line here and a subclass of the contract test."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import cast

from elicit_flows.kinds.payment.providers.base import PaymentProvider
from elicit_flows.kinds.payment.providers.guard import Guarded

PROVIDERS = {
    "stripe": "elicit_flows.kinds.payment.providers.stripe.Stripe",
    "mollie": "elicit_flows.kinds.payment.providers.mollie.Mollie",
}


@cache
def get(name: str) -> PaymentProvider:
    """The provider of that name, imported on first use and guarded. Raises KeyError for one that is not registered."""
    module, _, attribute = PROVIDERS[name].rpartition(".")
    return cast(PaymentProvider, Guarded(getattr(import_module(module), attribute)()))
