"""A platform's share of payments on accounts that are connected to it (docs.stripe.com/connect/direct-charges)."""

from __future__ import annotations

from sandbox.stripe.errors import StripeError, invalid
from sandbox.stripe.shop import Shop
from sandbox.stripe.store import Thing, new_id

MOST_PERCENT = 100


def check(shop: Shop, fee: int | None, amount: int, param: str) -> None:
    """Raises StripeError for a fee that Stripe would refuse. Other ways to pay others are not simulated."""
    if fee is None:
        return
    if shop.account.platform is None:
        sentence = (
            "Can only apply an application_fee_amount when the PaymentIntent is attempting a direct payment (using an "
            "OAuth key or Stripe-Account header) or destination payment (using `transfer_data[destination]`)."
        )
        raise StripeError(400, sentence, param=param)
    if fee < 1:
        raise invalid(param, "Invalid positive integer", "parameter_invalid_integer")
    if fee > amount:
        raise invalid(param, "Your application fee cannot exceed the amount.")


def percent(shop: Shop, given: str | None, param: str) -> float | None:
    """That of a subscription, with two decimals at most."""
    if given is None:
        return None
    check(shop, 1, 1, param)
    found = float(given)
    if not 0 <= found <= MOST_PERCENT or round(found, 2) != found:
        raise invalid(param, "The percentage must be between 0 and 100, with at most two decimal places.")
    return found


def take(charge: Thing, fee: int | None) -> None:
    """The share of a charge whose money has arrived."""
    if fee:
        charge |= {"application_fee": new_id("fee"), "application_fee_amount": fee, "application": "ca_sandbox"}


def give_back(charge: Thing) -> None:
    """With a refund. Raises StripeError if there is none."""
    if not charge["application_fee"]:
        raise invalid("refund_application_fee", f"Charge {charge['id']} does not have an application fee to refund.")
