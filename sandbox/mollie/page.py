"""The hosted checkout for a buyer, without scripts or card numbers: buttons for what may happen."""

from __future__ import annotations

from urllib.parse import urlsplit

from flask import Blueprint, Response, abort, g, render_template, request
from werkzeug import Response as AnyResponse

from sandbox.mollie import payments
from sandbox.mollie.double import Double, Thing

# The result of each button, and the payment method.
ENDS = {
    "pay": ("paid", "creditcard"),
    "pay_bank": ("open", "banktransfer"),
    "fail": ("failed", "creditcard"),
    "back": ("canceled", None),
}


class PayPage:
    def __init__(self, double: Double) -> None:
        self.double = double

    def blueprint(self) -> Blueprint:
        pages = Blueprint("mollie_page", __name__)
        pages.get("/mollie/checkout/<id>")(self.look)
        pages.post("/mollie/checkout/<id>")(self.press)
        return pages

    def found(self, id: str) -> Thing:
        payments.expire_due(self.double)
        payment = self.double.payments.get(id)
        if payment is None:
            abort(404, "There is no such payment here. The sandbox forgets everything when it is restarted.")
        return payment

    def look(self, id: str) -> str:
        with self.double.lock:
            return page(self.found(id))

    def press(self, id: str) -> AnyResponse | str:
        """Handle a button. If two tabs race, the second sees the result."""
        action = request.form.get("action", "")
        with self.double.lock:
            payment = self.found(id)
            if payment["status"] != "open" or payments.is_transfer(payment):
                return page(payment)
            if action == "pay_declined":
                return page(payment, declined=True)  # the buyer may choose another method
            if action not in ENDS:
                abort(400, "There is no such button.")
            status, method = ENDS[action]
            if method:
                payments.pay(self.double, payment, method, status)
            else:
                payments.become(self.double, payment, status)
        url = payment.get("cancelUrl") if action == "back" else None
        return Response(status=303, headers={"Location": url or payment["redirectUrl"]})


def page(payment: Thing, *, declined: bool = False) -> str:
    """The page. It allows the redirect back to the merchant, which browsers enforce for forms."""
    targets = [payment[name] for name in ("redirectUrl", "cancelUrl") if payment.get(name)]
    g.form_targets = [f"{url.scheme}://{url.netloc}" for url in map(urlsplit, targets)]
    transfer = payments.is_transfer(payment)
    return render_template("mollie/pay.html", payment=payment, declined=declined, transfer=transfer)
