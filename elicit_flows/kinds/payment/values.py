"""What a payment provider is asked and what it answers: frozen values, amounts in minor units."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from elicit_flows.values import Secret


class State(StrEnum):
    """How a checkout stands at its provider."""

    OPEN = "open"  # may still be paid
    PROCESSING = "processing"  # the user has done their part; a delayed method is on its way
    PAID = "paid"
    SAVED = "saved"  # mode save: a payment method is kept, nothing was charged
    ACTIVE = "active"  # mode subscribe: the first period is paid
    FAILED = "failed"
    EXPIRED = "expired"  # not paid and not payable any more
    CANCELLED = "cancelled"


SUCCESSES = frozenset({State.PAID, State.SAVED, State.ACTIVE})
ENDS = frozenset(State) - {State.OPEN, State.PROCESSING}


@dataclass(frozen=True, slots=True)
class Account:
    """An operator's account at a payment provider. ``api_base`` is given only for doubles, on development machines."""

    slug: str
    provider: str
    secret_key: Secret
    webhook_secrets: tuple[Secret, ...] = ()
    api_base: str | None = None
    livemode: bool = False


@dataclass(frozen=True, slots=True)
class Ask:
    """One checkout to be opened. ``our_id`` comes back in every snapshot; it says nothing about anybody.

    ``return_url`` and ``cancel_url`` are complete. ``notify_url`` is where its webhooks go, for providers that are told
    so with each ask. ``customer`` is the provider's own id of a known payer.
    """

    our_id: str
    mode: str  # pay | save | subscribe
    amount: int  # 0 for mode save
    currency: str  # ISO 4217, lower case
    description: str
    return_url: str
    cancel_url: str
    expires_at: datetime
    notify_url: str = ""
    interval: str | None = None  # subscribe: day | week | month | year
    customer: str | None = None


@dataclass(frozen=True, slots=True)
class Started:
    """A checkout that nobody has seen yet. ``expires_at`` is when the provider closes it by itself."""

    ref: str
    url: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class RefundSeen:
    """``state`` is pending, done or failed; ``our_id`` is the refund row's id when it was ours."""

    ref: str
    amount: int
    state: str
    our_id: str | None = None


@dataclass(frozen=True, slots=True)
class DisputeSeen:
    """``state`` is open, won or lost."""

    ref: str
    amount: int
    state: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What the provider says about a checkout when asked: the only truth about money.

    ``amount`` and ``currency`` are what was asked for, ``our_id`` what the ask named. ``payment_ref`` is what refunds
    are made of.
    """

    ref: str
    state: State
    amount: int
    currency: str
    livemode: bool
    our_id: str | None
    payment_ref: str | None = None
    receipt_url: str | None = None
    customer: str | None = None
    refunds: tuple[RefundSeen, ...] = ()
    disputes: tuple[DisputeSeen, ...] = ()
    period_end: datetime | None = None  # mode subscribe


@dataclass(frozen=True, slots=True)
class Notice:
    """A provider's webhook, verified: a hint where to look. ``ref`` is the checkout's; either may be None."""

    id: str
    type: str
    ref: str | None
    payment_ref: str | None
    livemode: bool
