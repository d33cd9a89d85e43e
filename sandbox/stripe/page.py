"""The hosted page for a buyer, without scripts or card numbers: buttons for what may happen."""

from __future__ import annotations

from urllib.parse import urlsplit

from flask import Blueprint, Response, abort, g, render_template, request
from werkzeug import Response as AnyResponse

from sandbox.stripe import charges, paying, subscriptions
from sandbox.stripe.double import Double
from sandbox.stripe.money import shown
from sandbox.stripe.sessions import KIND, expire
from sandbox.stripe.shop import Shop
from sandbox.stripe.store import Thing

ANSWER_SECONDS = 10.0  # how long to wait for receivers of the event before the buyer is sent back


class PayPage:
    def __init__(self, double: Double) -> None:
        self.double = double

    def blueprint(self) -> Blueprint:
        pages = Blueprint("stripe_page", __name__)
        pages.get("/c/pay/<id>")(self.look)
        pages.post("/c/pay/<id>")(self.press)
        pages.get("/c/receipt/<id>")(self.receipt)
        pages.post("/c/receipt/<id>")(self.pay_invoice)
        return pages

    def found(self, id: str) -> tuple[Shop, Thing]:
        shop = self.double.shop_of(id)
        session = shop and shop.find(KIND, id)
        if not shop or not session:
            abort(404, "There is no such checkout here. The sandbox forgets everything when it is restarted.")
        if session["status"] == "open" and session["expires_at"] <= shop.now:
            expire(shop, session)
        return shop, session

    def look(self, id: str) -> str:
        with self.double.store.lock:
            shop, session = self.found(id)
            return self.page(shop, session)

    def page(self, shop: Shop, session: Thing, *, declined: bool = False, challenged: bool = False) -> str:
        """The page. It allows the redirect back to the merchant, which browsers enforce for forms."""
        targets = [session[name] for name in ("success_url", "cancel_url") if session[name]]
        g.form_targets = [f"{url.scheme}://{url.netloc}" for url in map(urlsplit, targets)]
        amount = session["amount_total"]
        return render_template(
            "stripe/pay.html",
            session=session,
            merchant=shop.account.name,
            items=[(one["description"], one["quantity"], price(one)) for one in session["_items"]],
            tax=taxed(self.double, session),
            total=None if amount is None else shown(amount, session["currency"]),
            by_card=paying.can_pay_by_card(session),
            by_bank=paying.can_pay_later(session),
            declined=declined,
            challenged=challenged,
        )

    def press(self, id: str) -> AnyResponse | str:
        """Handle a button. If two tabs race, the second sees the result."""
        action = request.form.get("action", "")
        if action == "back":
            return self.back(id)
        with self.double.store.lock:
            shop, session = self.found(id)
            if session["status"] != "open":
                return self.page(shop, session)
            if action in {"pay_3ds", "pay_declined", "fail_3ds"}:
                return self.not_yet(shop, session, action)
            if action not in {"pay", "pay_bank", "complete_3ds"}:
                abort(400, "There is no such button.")
            event = self.paid(shop, session, action)
        return self.home(session, event)

    def paid(self, shop: Shop, session: Thing, action: str) -> Thing:
        if action == "pay_bank":
            if not paying.can_pay_later(session):
                abort(400, "There is no bank method for this checkout.")
            return paying.pay_later(shop, session, self.double.bent)
        return paying.pay(shop, session, self.double.bent)

    def not_yet(self, shop: Shop, session: Thing, action: str) -> str:
        if action == "pay_3ds":
            paying.challenge(shop, session)
            return self.page(shop, session, challenged=True)
        paying.decline(shop, session)
        return self.page(shop, session, declined=True)

    def home(self, session: Thing, event: Thing) -> Response:
        """Redirect to the merchant's page after the merchant's server had the chance to receive the event, as Stripe
        does.
        """
        if self.double.sender.weather.timing == "before":
            self.double.sender.wait_tried(event, ANSWER_SECONDS)
        return see_other(session["success_url"].replace("{CHECKOUT_SESSION_ID}", session["id"]))

    def back(self, id: str) -> Response | str:
        with self.double.store.lock:
            shop, session = self.found(id)
            if not session["cancel_url"]:
                abort(400, "The merchant gave no address to go back to.")
            if session["status"] != "open":
                return self.page(shop, session)
        return see_other(session["cancel_url"])

    def receipt(self, id: str) -> str:
        with self.double.store.lock:
            shop = self.double.shop_of(id)
            thing = shop and (shop.find("charge", id) or shop.find("invoice", id))
            if not shop or not thing:
                abort(404, "There is no such receipt here.")
            amount = thing["amount"] if thing["object"] == "charge" else thing["total"]
            return render_template(
                "stripe/receipt.html",
                thing=thing,
                merchant=shop.account.name,
                payer=charges.BILLING["name"],
                amount=shown(amount, thing["currency"]),
                back=shown(thing.get("amount_refunded", 0), thing["currency"])
                if thing.get("amount_refunded")
                else None,
            )

    def pay_invoice(self, id: str) -> str:
        """The payer pays a renewal that the bank had refused, on the invoice's own page."""
        with self.double.store.lock:
            shop = self.double.shop_of(id)
            made = shop and shop.find("invoice", id)
            if not shop or not made or made["status"] != "open":
                abort(400, "There is nothing to pay here.")
            subscription = shop.get(subscriptions.KIND, made["parent"]["subscription_details"]["subscription"])
            subscriptions.collect(shop, subscription, made, ok=True)
        return self.receipt(id)


def taxed(double: Double, session: Thing) -> str | None:
    """What the buyer reads of the tax, before and after giving an address."""
    if not session["automatic_tax"]["enabled"]:
        return None
    if session["automatic_tax"]["status"] == "complete":
        return shown(session["total_details"]["amount_tax"], session["currency"])
    return f"{(double.store.tax_basis_points or 0) / 100:g} % once you have given your address"


def price(item: Thing) -> str:
    rhythm = item["price"]["recurring"]
    said = shown(item["amount_subtotal"], item["currency"])
    if not rhythm:
        return said
    count = rhythm["interval_count"]
    return f"{said} every {rhythm['interval']}" if count == 1 else f"{said} every {count} {rhythm['interval']}s"


def see_other(url: str) -> Response:
    """Redirect to the merchant's address without changing it."""
    return Response(status=303, headers={"Location": url})
