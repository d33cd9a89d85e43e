"""Pay, save a card, or subscribe, on the payment provider's own page."""

from elicit_flows.kinds.payment.kind import Payment

__all__ = ["Payment"]
