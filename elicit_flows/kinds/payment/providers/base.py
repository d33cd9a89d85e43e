"""What a payment provider's plug-in is: pure calls, values in and out, no database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from elicit_flows.kinds.payment.values import Account, Ask, Notice, RefundSeen, Snapshot, Started


class PaymentError(Exception):
    """Base of what a provider may answer instead. ``str`` is one sentence that is safe to show."""


class Refused(PaymentError):
    """The provider says no, and would again. ``code`` is the provider's own, in [a-z0-9_]."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Busy(PaymentError):
    """Nothing happened (429, 503 before execution, no connection): the same call may be made again."""


class Unclear(PaymentError):
    """Nobody knows whether it happened (time-out, connection lost, 5xx): make the same call with the same key.

    ``stored``: the provider keeps this very answer under the key, so a further try needs another key.
    """

    def __init__(self, message: str, *, stored: bool = False) -> None:
        super().__init__(message)
        self.stored = stored


class Broken(Unclear):
    """The plug-in met what it did not foresee; raised by the guard around it, which has logged it."""


class BadNotice(PaymentError):
    """A webhook that is not the provider's, or not of now. It is answered 400 and nothing is kept."""


class PaymentProvider(Protocol):
    """Every call to the outside takes at most 20 seconds and, where it changes something, an idempotency key of ours.

    Raises Refused, Busy or Unclear; ``receive`` raises BadNotice.
    """

    modes: frozenset[str]
    keys: Mapping[str, bool]  # how its secret keys begin: whether real money moves by one that begins so
    signed: bool  # whether its webhooks are; without, they are hints that anybody may give (see ledger.inbound)
    host: str  # the host of its payment page, for the connect page; "" when an account's pages differ

    def start(self, account: Account, ask: Ask, key: str) -> Started:
        """Open a checkout."""

    def find(self, account: Account, our_id: str) -> str | None:
        """The ref of the checkout that an answer was lost about, by our id; None when there is none."""

    def fetch(self, account: Account, ref: str) -> Snapshot:
        """How a checkout stands now, with its refunds and disputes."""

    def close(self, account: Account, ref: str, key: str) -> Snapshot:
        """Make it unpayable, if that can still be done; the snapshot says what came of it."""

    def refund(self, account: Account, payment_ref: str, amount: int, our_id: str, key: str) -> RefundSeen:
        """Give back ``amount`` minor units; of a subscription its latest payment, and it ends."""

    def receive(self, account: Account, headers: Mapping[str, str], body: bytes) -> list[Notice]:
        """The webhook's notices, verified over its raw bytes where ``signed``. Asks nobody.

        ``headers`` have lower-case names. What is not signed has the ref as its notices' id: one for each checkout.
        """
