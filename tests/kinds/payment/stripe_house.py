"""The sandbox's Stripe, with a scripted payer."""

from __future__ import annotations

from pathlib import Path

from elicit_flows.domain.values import Secret
from elicit_flows.kinds.payment.values import Account
from tests.kinds.payment.sandbox_house import SandboxHouse

KEY, OTHER_KEY = "sk_test_development_only_sandbox", "sk_test_of_somebody_else"
SECRET, OTHER_SECRET = "whsec_development_only_sandbox", "whsec_of_somebody_else"
USUAL = "acct_sandbox"


class StripeHouse(SandboxHouse):
    def __init__(self, log: Path) -> None:
        super().__init__(log)
        self.account = Account("sandbox", "stripe", Secret(KEY), (Secret(SECRET),), self.url)
        self.other = Account("other", "stripe", Secret(OTHER_KEY), (Secret(OTHER_SECRET),), self.url)
        self.order("account", id="acct_other", key=OTHER_KEY)

    def settle(self, ref: str, *, ok: bool) -> None:
        self.order("settle", session=ref, outcome="ok" if ok else "fail")

    def refund(self, ref: str, amount: int, *, pending: bool = False) -> str:
        return str(self.order("refund", of=ref, amount=amount, pending=pending)["id"])

    def finish_refund(self, refund: str, *, ok: bool) -> None:
        self.order("refund_outcome", refund=refund, outcome="done" if ok else "failed")

    def dispute(self, ref: str, outcome: str) -> None:
        self.order("dispute", of=ref, outcome=outcome)

    def end_subscription(self, payment_ref: str) -> None:
        self.order("end", subscription=payment_ref)

    def next_period(self, payment_ref: str) -> None:
        self.order("renew", subscription=payment_ref)

    def saved(self, customer: str) -> int:
        return len([one for one in self.state()["payment_methods"] if one["customer"] == customer])

    def checkouts(self) -> int:
        return len(self.state()["sessions"])
