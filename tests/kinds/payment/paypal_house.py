"""The sandbox's PayPal, with a scripted payer."""

from __future__ import annotations

from pathlib import Path

from elicit_flows.domain.values import Secret
from elicit_flows.kinds.payment.values import Account
from tests.kinds.payment.sandbox_house import SandboxHouse

CLIENT_ID, SECRET, WEBHOOK = "client-of-the-sandbox", "development-only-paypal-secret", "WEBHOOKOFTHESANDBOX"
OTHER = {"client_id": "another-client", "secret": "development-only-another", "merchant": "OTHER", "webhook": "HOOK2"}


class PayPalHouse(SandboxHouse):
    control = "/paypal/_control"

    def __init__(self, log: Path) -> None:
        super().__init__(log)
        base = f"{self.url}/paypal"
        self.account = Account("sandbox", "paypal", Secret(SECRET), (Secret(WEBHOOK),), base, client_id=CLIENT_ID)
        other = Secret(OTHER["secret"]), (Secret(OTHER["webhook"]),), base
        self.other = Account("other", "paypal", *other, client_id=OTHER["client_id"])
        self.order("app", listener=self.sink.url("/inbound/other"), **OTHER)

    def settle(self, ref: str, *, ok: bool) -> None:
        self.order("settle", order=ref, outcome="ok" if ok else "fail")

    def refund(self, ref: str, amount: int, *, pending: bool = False) -> str:
        return str(self.order("refund", order=ref, amount=amount, pending=pending)["id"])

    def finish_refund(self, refund: str, *, ok: bool) -> None:
        self.order("refund_outcome", refund=refund, outcome="COMPLETED" if ok else "FAILED")

    def dispute(self, ref: str, outcome: str) -> None:
        self.order("dispute", order=ref, outcome=outcome)

    def end_subscription(self, payment_ref: str) -> None:
        raise NotImplementedError("PayPal is asked for no subscriptions.")

    def checkouts(self) -> int:
        return len(self.state()["orders"])
