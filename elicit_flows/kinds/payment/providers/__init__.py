"""The payment providers by name. A new one is a folder, a line here and a subclass of the contract test."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import cast

from elicit_flows.kinds.payment.providers.base import (
    ChargingProvider,
    PaymentProvider,
    ReplacingProvider,
    ReportingProvider,
    SubscribingProvider,
)
from elicit_flows.kinds.payment.providers.guard import Guarded

PROVIDERS = {
    "stripe": "elicit_flows.kinds.payment.providers.stripe.Stripe",
    "mollie": "elicit_flows.kinds.payment.providers.mollie.Mollie",
    "paypal": "elicit_flows.kinds.payment.providers.paypal.PayPal",
}


@cache
def get(name: str) -> PaymentProvider:
    """The provider with that name, imported on first use and wrapped in the guard. Raises KeyError for an
    unknown name.
    """
    module, _, attribute = PROVIDERS[name].rpartition(".")
    return cast(PaymentProvider, Guarded(getattr(import_module(module), attribute)()))


def charging(name: str) -> ChargingProvider:
    """The provider with that name, which must have mode ``mandate``."""
    return cast(ChargingProvider, get(name))


def replacing(name: str) -> ReplacingProvider | None:
    """The provider with that name; None if its saved methods cannot be replaced."""
    provider = cast(Guarded, get(name)) if name in PROVIDERS else None  # wallets save nothing
    return cast(ReplacingProvider, provider) if provider and hasattr(provider.plug_in, "use_method") else None


def reporting(name: str) -> ReportingProvider | None:
    """The provider with that name; None if it does not list its balance transactions."""
    provider = cast(Guarded, get(name)) if name in PROVIDERS else None  # wallets pay, and nobody pays them
    return cast(ReportingProvider, provider) if provider and hasattr(provider.plug_in, "balance") else None


def subscribing(name: str) -> SubscribingProvider:
    """The provider with that name, which must have mode ``subscribe``."""
    return cast(SubscribingProvider, get(name))
