"""The sandbox's Mollie, with a scripted payer."""

from __future__ import annotations

from pathlib import Path

from elicit_flows.domain.values import Secret
from elicit_flows.kinds.payment.values import Account
from tests.kinds.payment.sandbox_house import SandboxHouse

KEY, OTHER_KEY = "test_development_only_sandbox", "test_of_somebody_else"


class MollieHouse(SandboxHouse):
    control = "/mollie/_control"

    def __init__(self, log: Path) -> None:
        super().__init__(log)
        self.account = Account("sandbox", "mollie", Secret(KEY), (), f"{self.url}/mollie")
        self.other = Account("other", "mollie", Secret(OTHER_KEY), (), f"{self.url}/mollie")
        self.order("profile", id="pfl_other", key=OTHER_KEY)

    def settle(self, ref: str, *, ok: bool) -> None:
        self.order("settle", payment=ref, outcome="ok" if ok else "fail")

    def refund(self, ref: str, amount: int, *, pending: bool = False) -> str:
        refund = str(self.order("refund", payment=ref, amount=amount)["id"])
        if not pending:
            self.finish_refund(refund, ok=True)
        return refund

    def finish_refund(self, refund: str, *, ok: bool) -> None:
        self.order("refund_outcome", refund=refund, outcome="refunded" if ok else "failed")

    def dispute(self, ref: str, outcome: str) -> None:
        """Lost is what a chargeback is until it is reversed."""
        if outcome == "open":
            self.order("chargeback", payment=ref)
        elif outcome == "won":
            self.order("reverse", payment=ref)

    def end_subscription(self, payment_ref: str) -> None:
        raise NotImplementedError("Mollie is asked for no subscriptions.")

    def checkouts(self) -> int:
        return len(self.state()["payments"])
