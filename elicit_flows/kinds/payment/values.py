"""What a payment provider is asked, and what it answers: frozen values, amounts in minor units."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from elicit_flows.domain.values import Secret


class State(StrEnum):
    """The state of a checkout at its provider."""

    OPEN = "open"  # may still be paid
    APPROVED = "approved"  # the user has agreed; nothing is charged before PaymentProvider.complete
    PROCESSING = "processing"  # the user has finished; a delayed payment is under way
    PAID = "paid"
    SAVED = "saved"  # mode save: a payment method is stored, nothing was charged
    ACTIVE = "active"  # mode subscribe: the first period is paid
    FAILED = "failed"
    EXPIRED = "expired"  # not paid, and no longer payable
    CANCELLED = "cancelled"


SUCCESSES = frozenset({State.PAID, State.SAVED, State.ACTIVE})
ENDS = frozenset(State) - {State.OPEN, State.APPROVED, State.PROCESSING}


@dataclass(frozen=True, slots=True)
class Account:
    """An operator's account at a payment provider. ``api_base`` is only for test doubles on development machines.

    ``client_id`` names the application that ``secret_key`` belongs to, at providers where keys have names.
    ``connected_account``: the account of another business that is charged on, whose platform the key is of.
    ``application_fee_basis_points``: the platform's share of each payment there, in hundredths of a percent.
    """

    slug: str
    provider: str
    secret_key: Secret
    webhook_secrets: tuple[Secret, ...] = ()
    api_base: str | None = None
    livemode: bool = False
    client_id: str = ""
    connected_account: str = ""
    application_fee_basis_points: int = 0

    def application_fee(self, amount: int) -> int:
        """The platform's share of a payment, in minor units, rounded down."""
        return amount * self.application_fee_basis_points // 10_000


@dataclass(frozen=True, slots=True)
class Line:
    """``unit_amount`` is the price of one."""

    name: str
    quantity: int
    unit_amount: int


@dataclass(frozen=True, slots=True)
class Order:
    """What the amount of an ask is made of. ``tax`` None: the provider computes it, and the amount is the most that may
    be charged. ``tax_name`` is in the payer's language, ``number`` is the agent's.
    """

    lines: tuple[Line, ...]
    tax: int | None
    tax_name: str
    number: str | None = None
    invoice: bool = False  # the provider makes one, of a payment that has arrived

    @property
    def all_lines(self) -> tuple[Line, ...]:
        """With the tax as the last line, for providers that have no other place for it."""
        return (*self.lines, Line(self.tax_name, 1, self.tax)) if self.tax else self.lines


@dataclass(frozen=True, slots=True)
class Ask:
    """One checkout to open. ``our_id`` is returned in every snapshot, and says nothing about the person.

    ``return_url`` and ``cancel_url`` are complete. ``notify_url`` is where its webhooks go, for providers that take it
    with each checkout. ``customer`` is the provider's id of a known payer.
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
    trial_days: int | None = None  # subscribe: nothing is charged before
    customer: str | None = None
    language: str = ""  # of the page that it was opened from, as the settings spell it: "pt-br"; "" if it is not known
    order: Order | None = None  # mode pay; its sum is the amount, unless the provider computes the tax


@dataclass(frozen=True, slots=True)
class Charge:
    """One charge of a saved method while the person is away. ``customer`` and ``method`` are the provider's ids."""

    our_id: str
    amount: int
    currency: str
    description: str
    customer: str
    method: str
    since: datetime  # when it was first attempted: it is not older than this at the provider


# The bank wants the person themselves to confirm the charge.
AUTHENTICATION_REQUIRED = "authentication_required"


@dataclass(frozen=True, slots=True)
class Started:
    """A checkout that nobody has seen yet. ``expires_at``: when the provider closes it by itself."""

    ref: str
    url: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class RefundSeen:
    """``state`` is pending, done or failed. ``our_id`` is the id of the refund row, if the refund is ours."""

    ref: str
    amount: int
    state: str
    our_id: str | None = None


@dataclass(frozen=True, slots=True)
class DisputeSeen:
    """``state`` is open, won or lost. ``evidence_due``: the provider waits for evidence until then."""

    ref: str
    amount: int
    state: str
    evidence_due: datetime | None = None


@dataclass(frozen=True, slots=True)
class InvoiceSeen:
    """A subscription's invoice of one period. ``state`` is open, failed (the bank refused it; it may still be paid),
    paid or void. ``first``: of the checkout itself, not of a renewal. ``tries``: how often it was attempted.
    """

    ref: str
    amount: int
    currency: str
    state: str
    starts_at: datetime
    ends_at: datetime
    first: bool = False
    tries: int = 0
    url: str | None = None
    pdf: str | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What the provider says about a checkout: the only source of truth about money.

    ``amount`` and ``currency`` are what was asked for, ``our_id`` the id in the ask. ``payment_ref`` is what refunds
    refer to.
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
    unpaid: bool = False  # the provider says that nothing was charged and nothing is under way
    period_end: datetime | None = None  # mode subscribe: it is paid until then, or ended then
    price: int | None = None  # mode subscribe: what each period costs, if the provider says so
    interval: str | None = None  # mode subscribe: how long a period is, such as "month" or "3 month", if it says so
    ends_at: datetime | None = None  # mode subscribe: it is cancelled, and not charged after this
    invoices: tuple[InvoiceSeen, ...] = ()  # mode subscribe, oldest first
    # When the provider was asked. What it said earlier does not undo what it said later. None: not known.
    asked_at: datetime | None = None
    method: str | None = None  # mode save: the provider's id of the saved method
    method_name: str | None = None  # and what it is, such as "visa 4242"
    failure: str | None = None  # of a charge that was refused: the provider's code, or AUTHENTICATION_REQUIRED
    # State APPROVED, and afterwards as long as the provider says so: names this agreement. It is another once the user
    # has chosen another method.
    agreed: str = ""
    tax: int | None = None  # of the amount, as the provider has computed it; None: it has not
    invoice_url: str | None = None  # the provider's page of the invoice, if one was asked for and is made
    invoice_pdf: str | None = None


class Movement(StrEnum):
    """What moved money at the provider."""

    CHARGE = "charge"
    REFUND = "refund"
    DISPUTE = "dispute"  # the amount that a bank took back, or gave back
    OTHER = "other"  # payouts, the provider's own fees and the like: nothing of a payment


@dataclass(frozen=True, slots=True)
class BalanceLine:
    """One balance transaction of an account. ``amount`` is what the payer paid (positive) or got back (negative), in
    minor units of the payment's currency, before the provider's fee.

    ``payment_ref`` is what refunds refer to: for a renewal, the subscription, and ``renewal_ref`` is then its invoice.
    ``our_id`` is that of the checkout or the refund, if it is ours. ``refund_ref`` is the provider's id of the refund.
    """

    ref: str
    movement: Movement
    at: datetime
    amount: int
    currency: str
    payment_ref: str | None = None
    our_id: str | None = None
    refund_ref: str | None = None
    renewal_ref: str | None = None


@dataclass(frozen=True, slots=True)
class BalancePage:
    """Some lines, in no order. ``after`` is what the next call is given; "" if there are no more."""

    lines: tuple[BalanceLine, ...]
    after: str = ""


@dataclass(frozen=True, slots=True)
class Notice:
    """A verified webhook of a provider, which says where to look. ``ref`` is the checkout's; ``ref`` and
    ``payment_ref`` may be None. ``connected_account``: whose it is, as in ``Account``.
    """

    id: str
    type: str
    ref: str | None
    payment_ref: str | None
    livemode: bool
    connected_account: str = ""
