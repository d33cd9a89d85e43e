"""What every payment provider promises. A provider's own test subclasses ``ProviderContract`` and brings a ``House``:
the provider, or a double of it, with somebody in it who pays.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import pytest

from elicit_flows.domain.values import Secret
from elicit_flows.kinds.payment import providers
from elicit_flows.kinds.payment.params import MODES
from elicit_flows.kinds.payment.providers.base import BadNotice, PaymentProvider, Refused
from elicit_flows.kinds.payment.values import SUCCESSES, Account, Ask, Charge, Line, Order, Snapshot, State
from elicit_flows.lib import clock
from tests.kinds.payment.answers import ask
from tests.kinds.payment.balance_contract import BalanceContract


class House(Protocol):
    """``account`` is ours, ``other`` somebody else's at the same provider; ``notify_url`` hears webhooks."""

    account: Account
    other: Account
    notify_url: str

    def act(self, url: str, what: str) -> None:
        """The payer's button on the page: pay, pay_bank, pay_declined. KeyError when there is no such button."""

    def settle(self, ref: str, *, ok: bool) -> None:
        """The bank decides about a delayed payment."""

    def refund(self, ref: str, amount: int, *, pending: bool = False) -> str:
        """Somebody gives money back at the provider's dashboard; the refund's ref."""

    def finish_refund(self, refund: str, *, ok: bool) -> None: ...

    def dispute(self, ref: str, outcome: str) -> None:
        """open, then won or lost."""

    def end_subscription(self, payment_ref: str) -> None: ...

    def next_period(self, payment_ref: str) -> None:
        """What is paid is over: the subscription is renewed, or ends."""

    def saved(self, customer: str) -> int:
        """How many payment methods this customer can be charged by."""

    def forward(self, seconds: int) -> None:
        """The provider's clock."""

    def lose_next_answer(self) -> None:
        """The next request is carried out, and its answer never comes."""

    def checkouts(self) -> int:
        """How many there are at the provider, all accounts together."""

    def webhooks(self, about: str) -> list[tuple[Mapping[str, str], bytes]]:
        """Those that came and whose body names ``about``."""


class ProviderContract(BalanceContract):
    """``stranger``: a key that looks like one of the provider's. Where providers differ, the usual stands here."""

    name: str
    stranger: str
    keeps_our_time = True  # it closes a checkout when we say
    lapses_silently = False  # a checkout that ran out is not known any more
    can_search = True
    closes_pages = True  # a page of a closed checkout has no buttons
    has_receipts = True
    refunded = "done"  # how a refund of ours stands right after
    disputed = "open"  # how a dispute stands before it is decided

    @pytest.fixture
    def house(self) -> House:
        raise NotImplementedError

    @pytest.fixture
    def provider(self) -> PaymentProvider:
        return providers.get(self.name)

    def started(self, house: House, **changes: Any) -> tuple[str, str]:
        """The ref and the page of a new checkout."""
        wanted: Ask = ask(notify_url=house.notify_url, **changes)
        made = providers.get(self.name).start(house.account, wanted, f"key of {wanted.our_id}")
        return made.ref, made.url

    def paid(self, house: House, how: str = "pay", **changes: Any) -> Snapshot:
        ref, url = self.started(house, **changes)
        house.act(url, how)
        return self.settled(house, ref)

    def settled(self, house: House, ref: str) -> Snapshot:
        """How a checkout stands, after what the payer agreed to is charged."""
        provider = providers.get(self.name)
        said = provider.fetch(house.account, ref)
        key = f"complete {ref} {said.agreed}"
        return provider.complete(house.account, ref, key) if said.state is State.APPROVED else said

    def test_it_says_what_it_can_do(self, provider: PaymentProvider) -> None:
        assert {"pay"} <= provider.modes <= set(MODES)
        assert isinstance(provider.host, str)

    def test_a_new_checkout_is_open_and_says_what_was_asked(self, provider: PaymentProvider, house: House) -> None:
        until = clock.now().replace(microsecond=0) + timedelta(hours=2)
        made = provider.start(house.account, ask(expires_at=until), "key")
        assert made.url.startswith(("https://", "http://127.0.0.1"))
        assert made.expires_at == until if self.keeps_our_time else made.expires_at > clock.now()
        said = provider.fetch(house.account, made.ref)
        assert (said.ref, said.state, said.our_id, said.livemode) == (made.ref, State.OPEN, "co_1", False)
        assert (said.amount, said.currency) == (1999, "eur")
        assert (said.refunds, said.disputes) == ((), ())

    def test_the_same_key_is_the_same_checkout(self, provider: PaymentProvider, house: House) -> None:
        wanted, before = ask(), house.checkouts()
        first = provider.start(house.account, wanted, "one key")
        assert provider.start(house.account, wanted, "one key") == first
        assert house.checkouts() == before + 1
        assert provider.start(house.account, wanted, "another key").ref != first.ref

    def test_f17_a_lost_answer_makes_no_second_checkout(self, provider: PaymentProvider, house: House) -> None:
        before = house.checkouts()
        house.lose_next_answer()
        made = provider.start(house.account, ask(our_id="co_lost"), "key of the lost")
        assert house.checkouts() == before + 1
        assert provider.find(house.account, "co_lost") == (made.ref if self.can_search else None)

    def test_it_is_found_by_our_id_or_not_at_all(self, provider: PaymentProvider, house: House) -> None:
        ref, _ = self.started(house, our_id="co_here")
        assert provider.find(house.account, "co_here") == (ref if self.can_search else None)
        assert provider.find(house.account, "co_nowhere") is None
        assert provider.find(house.other, "co_here") is None

    @pytest.mark.parametrize(("amount", "currency"), [(1999, "eur"), (435, "usd"), (500, "jpy"), (99_999_999, "gbp")])
    def test_paid_is_paid_to_the_cent(self, house: House, amount: int, currency: str) -> None:
        said = self.paid(house, amount=amount, currency=currency)
        assert (said.state, said.amount, said.currency) == (State.PAID, amount, currency)
        assert said.payment_ref
        assert (said.receipt_url or "").startswith("http") is self.has_receipts
        assert said.our_id == "co_1"

    @pytest.mark.parametrize("tax", [0, 190])
    def test_an_order_is_paid_as_the_sum_of_its_lines_and_tax(self, house: House, tax: int) -> None:
        lines = (Line("A notebook <b>", 2, 450), Line("A pen", 1, 99), Line("A sticker", 3, 0))
        order = Order(lines, tax, "Steuer", "PO-17")
        said = self.paid(house, amount=999 + tax, order=order)
        assert (said.state, said.amount, said.our_id) == (State.PAID, 999 + tax, "co_1")

    def test_t243_a_tax_that_the_provider_computes_is_known_before_anything_is_charged(
        self, provider: PaymentProvider, house: House
    ) -> None:
        order = Order((Line("A notebook", 2, 450), Line("A pen", 1, 99)), None, "Tax")
        if not provider.computes_tax:
            with pytest.raises(Refused):
                self.started(house, amount=1300, order=order)
            return
        ref, url = self.started(house, amount=1300, order=order)
        house.act(url, "pay")
        said = provider.fetch(house.account, ref)
        assert (said.state, said.tax is not None) == (State.APPROVED, True)
        assert said.amount == 999 + (said.tax or 0)
        assert provider.release(house.account, ref, "release").unpaid
        assert provider.fetch(house.account, ref).state is State.CANCELLED

    def test_t242_an_order_whose_parts_come_to_something_else_is_never_paid_as_asked(self, house: House) -> None:
        """Nothing of ours makes one. A provider that adds up refuses it, and one that does not says what it took."""
        order = Order((Line("A notebook", 2, 450),), 100, "Tax")
        try:
            said = self.paid(house, amount=1999, order=order)
        except Refused:
            return
        assert said.amount == 1000

    def test_a_card_that_is_declined_leaves_it_open(self, provider: PaymentProvider, house: House) -> None:
        ref, url = self.started(house)
        house.act(url, "pay_declined")
        assert self.settled(house, ref).state is State.OPEN
        house.act(url, "pay")
        assert self.settled(house, ref).state is State.PAID

    @pytest.mark.parametrize(("ok", "end"), [(True, State.PAID), (False, State.FAILED)])
    def test_t107_a_delayed_payment_is_not_paid_before_it_is(
        self, provider: PaymentProvider, house: House, ok: bool, end: State
    ) -> None:
        said = self.paid(house, "pay_bank")
        assert said.state is State.PROCESSING
        house.settle(said.ref, ok=ok)
        assert provider.fetch(house.account, said.ref).state is end

    def test_it_expires_by_itself(self, provider: PaymentProvider, house: House) -> None:
        ref, _ = self.started(house)
        house.forward(3601)
        if self.lapses_silently:
            assert provider.close(house.account, ref, "key").state is State.CANCELLED
            house.forward(2 * 3600)
            with pytest.raises(Refused):
                provider.fetch(house.account, ref)
        else:
            assert provider.fetch(house.account, ref).state is State.EXPIRED

    def test_what_is_closed_cannot_be_paid_and_closing_twice_is_closing_once(
        self, provider: PaymentProvider, house: House
    ) -> None:
        ref, url = self.started(house)
        for key in ("close", "close", "close again"):
            assert provider.close(house.account, ref, key).state in {State.EXPIRED, State.CANCELLED}
        with pytest.raises(KeyError) if self.closes_pages else nullcontext():
            house.act(url, "pay")
        assert provider.fetch(house.account, ref).state not in SUCCESSES

    def test_completing_twice_is_charging_once(self, provider: PaymentProvider, house: House) -> None:
        said = self.paid(house)
        for key in (f"complete {said.ref}", "another key"):
            again = provider.complete(house.account, said.ref, key)
            assert (again.state, again.amount, again.payment_ref) == (State.PAID, 1999, said.payment_ref)

    def test_completing_what_nobody_agreed_to_charges_nothing(self, provider: PaymentProvider, house: House) -> None:
        ref, _ = self.started(house)
        assert provider.complete(house.account, ref, "key").state is State.OPEN
        assert provider.fetch(house.account, ref).state is State.OPEN

    def test_t106_closing_what_is_paid_or_on_its_way_changes_nothing(
        self, provider: PaymentProvider, house: House
    ) -> None:
        paid, waiting = self.paid(house), self.paid(house, "pay_bank", our_id="co_2")
        assert provider.close(house.account, paid.ref, "close 1").state is State.PAID
        assert provider.close(house.account, waiting.ref, "close 2").state is State.PROCESSING
        house.settle(waiting.ref, ok=True)
        assert provider.close(house.account, waiting.ref, "close 2").state is State.PAID

    def test_money_goes_back_in_parts_and_never_more_than_came(self, provider: PaymentProvider, house: House) -> None:
        said = self.paid(house)
        first = provider.refund(house.account, said.payment_ref or "", 500, "row_1", "key 1")
        assert (first.amount, first.state, first.our_id) == (500, self.refunded, "row_1")
        with pytest.raises(Refused):
            provider.refund(house.account, said.payment_ref or "", 1500, "row_2", "key 2")
        second = provider.refund(house.account, said.payment_ref or "", 1499, "row_3", "key 3")
        said = provider.fetch(house.account, said.ref)
        assert said.refunds == (first, second)
        assert (said.state, said.amount) == (State.PAID, 1999)
        with pytest.raises(Refused):
            provider.refund(house.account, said.payment_ref or "", 1, "row_4", "key 4")

    def test_one_refund_of_ours_is_made_once(self, provider: PaymentProvider, house: House) -> None:
        said = self.paid(house)
        refs = {
            provider.refund(house.account, said.payment_ref or "", 500, "row_1", key).ref
            for key in ("key", "key", "key after a day")
        }
        assert len(refs) == len(provider.fetch(house.account, said.ref).refunds) == 1

    def test_t108_refunds_at_the_dashboard_are_seen_as_they_go(self, provider: PaymentProvider, house: House) -> None:
        said = self.paid(house)
        refunds = [house.refund(said.ref, 300, pending=True), house.refund(said.ref, 200, pending=True)]
        house.finish_refund(refunds[0], ok=True)
        assert [
            (one.ref, one.amount, one.state, one.our_id) for one in provider.fetch(house.account, said.ref).refunds
        ] == [
            (refunds[0], 300, "done", None),
            (refunds[1], 200, "pending", None),
        ]
        house.finish_refund(refunds[1], ok=False)
        assert provider.fetch(house.account, said.ref).refunds[1].state == "failed"

    @pytest.mark.parametrize("outcome", ["won", "lost"])
    def test_t108_a_dispute_is_seen_and_how_it_ended(
        self, provider: PaymentProvider, house: House, outcome: str
    ) -> None:
        said = self.paid(house)
        for order, state in (("open", self.disputed), (outcome, outcome)):
            house.dispute(said.ref, order)
            [seen] = provider.fetch(house.account, said.ref).disputes
            assert (seen.amount, seen.state) == (1999, state)
            assert bool(seen.evidence_due) == (state == "open")

    def test_a_card_is_saved_without_money(self, provider: PaymentProvider, house: House) -> None:
        if "save" in provider.modes:
            said = self.paid(house, mode="save", amount=0)
            assert (said.state, said.amount, said.currency, said.our_id) == (State.SAVED, 0, "eur", "co_1")
            assert said.customer

    def test_a_saved_method_is_charged_once_under_its_key_and_found_by_our_id(
        self, provider: PaymentProvider, house: House
    ) -> None:
        if "mandate" not in provider.modes:
            return
        saved = self.paid(house, mode="save", amount=0)
        assert saved.customer is not None
        assert saved.method is not None
        charging = providers.charging(self.name)
        asked = Charge("co_9", 1290, "eur", "A ticket", saved.customer, saved.method, clock.now())
        assert charging.find_charge(house.account, asked) is None
        for _ in range(2):
            said = charging.charge(house.account, asked, "ef:co_9:charge")
            assert (said.state, said.amount, said.currency, said.our_id) == (State.PAID, 1290, "eur", "co_9")
            assert said.failure is None
        assert charging.find_charge(house.account, asked) == said.ref
        refund = provider.refund(house.account, said.payment_ref or "", 290, "re_9", "ef:re_9:refund:1")
        found = provider.fetch(house.account, said.ref)
        assert (found.state, [(one.ref, one.amount) for one in found.refunds]) == (State.PAID, [(refund.ref, 290)])

    def test_a_payer_who_is_known_may_pay_again(self, provider: PaymentProvider, house: House) -> None:
        if "save" in provider.modes:
            known = self.paid(house, mode="save", amount=0).customer
            assert self.paid(house, our_id="co_2", customer=known).customer == known

    @pytest.mark.parametrize(("interval", "days"), [("day", 1), ("week", 7), ("month", 28), ("year", 365)])
    def test_a_subscription_is_active_until_the_end_of_what_is_paid(
        self, provider: PaymentProvider, house: House, interval: str, days: int
    ) -> None:
        if "subscribe" in provider.modes:
            said = self.paid(house, mode="subscribe", interval=interval)
            assert (said.state, said.amount) == (State.ACTIVE, 1999)
            assert said.period_end
            assert timedelta(days=days - 1) < said.period_end - datetime.now(UTC) < timedelta(days=days + 4)

    def test_a_subscription_ends_and_its_payment_can_go_back(self, provider: PaymentProvider, house: House) -> None:
        if "subscribe" in provider.modes:
            said = self.paid(house, mode="subscribe", interval="month")
            house.end_subscription(said.payment_ref or "")
            assert provider.fetch(house.account, said.ref).state is State.CANCELLED
            back = provider.refund(house.account, said.payment_ref or "", 1999, "row_1", "key")
            assert provider.fetch(house.account, said.ref).refunds == (back,)

    def test_who_gets_a_subscriptions_payment_back_is_not_charged_again(
        self, provider: PaymentProvider, house: House
    ) -> None:
        if "subscribe" in provider.modes:
            said = self.paid(house, mode="subscribe", interval="month")
            for _ in range(2):
                provider.refund(house.account, said.payment_ref or "", 1999, "row_1", "key")
            now = provider.fetch(house.account, said.ref)
            assert (now.state, len(now.refunds)) == (State.CANCELLED, 1)

    def test_a_subscription_that_is_cancelled_is_charged_no_more_and_lasts_as_long_as_it_is_paid(
        self, provider: PaymentProvider, house: House
    ) -> None:
        if "subscribe" in provider.modes:
            said = self.paid(house, mode="subscribe", interval="month")
            assert said.ends_at is None
            for _ in range(2):
                told = provider.cancel(house.account, said.ref, "key")
                assert (told.state, told.ends_at, told.period_end) == (State.ACTIVE, said.period_end, said.period_end)
            house.next_period(said.payment_ref or "")
            for now in (provider.fetch(house.account, said.ref), provider.cancel(house.account, said.ref, "key")):
                assert (now.state, now.amount) == (State.CANCELLED, 1999)

    def test_what_was_saved_is_taken_back(self, provider: PaymentProvider, house: House) -> None:
        if "save" in provider.modes:
            said = self.paid(house, mode="save", amount=0)
            assert house.saved(said.customer or "") == 1
            for _ in range(2):
                assert provider.cancel(house.account, said.ref, "key").ref == said.ref
                assert house.saved(said.customer or "") == 0

    def test_what_is_not_offered_cannot_be_taken_back(self, provider: PaymentProvider, house: House) -> None:
        if provider.modes == {"pay"}:
            with pytest.raises(Refused):
                provider.cancel(house.account, self.paid(house).ref, "key")

    def test_what_is_not_there_is_refused(self, provider: PaymentProvider, house: House) -> None:
        ref, _ = self.started(house)
        for account, missing in ((house.account, f"{ref[:-1]}x"), (house.other, ref)):
            with pytest.raises(Refused):
                provider.fetch(account, missing)
            with pytest.raises(Refused):
                provider.close(account, missing, "key")
        with pytest.raises(Refused):
            provider.refund(house.other, self.paid(house, our_id="co_2").payment_ref or "", 1, "row", "key")

    def test_a_key_that_the_provider_does_not_know_is_refused_without_being_shown(
        self, provider: PaymentProvider, house: House
    ) -> None:
        stranger = dataclasses.replace(house.account, secret_key=Secret(self.stranger))
        with pytest.raises(Refused) as told:
            provider.start(stranger, ask(), "key")
        assert "canary" not in f"{told.value!r} {told.value.__context__!r}"

    def test_every_webhook_points_at_its_checkout_or_payment(self, provider: PaymentProvider, house: House) -> None:
        said = self.paid(house)
        house.refund(said.ref, 100)
        came = house.webhooks(said.payment_ref or "")
        assert len(came) > 1
        for headers, body in came:
            for notice in provider.receive(house.account, headers, body):
                assert (notice.ref == said.ref) or (notice.ref is None and notice.payment_ref == said.payment_ref)
                assert notice.livemode is False
        assert any(notice.ref for headers, body in came for notice in provider.receive(house.account, headers, body))

    def test_t99_a_webhook_of_another_account_or_changed_on_the_way_is_refused(
        self, provider: PaymentProvider, house: House
    ) -> None:
        for headers, body in house.webhooks(self.paid(house).ref) if provider.signed else ():
            with pytest.raises(BadNotice):
                provider.receive(house.other, headers, body)
            with pytest.raises(BadNotice):
                provider.receive(house.account, headers, body.replace(b"19", b"91"))
            with pytest.raises(BadNotice):
                provider.receive(dataclasses.replace(house.account, webhook_secrets=()), headers, body)
