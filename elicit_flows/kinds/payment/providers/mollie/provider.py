"""The plug-in for Mollie."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime, timedelta
from types import MappingProxyType

from mollie.api.objects.payment import Payment

from elicit_flows import http
from elicit_flows.kinds.payment.providers.attempts import calling
from elicit_flows.kinds.payment.providers.base import Busy, PaymentError, Refused
from elicit_flows.kinds.payment.providers.mollie import balance, reading, webhooks
from elicit_flows.kinds.payment.providers.mollie.client import client, plain
from elicit_flows.kinds.payment.providers.parts import Thing, moment, text
from elicit_flows.kinds.payment.values import Account, Ask, BalancePage, Notice, RefundSeen, Snapshot, Started, State
from elicit_flows.lib import clock, money

LOOK_BACK = timedelta(hours=25)  # Mollie keeps idempotency keys for a day
PAGE = 250
PAGES = 20
PAUSE = 0.1  # seconds between pages, to leave room in Mollie's rate limit for other requests


# Ours, among those that Mollie takes (docs.mollie.com/reference/create-payment). For others it asks the browser.
_LOCALES = {
    "de": "de_DE", "en": "en_US", "es": "es_ES", "fr": "fr_FR", "it": "it_IT", "nl": "nl_NL", "pl": "pl_PL",
}  # fmt: skip


class Mollie:
    """Mollie's Payments API, version 2, on its hosted checkout."""

    modes = frozenset({"pay"})
    keys: Mapping[str, bool] = MappingProxyType({"live_": True, "test_": False})
    connects = False
    has_client_id = False
    computes_tax = False
    makes_invoices = False
    invoice_hosts: frozenset[str] = frozenset()
    signed = False
    host = "www.mollie.com"

    def start(self, account: Account, ask: Ask, key: str) -> Started:
        """Open a payment. Mollie itself decides how long it can be paid."""
        with calling(changes=True):
            # The payment's parameters, which do not name the payer. Mollie adds nothing to the return address, so it
            # has our id.
            made = plain(
                client(account).payments.create(
                    {
                        "amount": _amount(ask.amount, ask.currency),
                        "description": ask.description,
                        "redirectUrl": ask.return_url,
                        "cancelUrl": ask.cancel_url,
                        "webhookUrl": ask.notify_url,
                        "metadata": {reading.OUR_ID: ask.our_id},
                        **_lines(ask),
                        **({"locale": _LOCALES[ask.language]} if ask.language in _LOCALES else {}),
                    },
                    idempotency_key=key,
                ),
                "id",
                "status",
            )
        url = reading.link(made, "checkout")
        if not webhooks.PAYMENT_ID.fullmatch(text(made["id"])):
            raise Refused("bad_answer", "The payment provider's answer contains no payment id.")
        try:
            http.check_url(url)
        except http.Refused:
            raise Refused("bad_answer", "The address of the payment provider's page is refused.") from None
        if reading.livemode(made) is not account.livemode:
            raise Refused("wrong_mode", "The account's key is a test key where a live one is needed, or the reverse.")
        return Started(made["id"], url, moment(made, "expiresAt") or ask.expires_at)

    def find(self, account: Account, our_id: str) -> str | None:
        """Search the last 25 hours, newest first. Raises Busy if there are too many payments to search."""
        oldest = clock.now() - LOOK_BACK
        with calling(changes=False):
            page = client(account).payments.list(limit=PAGE)
            for _ in range(PAGES):
                payments = reading.embedded(plain(page, "_embedded"), "payments")
                for one in payments:
                    if reading.our_id(one) == our_id:
                        return str(one["id"])
                reached = moment(payments[0], "createdAt") if payments else None
                if not page.has_next() or reached is None or reached < oldest:
                    return None
                time.sleep(PAUSE)
                page = page.get_next()
        raise Busy("There are too many checkouts to search.")

    def fetch(self, account: Account, ref: str) -> Snapshot:
        return reading.snapshot(_look(account, ref))

    def complete(self, account: Account, ref: str, key: str) -> Snapshot:
        """Nothing to do: paying on the page is all that it takes."""
        return self.fetch(account, ref)

    def release(self, account: Account, ref: str, key: str) -> Snapshot:
        """Nothing to do: nobody agrees here without paying."""
        return self.fetch(account, ref)

    def close(self, account: Account, ref: str, key: str) -> Snapshot:
        """Cancel the payment if Mollie says that it can be cancelled; if not, it expires by itself.

        Cancelling twice has no further effect, so ``key`` is not sent.
        """
        with calling(changes=True):
            found = _look(account, ref)
            if _closable(found):
                # Cancel it. If that failed, look at it: the answer may have been lost.
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
        return reading.snapshot(found)

    def refund(self, account: Account, payment_ref: str, amount: int, our_id: str, key: str) -> RefundSeen:
        """Refund it, unless a refund with ``our_id`` exists: Mollie forgets keys after a day."""
        with calling(changes=True):
            found = _look(account, payment_ref)
            for known in reading.embedded(found, "refunds"):
                if reading.our_id(known) == our_id:
                    return reading.refund_seen(known)
            asked = {"amount": _amount(amount, reading.currency(found)), "metadata": {reading.OUR_ID: our_id}}
            payment = Payment({"id": payment_ref}, client(account))
            return reading.refund_seen(plain(payment.refunds.create(asked, idempotency_key=key), "id", "status"))

    def cancel(self, account: Account, ref: str, key: str) -> Snapshot:
        """Raises Refused: only mode pay is offered, which leaves nothing to cancel."""
        raise Refused("not_offered", "This payment provider offers neither saved methods nor subscriptions.")

    def balance(self, account: Account, since: datetime, until: datetime, after: str) -> BalancePage:
        with calling(changes=False):
            return balance.page(client(account), since, until, after)

    def receive(self, account: Account, headers: Mapping[str, str], body: bytes) -> list[Notice]:
        return webhooks.receive(account, headers, body)


def _lines(ask: Ask) -> dict[str, list[dict[str, object]]]:
    if ask.order is None:
        return {}
    if ask.order.tax is None:
        raise Refused("tax_not_offered", "This payment provider computes no tax.")
    return {
        "lines": [
            {
                "description": line.name,
                "quantity": line.quantity,
                "unitPrice": _amount(line.unit_amount, ask.currency),
                "totalAmount": _amount(line.quantity * line.unit_amount, ask.currency),
            }
            for line in ask.order.all_lines
        ]
    }


def _amount(minor: int, currency: str) -> dict[str, str]:
    if money.digits(currency) is None:
        raise Refused("invalid_currency", "The number of decimals of this payment's currency is not known.")
    return {"currency": currency.upper(), "value": money.decimal(minor, currency)}


def _look(account: Account, ref: str) -> Thing:
    if not webhooks.PAYMENT_ID.fullmatch(ref):
        raise Refused("not_found", "This is not the id of a Mollie payment.")
    with calling(changes=False):
        return plain(client(account).payments.get(ref, embed=reading.EMBEDDED), "id", "status")


def _closable(payment: Thing) -> bool:
    """Whether it may be cancelled. A payment that the person has finished is not, even if Mollie would allow it."""
    begun = reading.state(payment) is not State.OPEN
    return not begun and payment["status"] == "open" and payment.get("isCancelable") is True
