"""The plug-in for PayPal."""

from __future__ import annotations

import dataclasses
import logging
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from apimatic_core.authentication.multiple.single_auth import Single
from apimatic_core.request_builder import RequestBuilder
from apimatic_core.response_handler import ResponseHandler
from apimatic_core.types.parameter import Parameter
from paypalserversdk.configuration import Server
from paypalserversdk.http.http_method_enum import HttpMethodEnum
from paypalserversdk.models.amount_breakdown import AmountBreakdown
from paypalserversdk.models.amount_with_breakdown import AmountWithBreakdown
from paypalserversdk.models.item_request import ItemRequest
from paypalserversdk.models.money import Money
from paypalserversdk.models.order_request import OrderRequest
from paypalserversdk.models.payment_source import PaymentSource
from paypalserversdk.models.paypal_wallet import PaypalWallet
from paypalserversdk.models.paypal_wallet_experience_context import PaypalWalletExperienceContext
from paypalserversdk.models.purchase_unit_request import PurchaseUnitRequest
from paypalserversdk.models.refund_request import RefundRequest
from paypalserversdk.paypal_serversdk_client import PaypalServersdkClient

from elicit_flows import http
from elicit_flows.kinds.payment.providers.attempts import calling
from elicit_flows.kinds.payment.providers.base import Refused
from elicit_flows.kinds.payment.providers.parts import Thing, several, text, within
from elicit_flows.kinds.payment.providers.paypal import amounts, balance, reading, webhooks
from elicit_flows.kinds.payment.providers.paypal.client import asked
from elicit_flows.kinds.payment.values import (
    Account,
    Ask,
    BalancePage,
    DisputeSeen,
    Notice,
    RefundSeen,
    Snapshot,
    Started,
    State,
)
from elicit_flows.lib import clock

log = logging.getLogger(__name__)
# PayPal forgets an order that nobody approved in three hours. Until then it can tell us how the order stands.
LASTS = timedelta(hours=2, minutes=30)
MAX_DESCRIPTION = 127  # PayPal cuts off the rest
_HOSTS = {True: "www.paypal.com", False: "www.sandbox.paypal.com"}
_ID = re.compile(r"[A-Z0-9]{1,36}")
_DISPUTE_ID = re.compile(r"[A-Za-z0-9-]{1,100}")
# The order is as it was, and the user may choose another way to pay.
_OTHER_METHOD = frozenset({"instrument_declined", "payer_action_required", "order_not_approved"})

# Ours, in PayPal's form (developer.paypal.com/reference/locale-codes). For others it goes by the payer's account.
_LOCALES = {
    "de": "de-DE", "en": "en-US", "es": "es-ES", "fr": "fr-FR", "it": "it-IT", "ja": "ja-JP", "ko": "ko-KR",
    "nl": "nl-NL", "pl": "pl-PL", "pt-br": "pt-BR", "zh-hans": "zh-CN",
}  # fmt: skip


class PayPal:
    """PayPal's Orders API, version 2, on its hosted page. Nothing is charged before ``complete``."""

    modes = frozenset({"pay"})
    keys: Mapping[str, bool] = MappingProxyType({})
    connects = False
    has_client_id = True
    computes_tax = False
    makes_invoices = False
    invoice_hosts: frozenset[str] = frozenset()
    signed = True
    host = _HOSTS[True]

    def start(self, account: Account, ask: Ask, key: str) -> Started:
        """Create an order. PayPal adds its ids to the return address, which nobody reads: ours are in it."""
        locale = {"locale": _LOCALES[ask.language]} if ask.language in _LOCALES else {}
        context = PaypalWalletExperienceContext(
            return_url=ask.return_url,
            cancel_url=ask.cancel_url,
            shipping_preference="NO_SHIPPING",
            user_action="PAY_NOW",
            **locale,
        )
        unit = PurchaseUnitRequest(
            **_priced(ask),
            description=ask.description[:MAX_DESCRIPTION],
            custom_id=ask.our_id,
        )
        source = PaymentSource(paypal=PaypalWallet(experience_context=context))
        body = OrderRequest(intent="CAPTURE", purchase_units=[unit], payment_source=source)
        with calling(changes=True):
            made = asked(
                account, lambda paypal: paypal.orders.create_order({"body": body, "paypal_request_id": key}), "id"
            )
        url = reading.link(made, "payer-action", "approve")
        if not _ID.fullmatch(text(made["id"])):
            raise Refused("bad_answer", "The payment provider's answer contains no order id.")
        try:
            http.check_url(url)
        except http.Refused:
            raise Refused("bad_answer", "The address of the payment provider's page is refused.") from None
        if account.api_base is None and urlsplit(url).hostname != _HOSTS[account.livemode]:
            raise Refused("wrong_mode", "The page is not on the host that PayPal has for this account's mode.")
        return Started(made["id"], url, min(ask.expires_at, clock.now() + LASTS))

    def find(self, account: Account, our_id: str) -> str | None:
        """None: PayPal cannot search for orders. One that nobody saw cannot be approved, and lapses."""
        return None

    def fetch(self, account: Account, ref: str) -> Snapshot:
        with calling(changes=False):
            order = _look(account, ref)
            return _snapshot(account, order, _disputes(account, order))

    def complete(self, account: Account, ref: str, key: str) -> Snapshot:
        """Capture the order, which PayPal does at most once. An answer that is refused tells little: look."""
        with calling(changes=True):
            if not _ID.fullmatch(ref):
                raise Refused("not_found", "This is not the id of a PayPal order.")
            wanted = {"id": ref, "paypal_request_id": key, "prefer": "return=representation"}
            try:
                order = asked(account, lambda paypal: paypal.orders.capture_order(wanted), "id", "status")
            except Refused as refusal:
                said = _snapshot(account, _look(account, ref))
                if said.state is State.APPROVED and refusal.code in _OTHER_METHOD:
                    return dataclasses.replace(said, state=State.OPEN, unpaid=True)
                if said.state is State.APPROVED:
                    raise
                return said
        return _snapshot(account, order)

    def release(self, account: Account, ref: str, key: str) -> Snapshot:
        """What is not captured is given up because we never capture it. PayPal has no call for it."""
        with calling(changes=False):
            said = _snapshot(account, _look(account, ref))
        return dataclasses.replace(said, state=State.CANCELLED, unpaid=True) if said.state is State.APPROVED else said

    def close(self, account: Account, ref: str, key: str) -> Snapshot:
        """What nobody has approved is closed because we do not complete it. PayPal has no call for it."""
        with calling(changes=False):
            said = _snapshot(account, _look(account, ref))
        return dataclasses.replace(said, state=State.CANCELLED) if said.state is State.OPEN else said

    def refund(self, account: Account, payment_ref: str, amount: int, our_id: str, key: str) -> RefundSeen:
        """Refund it, unless a refund with ``our_id`` exists: another key may have been used for it."""
        if not _ID.fullmatch(payment_ref):
            raise Refused("not_found", "This is not the id of a PayPal capture.")
        with calling(changes=True):
            with calling(changes=False):
                wanted = {"capture_id": payment_ref}
                capture = asked(account, lambda paypal: paypal.payments.get_captured_payment(wanted), "id", "amount")
                order = text(within(capture, "supplementary_data", "related_ids").get("order_id"))
                known = reading.refunds(_look(account, order)) if order else ()
            for one in known:
                if one.our_id == our_id:
                    return one
            money = Money(**amounts.written(amount, amounts.currency(amounts.of(capture))))
            body = RefundRequest(amount=money, custom_id=our_id)
            order_refund = {
                "capture_id": payment_ref,
                "body": body,
                "paypal_request_id": key,
                "prefer": "return=representation",
            }
            made = asked(
                account, lambda paypal: paypal.payments.refund_captured_payment(order_refund), "id", "status", "amount"
            )
        return dataclasses.replace(reading.refund_seen(made), our_id=our_id)

    def cancel(self, account: Account, ref: str, key: str) -> Snapshot:
        """Raises Refused: only mode pay is offered, which leaves nothing to cancel."""
        raise Refused("not_offered", "This payment provider offers neither saved methods nor subscriptions.")

    def balance(self, account: Account, since: datetime, until: datetime, after: str) -> BalancePage:
        with calling(changes=False):
            return balance.page(account, since, until, after)

    def receive(self, account: Account, headers: Mapping[str, str], body: bytes) -> list[Notice]:
        return webhooks.receive(account, headers, body)


def _priced(ask: Ask) -> dict[str, Any]:
    """The amount and, of an order, the items and the tax that it is made of."""
    whole = amounts.written(ask.amount, ask.currency)
    if ask.order is None:
        return {"amount": AmountWithBreakdown(**whole)}
    if ask.order.tax is None:
        raise Refused("tax_not_offered", "This payment provider computes no tax.")
    items = [
        ItemRequest(name=line.name, unit_amount=_money(line.unit_amount, ask), quantity=str(line.quantity))
        for line in ask.order.lines
    ]
    parts = AmountBreakdown(
        item_total=_money(ask.amount - ask.order.tax, ask),
        tax_total=_money(ask.order.tax, ask),
    )
    return {"amount": AmountWithBreakdown(**whole, breakdown=parts), "items": items}


def _money(minor: int, ask: Ask) -> Money:
    return Money(**amounts.written(minor, ask.currency))


def _snapshot(account: Account, order: Thing, disputes: tuple[DisputeSeen, ...] = ()) -> Snapshot:
    """No object of PayPal's says whether its money is real. The address does that we asked."""
    return reading.snapshot(order, account.livemode and account.api_base is None, disputes)


def _look(account: Account, ref: str) -> Thing:
    if not _ID.fullmatch(ref):
        raise Refused("not_found", "This is not the id of a PayPal order.")
    return asked(account, lambda paypal: paypal.orders.get_order({"id": ref}), "id", "status")


def _disputes(account: Account, order: Thing) -> tuple[DisputeSeen, ...]:
    """The disputes about what was captured, oldest first. None for an app that may not read them."""
    found: list[Thing] = []
    try:
        for capture in reading.captures(order):
            about = {"disputed_transaction_id": text(capture.get("id"))}
            found += several(asked(account, partial(_get, "/v1/customer/disputes", about)), "items")
        details = [_dispute(account, one) for one in found]
    except Refused as refusal:
        log.warning("payment account %s: its app cannot read disputes: %s", account.slug, refusal.code)
        return ()
    return tuple(reading.dispute_seen(one) for one in sorted(details, key=lambda one: text(one.get("create_time"))))


def _dispute(account: Account, summary: Thing) -> Thing:
    """With its outcome, which is in no list."""
    ref = text(summary.get("dispute_id"))
    if summary.get("status") != "RESOLVED" or not _DISPUTE_ID.fullmatch(ref):
        return summary
    return asked(account, partial(_get, f"/v1/customer/disputes/{ref}", {}))


def _get(path: str, query: Mapping[str, str], paypal: PaypalServersdkClient) -> object:
    """A request that the library has no method for, written as it writes its own."""
    request = RequestBuilder().server(Server.DEFAULT).path(path).http_method(HttpMethodEnum.GET).auth(Single("Oauth2"))
    for name, value in query.items():
        request = request.query_param(Parameter().key(name).value(value))
    return (
        paypal.orders.new_api_call_builder.request(request).response(ResponseHandler().is_api_response(True)).execute()
    )
