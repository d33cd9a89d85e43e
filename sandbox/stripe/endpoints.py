"""Where events are sent, in which form, and what goes wrong on the way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

# The events that a shop with Checkout subscribes to. The others happen as well, and can be listed.
USUAL_EVENTS = frozenset(
    {
        *("checkout.session.completed", "checkout.session.async_payment_succeeded"),
        *("checkout.session.async_payment_failed", "checkout.session.expired"),
        *("refund.created", "refund.updated", "refund.failed", "charge.refunded", "charge.dispute.created"),
        *("charge.dispute.updated", "charge.dispute.closed", "charge.dispute.funds_withdrawn"),
        *("charge.dispute.funds_reinstated", "customer.subscription.created", "customer.subscription.updated"),
        *("customer.subscription.deleted", "invoice.paid", "invoice.payment_failed"),
    }
)
FORMS = {"snapshot": ["snapshot"], "thin": ["thin"], "both": ["snapshot", "thin"]}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """All ``secrets`` sign. ``form``: snapshot, thin or both. ``connect``: it gets events of connected accounts
    instead.

    ``events``: the types that it gets; None means all.
    """

    url: str
    secrets: tuple[str, ...] = field(repr=False)
    account: str
    form: str = "snapshot"
    connect: bool = False
    events: frozenset[str] | None = USUAL_EVENTS

    def wants(self, event: dict[str, Any], owner: str, platform: str | None) -> bool:
        """``owner``: the event's account; ``platform``: the platform of that account, if it is connected."""
        mine = self.account == platform if self.connect else self.account == owner
        return mine and (self.events is None or event["type"] in self.events)


@dataclass(slots=True)
class Weather:
    """How events are sent from now on. ``types``: only these types are affected; empty means all.

    ``drop``: never sent. ``delay``: seconds before the first attempt. ``duplicate``: additional copies. ``hold``: kept
    until they are released. ``wrong_secret``: signed with another secret. ``signature_age``: the age of the signature
    in seconds, negative for one from the future. ``livemode``: the event's own value. ``timing``: before or after the
    buyer is sent back. ``retry_seconds``: pauses between attempts; there is one attempt more than pauses.
    """

    types: list[str] = field(default_factory=list)
    drop: bool = False
    delay: float = 0.0
    duplicate: int = 0
    hold: bool = False
    wrong_secret: bool = False
    signature_age: int = 0
    livemode: bool = False
    timing: str = "before"
    retry_seconds: list[float] = field(default_factory=lambda: [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 120.0])

    def concerns(self, type: str) -> bool:
        return not self.types or type in self.types
