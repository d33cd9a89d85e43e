"""The plug-in: what the line asks, said to Mollie."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Any

from mollie.api.objects.payment import Payment

from elicit_flows.kinds.payment.providers.base import Busy, PaymentError, Refused
from elicit_flows.kinds.payment.providers.mollie import reading, webhooks
from elicit_flows.kinds.payment.providers.mollie.client import calling, client, plain
from elicit_flows.kinds.payment.values import Account, Ask, Notice, RefundSeen, Snapshot, Started
from elicit_flows.lib import clock, http, money

LOOK_BACK = timedelta(hours=25)  # keys are kept for a day
PAGE = 250
PAGES = 20
PAUSE = 0.1  # seconds between pages: others ask as well


class Mollie:
    """Mollie's Payments API, version 2, on its hosted checkout."""

    modes = frozenset({"pay"})
    keys: Mapping[str, bool] = MappingProxyType({"live_": True, "test_": False})
    signed = False
    host = "www.mollie.com"

    def start(self, account: Account, ask: Ask, key: str) -> Started:
        """An open payment. Mollie decides itself how long it can be paid."""
        with calling(changes=True):
            made = plain(client(account).payments.create(_params(ask), idempotency_key=key), "id", "status")
        url = reading.link(made, "checkout")
        if not webhooks.PAYMENT_ID.fullmatch(reading.text(made["id"])):
            raise Refused("bad_answer", "The payment provider's answer names no payment.")
        _check_page(url)
        if reading.livemode(made) is not account.livemode:
            raise Refused(
                "wrong_mode", "The account's key is for test payments where real ones are meant, or reversed."
            )
        return Started(made["id"], url, reading.moment(made, "expiresAt") or ask.expires_at)

    def find(self, account: Account, our_id: str) -> str | None:
        """Looks through the last 25 hours, newest first. Busy when there are too many payments to see them all."""
        oldest = clock.now() - LOOK_BACK
        with calling(changes=False):
            page = client(account).payments.list(limit=PAGE)
            for _ in range(PAGES):
                payments = reading.embedded(plain(page, "_embedded"), "payments")
                for one in payments:
                    if reading.our_id(one) == our_id:
                        return str(one["id"])
                reached = reading.moment(payments[0], "createdAt") if payments else None
                if not page.has_next() or reached is None or reached < oldest:
                    return None
                time.sleep(PAUSE)
                page = page.get_next()
        raise Busy("There are too many checkouts to look through now.")

    def fetch(self, account: Account, ref: str) -> Snapshot:
        return reading.snapshot(_look(account, ref))

    def close(self, account: Account, ref: str, key: str) -> Snapshot:
        """Mollie says of each open payment whether it can be cancelled; one that cannot is left to run out.

        Cancelling twice does no more than once, so ``key`` is not sent.
        """
        with calling(changes=True):
            found = _look(account, ref)
            if _closable(found):
                found = _cancel(account, ref)
        return reading.snapshot(found)

    def refund(self, account: Account, payment_ref: str, amount: int, our_id: str, key: str) -> RefundSeen:
        """A refund that names ``our_id`` already is the answer, whatever its key: Mollie forgets keys after a day."""
        with calling(changes=True):
            found = _look(account, payment_ref)
            for known in reading.embedded(found, "refunds"):
                if reading.our_id(known) == our_id:
                    return reading.refund_seen(known)
            asked = {"amount": _amount(amount, reading.currency(found)), "metadata": {reading.OUR_ID: our_id}}
            payment = Payment({"id": payment_ref}, client(account))
            return reading.refund_seen(plain(payment.refunds.create(asked, idempotency_key=key), "id", "status"))

    def receive(self, account: Account, headers: Mapping[str, str], body: bytes) -> list[Notice]:
        return webhooks.receive(account, headers, body)


def _params(ask: Ask) -> dict[str, Any]:
    """Nothing in it names the payer. The return address tells which checkout it is: Mollie adds nothing to it."""
    return {
        "amount": _amount(ask.amount, ask.currency),
        "description": ask.description,
        "redirectUrl": ask.return_url,
        "cancelUrl": ask.cancel_url,
        "webhookUrl": ask.notify_url,
        "metadata": {reading.OUR_ID: ask.our_id},
    }


def _amount(minor: int, currency: str) -> dict[str, str]:
    if money.digits(currency) is None:
        raise Refused("invalid_currency", "How this payment's currency is counted is not known.")
    return {"currency": currency.upper(), "value": money.decimal(minor, currency)}


def _look(account: Account, ref: str) -> reading.Thing:
    if not webhooks.PAYMENT_ID.fullmatch(ref):
        raise Refused("not_found", "This is no payment of Mollie's.")
    with calling(changes=False):
        return plain(client(account).payments.get(ref, embed=reading.EMBEDDED), "id", "status")


def _closable(payment: reading.Thing) -> bool:
    """Whoever has done their part is not stopped, even where Mollie would."""
    return payment["status"] == "open" and payment.get("isCancelable") is True


def _cancel(account: Account, ref: str) -> reading.Thing:
    """Where that failed, looking may tell what it is all the same."""
    failed: PaymentError | None = None
    try:
        client(account).payments.delete(ref)
    except PaymentError as error:
        failed = error
    try:
        found = _look(account, ref)
    except PaymentError as error:
        raise failed or error from None
    if failed is not None and _closable(found):
        raise failed
    return found


def _check_page(url: str) -> None:
    """Raises Refused for a page that nobody may be sent to."""
    try:
        http.check_url(url)
    except http.Refused:
        raise Refused("bad_answer", "The payment provider's page has an address that is refused.") from None
