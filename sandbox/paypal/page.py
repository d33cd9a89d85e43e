"""PayPal's page for a buyer, without scripts or passwords: buttons for what may happen."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from flask import Blueprint, Response, abort, g, render_template, request
from werkzeug import Response as AnyResponse

from sandbox.paypal import orders
from sandbox.paypal.double import Double, Thing

WAYS = ("pay", "pay_bank", "pay_declined")


class PayPage:
    def __init__(self, double: Double) -> None:
        self.double = double

    def blueprint(self) -> Blueprint:
        pages = Blueprint("paypal_page", __name__)
        pages.get("/paypal/checkoutnow")(self.look)
        pages.post("/paypal/checkoutnow")(self.press)
        return pages

    def found(self) -> Thing:
        order = self.double.orders.get(request.args.get("token", ""))
        if order is None or self.double.is_over(order):
            abort(404, "There is no such order here, or it has lapsed. The sandbox forgets everything at a restart.")
        return order

    def look(self) -> str:
        with self.double.lock:
            return page(self.found())

    def press(self) -> AnyResponse | str:
        """Handle a button. If two tabs race, the second sees the result."""
        action = request.form.get("action", "")
        with self.double.lock:
            order = self.found()
            if not payable(order):
                return page(order)
            if action in WAYS:
                orders.approve(self.double, order, action)
                back = with_ids(order["_back"], token=order["id"], PayerID="SANDBOXBUYER1")
            elif action == "back":
                back = with_ids(order["_cancel"], token=order["id"])
            else:
                abort(400, "There is no such button.")
        return Response(status=303, headers={"Location": back})


def payable(order: Thing) -> bool:
    """Also after a method was chosen that is declined at the capture: the buyer may choose another."""
    declined = order["status"] == "APPROVED" and order["_how"] == "pay_declined"
    return bool(declined or order["status"] == "PAYER_ACTION_REQUIRED")


def with_ids(url: str, **ids: str) -> str:
    """The merchant's address, with what PayPal adds to it."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(query=urlencode([*parse_qsl(parts.query), *ids.items()])))


def page(order: Thing) -> str:
    """The page. It allows the redirect back to the merchant, which browsers enforce for forms."""
    targets = {f"{url.scheme}://{url.netloc}" for url in map(urlsplit, (order["_back"], order["_cancel"]))}
    g.form_targets = sorted(targets)
    return render_template(
        "paypal/pay.html", order=order, unit=order["purchase_units"][0], payable=payable(order), declined=order["_how"]
    )
