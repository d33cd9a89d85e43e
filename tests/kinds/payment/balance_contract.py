"""The part of the contract about what moved money: every provider lists it, page by page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

from elicit_flows.kinds.payment import providers
from elicit_flows.kinds.payment.providers.base import PaymentProvider
from elicit_flows.kinds.payment.values import BalanceLine, Movement, Snapshot
from elicit_flows.lib import clock

if TYPE_CHECKING:
    from tests.kinds.payment.contract import House


class BalanceContract:
    name: str

    def started(self, house: House, **changes: Any) -> tuple[str, str]:
        raise NotImplementedError

    def paid(self, house: House, how: str = "pay", **changes: Any) -> Snapshot:
        raise NotImplementedError

    def balance(self, house: House, since: datetime, until: datetime) -> Iterator[tuple[BalanceLine, ...]]:
        """Page by page."""
        reporting, after = providers.reporting(self.name), ""
        assert reporting is not None
        while True:
            page = reporting.balance(house.account, since, until, after)
            yield page.lines
            after = page.after
            if not after:
                return

    @pytest.mark.parametrize("most", [500, 1])
    def test_its_balance_has_each_charge_refund_and_lost_dispute(
        self, provider: PaymentProvider, house: House, monkeypatch: pytest.MonkeyPatch, most: int
    ) -> None:
        """``most``: the lines of a page."""
        module = import_module(f"elicit_flows.kinds.payment.providers.{self.name}.balance")
        monkeypatch.setattr(module, "PAGE", min(most, module.PAGE))
        began = clock.now().replace(microsecond=0)
        first, second, third = (self.paid(house, amount=amount, our_id=f"co_{amount}") for amount in (1999, 500, 700))
        self.started(house, our_id="co_open")
        self.paid(house, "pay_bank", amount=800, our_id="co_bank")
        refund = provider.refund(house.account, first.payment_ref or "", 300, "re_1", "key of re_1")
        house.finish_refund(house.refund(second.ref, 200, pending=True), ok=False)
        for outcome in ("open", "lost"):
            house.dispute(third.ref, outcome)
        pages = list(self.balance(house, began, clock.now() + timedelta(days=40)))
        ours = [line for lines in pages for line in lines if line.movement is not Movement.OTHER]
        net: Counter[tuple[Movement, str | None, str]] = Counter()
        for line in ours:
            net[line.movement, line.payment_ref, line.currency] += line.amount
        assert {key: amount for key, amount in net.items() if amount} == {
            (Movement.CHARGE, first.payment_ref, "eur"): 1999, (Movement.CHARGE, second.payment_ref, "eur"): 500,
            (Movement.CHARGE, third.payment_ref, "eur"): 700, (Movement.REFUND, first.payment_ref, "eur"): -300,
            (Movement.DISPUTE, third.payment_ref, "eur"): -700,
        }  # fmt: skip
        assert {line.our_id for line in ours if line.movement is Movement.CHARGE} == {"co_1999", "co_500", "co_700"}
        assert [line.refund_ref for line in ours if line.amount == -300] == [refund.ref]
        assert len({(line.ref, line.movement, line.amount) for line in ours}) == len(ours), "none comes twice"
        assert len(pages) > 4 or most > 1

    def test_its_balance_of_another_time_is_empty(self, house: House) -> None:
        self.paid(house)
        last_year = clock.now() - timedelta(days=365)
        assert not any(self.balance(house, last_year, last_year + timedelta(days=40)))
