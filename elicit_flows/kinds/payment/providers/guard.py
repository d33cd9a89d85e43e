"""The boundary around payment plug-ins: an unexpected error in a plug-in must not stop the flow.

A payment may be under way when a plug-in meets an answer that it does not expect. Whatever it raises becomes
``Broken``, which the caller treats like a lost answer: it asks again later, and concludes neither paid nor unpaid.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeVar, cast

from elicit_flows.kinds.payment.providers.base import (
    Broken,
    ChargingProvider,
    PaymentError,
    PaymentProvider,
    ReplacingProvider,
    ReportingProvider,
    SubscribingProvider,
)
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

log = logging.getLogger(__name__)
T = TypeVar("T")


class Guarded:
    """A plug-in whose unexpected errors are logged with their traceback and raised as Broken."""

    def __init__(self, plug_in: PaymentProvider) -> None:
        self.plug_in = plug_in

    def __getattr__(self, name: str) -> Any:
        """The plug-in's own attributes, such as modes and host."""
        return getattr(self.plug_in, name)

    def start(self, account: Account, ask: Ask, key: str) -> Started:
        return _asked(account, Started, lambda: self.plug_in.start(account, ask, key))

    def find(self, account: Account, our_id: str) -> str | None:
        return _asked(account, (str, type(None)), lambda: self.plug_in.find(account, our_id))

    def fetch(self, account: Account, ref: str) -> Snapshot:
        return _asked(account, Snapshot, lambda: self.plug_in.fetch(account, ref))

    def complete(self, account: Account, ref: str, key: str) -> Snapshot:
        return _asked(account, Snapshot, lambda: self.plug_in.complete(account, ref, key))

    def release(self, account: Account, ref: str, key: str) -> Snapshot:
        return _asked(account, Snapshot, lambda: self.plug_in.release(account, ref, key))

    def close(self, account: Account, ref: str, key: str) -> Snapshot:
        return _asked(account, Snapshot, lambda: self.plug_in.close(account, ref, key))

    def refund(self, account: Account, payment_ref: str, amount: int, our_id: str, key: str) -> RefundSeen:
        return _asked(account, RefundSeen, lambda: self.plug_in.refund(account, payment_ref, amount, our_id, key))

    def cancel(self, account: Account, ref: str, key: str) -> Snapshot:
        return _asked(account, Snapshot, lambda: self.plug_in.cancel(account, ref, key))

    def end(self, account: Account, ref: str, key: str) -> Snapshot:
        plug_in = cast(SubscribingProvider, self.plug_in)
        return _asked(account, Snapshot, lambda: plug_in.end(account, ref, key))

    def resume(self, account: Account, ref: str, key: str) -> Snapshot:
        plug_in = cast(SubscribingProvider, self.plug_in)
        return _asked(account, Snapshot, lambda: plug_in.resume(account, ref, key))

    def change_price(self, account: Account, ref: str, amount: int) -> Snapshot:
        plug_in = cast(SubscribingProvider, self.plug_in)
        return _asked(account, Snapshot, lambda: plug_in.change_price(account, ref, amount))

    def charge(self, account: Account, charge: Charge, key: str) -> Snapshot:
        plug_in = cast(ChargingProvider, self.plug_in)
        return _asked(account, Snapshot, lambda: plug_in.charge(account, charge, key))

    def find_charge(self, account: Account, charge: Charge) -> str | None:
        plug_in = cast(ChargingProvider, self.plug_in)
        return _asked(account, (str, type(None)), lambda: plug_in.find_charge(account, charge))

    def use_method(self, account: Account, ref: str, method: str) -> None:
        plug_in = cast(ReplacingProvider, self.plug_in)
        _asked(account, type(None), lambda: plug_in.use_method(account, ref, method))

    def remove_method(self, account: Account, method: str) -> None:
        plug_in = cast(ReplacingProvider, self.plug_in)
        _asked(account, type(None), lambda: plug_in.remove_method(account, method))

    def balance(self, account: Account, since: datetime, until: datetime, after: str) -> BalancePage:
        plug_in = cast(ReportingProvider, self.plug_in)
        return _asked(account, BalancePage, lambda: plug_in.balance(account, since, until, after))

    def receive(self, account: Account, headers: Mapping[str, str], body: bytes) -> list[Notice]:
        """Errors are passed on: the provider is answered 500, and sends the webhook again."""
        return self.plug_in.receive(account, headers, body)


def _asked(account: Account, answers: type | tuple[type, ...], call: Callable[[], T]) -> T:
    try:
        answer = call()
        if not isinstance(answer, answers):
            raise TypeError(f"the plug-in answers {type(answer).__name__}")  # noqa: TRY301  handled like every unexpected error
    except PaymentError:
        raise
    except Exception as surprise:  # a plug-in may raise anything, see the module
        log.exception("payment account %s: the plug-in %s is broken", account.slug, account.provider)
        raise Broken("The payment provider's answer could not be read.") from surprise
    return answer
