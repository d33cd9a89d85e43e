"""The interface of a payment provider's plug-in: pure calls, values in and out, no database."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from elicit_flows.kinds.payment.values import (
    Account,
    Ask,
    BalancePage,
    Charge,
    Notice,
    RefundSeen,
    Snapshot,
    Started,
)


class PaymentError(Exception):
    """Base of the errors that a plug-in may raise. ``str`` is one sentence that is safe to show."""


class Refused(PaymentError):
    """The provider refuses, and would refuse again. ``code`` is the provider's own, in [a-z0-9_]."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Busy(PaymentError):
    """Nothing happened (429, 503 before execution, no connection): the same call may be repeated."""


class Unclear(PaymentError):
    """It is not known whether it happened (time-out, lost connection, 5xx): repeat the call with the same key.

    ``stored``: the provider stores this answer under the key, so a retry needs another key.
    """

    def __init__(self, message: str, *, stored: bool = False) -> None:
        super().__init__(message)
        self.stored = stored


class Broken(Unclear):
    """The plug-in raised an unexpected error, which the guard around it has logged."""


class BadNotice(PaymentError):
    """A webhook that is not from the provider, or not recent. It is answered with 400, and nothing is stored."""


class PaymentProvider(Protocol):
    """An outside call takes at most 20 seconds; one that changes something gets an idempotency key of ours.

    The calls raise Refused, Busy or Unclear; ``receive`` raises BadNotice.
    """

    modes: frozenset[str]  # "mandate" says that it is a ChargingProvider
    keys: Mapping[str, bool]  # by the prefix of a secret key: whether it moves real money; {} if keys do not tell
    connects: bool  # whether it takes payments for the accounts of other businesses (Account.connected_account)
    has_client_id: bool  # whether an account has a client id beside its secret key
    computes_tax: bool  # whether it computes the tax of an order (Order.tax None); then State.APPROVED comes first
    makes_invoices: bool  # whether it makes an invoice of an order (Order.invoice)
    invoice_hosts: frozenset[str]  # where they are: a link to another host is not kept
    signed: bool  # whether its webhooks are signed; if not, anybody may send them (see payments.inbound_webhooks)
    host: str  # the host of its payment page, for the connect page; "" if it differs between accounts

    def start(self, account: Account, ask: Ask, key: str) -> Started:
        """Open a checkout."""

    def find(self, account: Account, our_id: str) -> str | None:
        """The ref of a checkout by our id, after its answer was lost; None if there is none.

        None as well at a provider that cannot search, if nothing is charged at a checkout that nobody saw.
        """

    def fetch(self, account: Account, ref: str) -> Snapshot:
        """The checkout as it is now, with its refunds and disputes. It changes nothing."""

    def complete(self, account: Account, ref: str, key: str) -> Snapshot:
        """Charge a checkout that is ``State.APPROVED``. The snapshot says what it is afterwards: OPEN and ``unpaid`` if
        the user has to choose another method.

        It is charged once whatever the key. Only providers whose snapshots say APPROVED are asked. ``key`` is another
        for each agreement, because a provider may repeat its refusal of the former one.
        """

    def release(self, account: Account, ref: str, key: str) -> Snapshot:
        """Give up a checkout that is ``State.APPROVED``, so that nothing is charged. The snapshot says what it is
        afterwards: CANCELLED or FAILED and ``unpaid``, or PAID if it was charged meanwhile. Safe to repeat.
        """

    def close(self, account: Account, ref: str, key: str) -> Snapshot:
        """Close the checkout if that is still possible. The snapshot says what it is afterwards.

        A provider that charges only when we complete may leave its page as it is: what is not completed is closed. Then
        APPROVED means that the user had agreed before.
        """

    def refund(self, account: Account, payment_ref: str, amount: int, our_id: str, key: str) -> RefundSeen:
        """Refund ``amount`` minor units; for a subscription, refund its latest payment and end it."""

    def cancel(self, account: Account, ref: str, key: str) -> Snapshot:
        """Cancel what was agreed on at a checkout.

        Mode subscribe: nothing is charged after the paid period. Mode save: the method cannot be charged again. Safe to
        repeat; the snapshot says what it is afterwards.
        """

    def receive(self, account: Account, headers: Mapping[str, str], body: bytes) -> list[Notice]:
        """The webhook's notices, verified over its raw bytes if ``signed``.

        Makes no outside call but for a public key that it keeps; raises Busy if that cannot be had now.
        ``headers`` have lower-case names. Notices that are not signed have the ref as their id: one for each checkout.
        """


class SubscribingProvider(PaymentProvider, Protocol):
    """A provider whose subscriptions can be ended, continued and changed: it has mode ``subscribe`` in ``modes``.
    ``ref`` is the checkout's, and the snapshots say what it is afterwards.
    """

    def end(self, account: Account, ref: str, key: str) -> Snapshot:
        """End a subscription at once: nothing is charged any more, and nothing is refunded. Safe to repeat."""

    def resume(self, account: Account, ref: str, key: str) -> Snapshot:
        """Take back a cancellation that has not taken effect. One that has ended stays ended. Safe to repeat."""

    def change_price(self, account: Account, ref: str, amount: int) -> Snapshot:
        """From the next period on it costs ``amount`` minor units; nothing is charged or given back now, and currency
        and interval stay. One that has ended stays as it is. Safe to repeat. Refused says that nothing was changed.
        """


class ChargingProvider(PaymentProvider, Protocol):
    """A provider that charges saved methods: it has mode ``mandate`` in ``modes``. Others have no such calls."""

    def charge(self, account: Account, charge: Charge, key: str) -> Snapshot:
        """Charge a saved method. The answer is never OPEN: a charge that waits for the person is cancelled, and its
        ``failure`` is AUTHENTICATION_REQUIRED. ``ref`` is the charge's own, which ``fetch`` and ``close`` take.
        """

    def find_charge(self, account: Account, charge: Charge) -> str | None:
        """The ref of a charge by our id, after its answer was lost; None if there is none."""


class ReplacingProvider(PaymentProvider, Protocol):
    """A provider whose saved methods can be replaced: a checkout in mode ``save`` takes ``Ask.customer``, and the
    snapshots of what goes on say its ``customer`` and its ``method``. Others have no such calls.
    """

    def use_method(self, account: Account, ref: str, method: str) -> None:
        """From now on the subscription of the checkout ``ref`` is charged to ``method``, which its customer has saved.
        Safe to repeat.
        """

    def remove_method(self, account: Account, method: str) -> None:
        """``method`` cannot be charged any more, unless a running subscription is charged to it. Safe to repeat."""


class ReportingProvider(PaymentProvider, Protocol):
    """A provider that lists what moved money. Others have no such call, and their accounts cannot be reconciled."""

    def balance(self, account: Account, since: datetime, until: datetime, after: str) -> BalancePage:
        """What moved money from ``since`` to before ``until``; ``after`` is "" for the first page."""
