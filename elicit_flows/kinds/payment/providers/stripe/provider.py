"""The plug-in for Stripe: each call of ``providers.base.PaymentProvider`` as calls of Stripe's API."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

import stripe

from elicit_flows import http
from elicit_flows.kinds.payment.providers.base import Busy, Refused, Unclear
from elicit_flows.kinds.payment.providers.stripe import balance, charges, price_changes, reading, session, webhooks
from elicit_flows.kinds.payment.providers.stripe.client import calling, client, plain
from elicit_flows.kinds.payment.providers.stripe.errors import STALE_KEY
from elicit_flows.kinds.payment.values import (
    Account,
    Ask,
    BalancePage,
    Charge,
    Notice,
    RefundSeen,
    Snapshot,
    Started,
    State,
)
from elicit_flows.lib import clock

LOOK_BACK = timedelta(hours=25)  # sessions and idempotency keys last for a day
PAGE = 100
PAGES = 20
PAUSE = 0.1  # seconds between pages: Stripe allows an endpoint 25 requests a second, for all callers together


class Stripe:
    """Stripe Checkout on Stripe's hosted page (API of the pinned SDK)."""

    modes = frozenset({"pay", "save", "subscribe", "mandate"})
    keys: Mapping[str, bool] = MappingProxyType(
        {"sk_live_": True, "rk_live_": True, "sk_test_": False, "rk_test_": False}
    )
    connects = True
    has_client_id = False
    computes_tax = True
    makes_invoices = True
    invoice_hosts = frozenset({"invoice.stripe.com", "pay.stripe.com"})
    signed = True
    host = "checkout.stripe.com"

    def start(self, account: Account, ask: Ask, key: str) -> Started:
        """Open a Checkout Session.

        Raises Unclear with ``stored`` if the key was used for other parameters: that session was never shown to
        anybody.
        """
        params: Any = session.params(ask, account)
        try:
            with calling(changes=True):
                made = client(account).v1.checkout.sessions.create(params, {"idempotency_key": key})
                return _started(account, plain(made, "id", "expires_at"))
        except Refused as refusal:
            if refusal.code != STALE_KEY:
                raise
            raise Unclear(str(refusal), stored=True) from None

    def find(self, account: Account, our_id: str) -> str | None:
        """Search the last 25 hours, newest first. Raises Busy if there are too many sessions to search."""
        params: Any = {"created": {"gte": int((clock.now() - LOOK_BACK).timestamp())}, "limit": PAGE}
        with calling(changes=False):
            for _ in range(PAGES):
                page = plain(client(account).v1.checkout.sessions.list(params), "data")
                for one in page["data"]:
                    if reading.our_id(one) == our_id:
                        return str(one["id"])
                if not page.get("has_more") or not page["data"]:
                    return None
                params |= {"starting_after": page["data"][-1]["id"]}
                time.sleep(PAUSE)
        raise Busy("There are too many checkouts to search.")

    def fetch(self, account: Account, ref: str) -> Snapshot:
        with calling(changes=False):
            return charges.look(client(account), ref) if charges.is_one(ref) else _look(client(account), ref)

    def complete(self, account: Account, ref: str, key: str) -> Snapshot:
        """Capture what is held on the card. Stripe captures once and refuses a second time, so ``key`` is not sent, as
        in ``close``. Other checkouts are charged on the page.
        """
        with calling(changes=False):
            said = self.fetch(account, ref)
            if said.state is not State.APPROVED:
                return said
            params: Any = {"amount_to_capture": said.amount}
            if account.application_fee(said.amount):
                params["application_fee_amount"] = account.application_fee(said.amount)
            return _changed(account, ref, said.state, lambda at: at.v1.payment_intents.capture(said.agreed, params))

    def release(self, account: Account, ref: str, key: str) -> Snapshot:
        """Cancel the hold on the card. Repeating has no further effect, so ``key`` is not sent, as in ``close``."""
        with calling(changes=False):
            said = self.fetch(account, ref)
            if said.state is not State.APPROVED:
                return said
            return _changed(account, ref, said.state, lambda at: at.v1.payment_intents.cancel(said.agreed))

    def close(self, account: Account, ref: str, key: str) -> Snapshot:
        """Expire the session. Stripe refuses that if it is no longer open; then the snapshot says what it is.

        Expiring twice has no further effect, so ``key`` is not sent: under it, Stripe would store a failure for a day.
        """
        if charges.is_one(ref):
            with calling(changes=True):
                return charges.close(client(account), ref)
        return _changed(account, ref, State.OPEN, lambda at: at.v1.checkout.sessions.expire(ref))

    def refund(self, account: Account, payment_ref: str, amount: int, our_id: str, key: str) -> RefundSeen:
        """Refund a payment; for a subscription, refund its latest payment and end it.

        A refund with ``our_id`` is found again and not repeated, however old its key.
        """
        with calling(changes=False):
            intent = _intent(client(account), payment_ref)
            _end(client(account), payment_ref)
            made = [reading.refund_seen(one) for one in charges.refunds(client(account), intent)]
            known = next((one for one in made if one.our_id == our_id), None)
            if known:
                return known
            # Shares the deadline of the outer block. Only here can a lost answer mean that something happened.
            params: Any = {"payment_intent": intent, "amount": amount, "metadata": {session.OUR_ID: our_id}}
            if account.connected_account and charges.has_fee(client(account), intent):
                params["refund_application_fee"] = True  # the platform keeps no share of what was given back
            with calling(changes=True):
                refund = client(account).v1.refunds.create(params, {"idempotency_key": key})
                return reading.refund_seen(plain(refund, "id"))

    def cancel(self, account: Account, ref: str, key: str) -> Snapshot:
        """End a subscription with its paid period, or detach a saved method that no subscription is charged to.

        If a renewal is not paid, the paid period is over, so it ends now: until the end of the period that has begun,
        Stripe would go on trying to charge for that (docs.stripe.com/billing/subscriptions/cancel).
        Repeating has no further effect, so ``key`` is not sent: under it, Stripe would store a failure for a day.
        """
        with calling(changes=True):
            stripe_client = client(account)
            found = plain(stripe_client.v1.checkout.sessions.retrieve(ref, {"expand": reading.EXPANDED}), "id", "mode")
            subscription = reading.id_of(found.get("subscription"))
            method = reading.id_of(reading.within(found, "setup_intent").get("payment_method"))
            if subscription and not _has_ended(stripe_client, subscription):
                bills = _invoices(stripe_client, subscription)
                if reading.is_behind(reading.within(found, "subscription"), bills):
                    _end(stripe_client, subscription)
                else:
                    stripe_client.v1.subscriptions.update(subscription, {"cancel_at_period_end": True})
            elif method:
                _detach(stripe_client, method)
            return _look(stripe_client, ref)

    def end(self, account: Account, ref: str, key: str) -> Snapshot:
        """Repeating has no further effect, so ``key`` is not sent, as in ``cancel``."""
        with calling(changes=True):
            stripe_client = client(account)
            _end(stripe_client, _subscription(stripe_client, ref))
            return _look(stripe_client, ref)

    def resume(self, account: Account, ref: str, key: str) -> Snapshot:
        """Repeating has no further effect, so ``key`` is not sent, as in ``cancel``."""
        with calling(changes=True):
            stripe_client = client(account)
            found = plain(stripe_client.v1.subscriptions.retrieve(_subscription(stripe_client, ref)), "id", "status")
            # The dashboard and Stripe's portal may give it a date, which the flag alone does not take back.
            by_flag = found.get("cancel_at_period_end") is True
            if found["status"] not in reading.ENDED and (by_flag or found.get("cancel_at")):
                back: Any = {"cancel_at_period_end": False} if by_flag else {"cancel_at": ""}
                stripe_client.v1.subscriptions.update(found["id"], back)
            return _look(stripe_client, ref)

    def change_price(self, account: Account, ref: str, amount: int) -> Snapshot:
        """Give its one item another price without proration: https://docs.stripe.com/api/subscriptions/update

        It is not changed twice, so no key is sent, as in ``cancel``. What fails after the change is Unclear.
        """
        with calling(changes=True):
            stripe_client = client(account)
            subscription = _subscription(stripe_client, ref)
            price_changes.make(stripe_client, subscription, amount)
            try:
                return _look(stripe_client, ref)
            except stripe.StripeError as error:
                raise Unclear("The payment provider did not say what the subscription costs now.") from error

    def charge(self, account: Account, charge: Charge, key: str) -> Snapshot:
        """Charge at once. Refused is raised only if nothing was made: everything after that is Unclear."""
        try:
            with calling(changes=True):
                said = charges.make(client(account), charge, key, account.application_fee(charge.amount))
        except Refused as refusal:
            if refusal.code != STALE_KEY:
                raise
            raise Unclear(str(refusal)) from None
        if said.state is not State.OPEN:
            return said
        try:
            return self.close(account, said.ref, f"{key}:close")
        except Refused as refusal:
            raise Unclear(str(refusal)) from None

    def find_charge(self, account: Account, charge: Charge) -> str | None:
        with calling(changes=False):
            return charges.find(client(account), charge)

    def use_method(self, account: Account, ref: str, method: str) -> None:
        """https://docs.stripe.com/payments/checkout/subscriptions/update-payment-details

        Repeating has no further effect, so no key is sent, as in ``cancel``.
        """
        with calling(changes=True):
            stripe_client = client(account)
            stripe_client.v1.subscriptions.update(_subscription(stripe_client, ref), {"default_payment_method": method})

    def remove_method(self, account: Account, method: str) -> None:
        with calling(changes=True):
            _detach(client(account), method)

    def balance(self, account: Account, since: datetime, until: datetime, after: str) -> BalancePage:
        with calling(changes=False):
            return balance.page(client(account), since, until, after)

    def receive(self, account: Account, headers: Mapping[str, str], body: bytes) -> list[Notice]:
        return webhooks.receive(account, headers.get("stripe-signature", ""), body)


def _changed(account: Account, ref: str, before: State, change: Callable[[stripe.StripeClient], object]) -> Snapshot:
    """What a checkout is after it was to be changed. A refusal tells little: look, and raise it only if the checkout is
    still in the state ``before``.
    """
    failed: stripe.StripeError | None = None
    with calling(changes=True):
        try:
            change(client(account))
        except stripe.StripeError as error:
            failed = error
        found = _look(client(account), ref)
        if failed and found.state is before:
            raise failed
    return found


def _started(account: Account, made: reading.Thing) -> Started:
    """Raises Refused for an address that nobody may be sent to."""
    url = made.get("url") or ""
    try:
        http.check_url(url)
    except http.Refused:
        raise Refused("bad_answer", "The address of the payment provider's page is refused.") from None
    if made.get("livemode") is not account.livemode:
        raise Refused("wrong_mode", "The account's key is a test key where a live one is needed, or the reverse.")
    return Started(str(made["id"]), url, datetime.fromtimestamp(made["expires_at"], UTC))


def _look(stripe_client: stripe.StripeClient, ref: str) -> Snapshot:
    found = plain(stripe_client.v1.checkout.sessions.retrieve(ref, {"expand": reading.EXPANDED}), "id", "status")
    subscription = reading.id_of(found.get("subscription"))
    invoices = _invoices(stripe_client, subscription) if subscription else []
    intent = None  # of refunds and disputes, if anything was paid
    # A trial leaves "no_payment_required" for good; its renewals are paid all the same.
    settled = found.get("payment_status") in ("paid", "no_payment_required") or reading.is_captured(found)
    if found.get("status") == "complete" and settled:
        renews = found.get("mode") == "subscription"
        intent = _latest_intent(stripe_client, invoices) if renews else reading.id_of(found.get("payment_intent"))
    if intent is None:
        return reading.snapshot(found, [], [], invoices)
    return reading.snapshot(found, *charges.refunds_and_disputes(stripe_client, intent), invoices)


def _subscription(stripe_client: stripe.StripeClient, ref: str) -> str:
    """The subscription of a checkout. Raises Refused if it has none."""
    found = reading.id_of(plain(stripe_client.v1.checkout.sessions.retrieve(ref), "id").get("subscription"))
    if found is None:
        raise Refused("no_subscription", "There is no subscription at this checkout.")
    return found


def _invoices(stripe_client: stripe.StripeClient, subscription: str) -> list[reading.Thing]:
    """Its newest invoices, newest first: a hundred days of one that renews every day."""
    found = plain(stripe_client.v1.invoices.list({"subscription": subscription, "limit": PAGE}), "data")
    return [one for one in found["data"] if isinstance(one, dict)]


def _intent(stripe_client: stripe.StripeClient, payment_ref: str) -> str:
    """The PaymentIntent to refund. Raises Refused for a subscription that was never paid."""
    if not payment_ref.startswith("sub_"):
        return payment_ref
    intent = _latest_intent(stripe_client, _invoices(stripe_client, payment_ref))
    if intent is None:
        raise Refused("nothing_paid", "Nothing was paid for this subscription.")
    return intent


def _end(stripe_client: stripe.StripeClient, payment_ref: str) -> None:
    """End a refunded subscription, so that it is not charged again. Stripe refuses to end one that has ended."""
    if not payment_ref.startswith("sub_") or _has_ended(stripe_client, payment_ref):
        return
    with calling(changes=True):
        try:
            stripe_client.v1.subscriptions.cancel(payment_ref)
        except stripe.StripeError:
            if not _has_ended(stripe_client, payment_ref):
                raise


def _has_ended(stripe_client: stripe.StripeClient, subscription: str) -> bool:
    return plain(stripe_client.v1.subscriptions.retrieve(subscription), "status")["status"] in reading.ENDED


def _detach(stripe_client: stripe.StripeClient, method: str) -> None:
    """Detach a payment method from its customer, once, unless a subscription that has not ended may be charged to it.

    The operator, or another checkout of the customer, may have used it there. A subscription with no method of its own
    is charged to the customer's default, which may be this one:
    https://docs.stripe.com/api/subscriptions/object#subscription_object-default_payment_method
    """
    customer = plain(stripe_client.v1.payment_methods.retrieve(method), "id").get("customer")
    if not customer:
        return
    params: Any = {"customer": customer, "limit": PAGE}
    more = True
    while more:
        page = plain(stripe_client.v1.subscriptions.list(params), "data")
        if any(reading.id_of(one.get("default_payment_method")) in (method, None) for one in page["data"]):
            return
        more = bool(page.get("has_more") and page["data"])
        params["starting_after"] = page["data"][-1]["id"] if more else ""
    stripe_client.v1.payment_methods.detach(method)


def _latest_intent(stripe_client: stripe.StripeClient, invoices: list[reading.Thing]) -> str | None:
    """The PaymentIntent of the newest paid invoice. Since API version 2025-03-31 an invoice does not name its
    payments.
    """
    paid = next((one for one in invoices if one.get("status") == "paid" and one.get("amount_paid")), None)
    if paid is None:
        return None
    payments = plain(stripe_client.v1.invoice_payments.list({"invoice": paid["id"], "status": "paid"}), "data")
    intents = [reading.id_of(reading.within(one, "payment").get("payment_intent")) for one in payments["data"]]
    return next((intent for intent in intents if intent), None)
