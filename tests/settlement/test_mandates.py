"""What a mandate allows: reserved when it is charged, by whoever asks, and free again only when nothing comes."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connections, transaction
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from elicit_flows import elicitations, vault
from elicit_flows.domain.errors import Conflict, OverLimit
from elicit_flows.elicitations import payment as payments_flow
from elicit_flows.elicitations import receipts
from elicit_flows.jobs import lag
from elicit_flows.kinds.payment.providers.base import Busy
from elicit_flows.kinds.payment.values import RefundSeen, Snapshot, State
from elicit_flows.lib import clock
from elicit_flows.lib.clock import rfc3339
from elicit_flows.models import Checkout, Elicitation, Event, Mandate, MandateCharge, Payment, SpendLimit
from elicit_flows.payments import cancellations, charges, mandates
from tests.settlement.conftest import Till
from tests.support import jobs
from tests.support.moving import MovingClock

DAY = timedelta(hours=24)


def give(till: Till, **limits: Any) -> Mandate:
    """A mandate of alice, as the provider's page leaves it."""
    said = {"per_charge": 1000, "total": 5000, "until": (clock.now() + timedelta(days=90)).isoformat()} | limits
    row = till.ask(mode="mandate", amount=0, mandate=said)
    more = {"amount": 0, "customer": "cus_1", "method": "pm_1", "method_name": "visa 4242"}
    till.hear(till.open(row), State.SAVED, **more)
    return Mandate.objects.get(payment__elicitation=row)


def reserve(mandate: Mandate, amount: int, key: str) -> MandateCharge:
    asked = {"amount": amount, "description": "A ticket", "item": None, "uses": None, "metadata": {}}
    return charges.reserve(mandate, asked, key, str(amount))[0]


def allowed(charge: MandateCharge) -> bool:
    return charges.still_allowed(charges.of(charge.payment), Checkout.objects.get(payment=charge.payment))


def hear(till: Till, charge: MandateCharge, state: State, **more: Any) -> None:
    checkout = Checkout.objects.get(payment=charge.payment)
    Checkout.objects.filter(pk=checkout.pk).update(ref=f"pi_{charge.pk}")
    checkout.refresh_from_db()
    said = {"amount": charge.payment.amount, "payment_ref": checkout.ref} | more
    payments_flow.record_settlement(checkout, till.says(checkout, state, **said))


def test_a_mandate_that_nobody_ends_in_time_is_seen_as_late(till: Till) -> None:
    given = give(till)
    Checkout.objects.update(look_at=None)
    assert lag.oldest()["payment"] is None
    over = clock.now() - timedelta(minutes=5)
    Mandate.objects.filter(pk=given.pk).update(until=over)
    assert lag.oldest()["payment"] == over


def told() -> list[str]:
    return list(Event.objects.filter(type__startswith="mandate.").order_by("position").values_list("type", flat=True))


def test_t190_a_stolen_key_takes_at_most_what_the_page_said_and_is_seen(till: Till, moving_clock: MovingClock) -> None:
    """Whatever it tries, for as long as the mandate lasts."""
    mandate = give(till, per_charge=1000, per_day=1500, per_month=4000, total=5000)
    taken, day = 0, 0
    while clock.now() < mandate.until + DAY:
        for amount in (1001, 1000, 700, 500, 1):
            try:
                charge = reserve(mandate, amount, f"{day}-{amount}")
            except (OverLimit, Conflict):
                continue
            hear(till, charge, State.PAID)
            taken += amount
        moving_clock.forward(days=1)
        day += 1
    assert taken == 5000
    assert sum(Payment.objects.filter(status="paid").values_list("amount", flat=True)) == 5000
    assert told().count("mandate.charged") == MandateCharge.objects.count()


@pytest.mark.parametrize(
    ("limits", "amounts", "words"),
    [
        ({"per_day": 1500}, (1000, 500), r"€15\.00 in 24 hours; €0\.00 is left"),
        ({"per_month": 1500}, (1000, 500), r"€15\.00 in 30 days; €0\.00 is left"),
        ({"total": 1500}, (1000, 500), r"€15\.00 in all; €0\.00 is left"),
    ],
    ids=["day", "month", "all"],
)
def test_t191_a_charge_that_is_split_meets_the_other_limits(
    till: Till, limits: dict[str, int], amounts: tuple[int, ...], words: str
) -> None:
    mandate = give(till, **limits)
    with pytest.raises(OverLimit, match=r"at most €10\.00 per charge"):
        reserve(mandate, 1001, "whole")
    for number, amount in enumerate(amounts):
        reserve(mandate, amount, f"part {number}")
    with pytest.raises(OverLimit, match=words):
        reserve(mandate, 1, "one more")
    assert MandateCharge.objects.count() == len(amounts)


def test_t191_the_windows_slide(till: Till, moving_clock: MovingClock) -> None:
    mandate = give(till, per_day=1000, per_month=2000)
    reserve(mandate, 1000, "one")
    moving_clock.forward(hours=23)
    with pytest.raises(OverLimit, match="24 hours"):
        reserve(mandate, 1, "two")
    moving_clock.forward(hours=2)
    reserve(mandate, 1000, "three")
    moving_clock.forward(days=2)
    with pytest.raises(OverLimit, match="30 days"):
        reserve(mandate, 1, "four")
    moving_clock.forward(days=28)
    reserve(mandate, 1000, "five")


def test_t191_a_refund_gives_no_room_back_and_a_failure_does(till: Till) -> None:
    """A refund can fail later; then the limit would have been exceeded."""
    mandate = give(till, total=1000)
    charge = reserve(mandate, 1000, "one")
    hear(till, charge, State.PAID)
    hear(till, charge, State.PAID, refunds=(RefundSeen("re_1", 1000, "done"),))
    assert Payment.objects.get(pk=charge.payment_id).refunded == 1000
    with pytest.raises(OverLimit):
        reserve(mandate, 1, "two")
    other = give(till, total=1000)
    hear(till, reserve(other, 1000, "one"), State.FAILED, failure="generic_decline")
    reserve(other, 1000, "two")


def test_t191_the_operators_limits_stand_above(till: Till) -> None:
    mandate = give(till)
    SpendLimit.objects.create(agent=till.known.row, currency="eur", per_payment=500, per_day=800)
    with pytest.raises(OverLimit, match=r"may ask for at most €5\.00 at a time"):
        reserve(mandate, 501, "one")
    reserve(mandate, 500, "two")
    with pytest.raises(OverLimit, match=r"at most €8\.00 from one person in 24 hours"):
        reserve(mandate, 301, "three")


@pytest.mark.parametrize("how", ["ended", "lowered", "switched off", "taken away"])
def test_t192_what_waits_for_its_time_is_not_charged_after_the_person_or_the_operator_said_no(
    till: Till, moving_clock: MovingClock, how: str
) -> None:
    mandate = give(till, notice="before")
    charge = reserve(mandate, 1000, "one")
    assert charge.status == "announced"
    if how == "ended":
        cancellations.ask(mandate.payment)
    elif how == "lowered":
        mandates.lower(mandate, {"per_charge": 999})
    elif how == "switched off":
        type(till.account).objects.update(enabled=False)
    else:
        till.known.row.payment_accounts.clear()
    if how == "ended":
        charge.payment.refresh_from_db()
        assert (charge.status, told()[-1]) == ("failed", "mandate.charge_failed")
    moving_clock.forward(days=1)
    assert not allowed(charge)
    with pytest.raises((Conflict, OverLimit)):
        reserve(mandate, 1000, "two")


def test_t192_a_charge_that_was_refused_while_the_sweep_looked_for_it_is_not_made(
    till: Till, moving_clock: MovingClock
) -> None:
    mandate = give(till, notice="before")
    charge = reserve(mandate, 1000, "one")
    taken_up = charges.of(charge.payment)  # what the sweep goes on with after it has asked the provider
    elicitations.refuse_charge(mandate, charge.pk)
    moving_clock.forward(days=1)
    assert not charges.still_allowed(taken_up, Checkout.objects.get(payment=charge.payment))
    second = reserve(mandate, 1000, "two")
    moving_clock.forward(days=1)
    assert allowed(second)
    with pytest.raises(Conflict, match="too late"):
        elicitations.refuse_charge(mandate, second.pk)


def test_t192_who_refuses_a_charge_that_is_being_taken_up_hears_that_it_is_too_late(
    postgres_till: Till, moving_clock: MovingClock
) -> None:
    mandate = give(postgres_till, notice="before")
    charge = reserve(mandate, 1000, "one")
    moving_clock.forward(hours=23, minutes=50)  # still announced by this clock: that of the sweep is ahead

    def refuse() -> None:
        try:
            elicitations.refuse_charge(mandate, charge.pk)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            assert allowed(charge)
            refusal = pool.submit(refuse)
            with pytest.raises(TimeoutError):
                refusal.result(1)
        with pytest.raises(Conflict, match="too late"):
            refusal.result(30)
    charge.refresh_from_db()
    assert charge.status == "processing"


def test_t192_a_method_that_is_saved_after_the_request_was_over_allows_nothing(till: Till) -> None:
    said = {"per_charge": 1000, "total": 5000, "until": (clock.now() + timedelta(days=9)).isoformat()}
    row = till.ask(mode="mandate", amount=0, mandate=said)
    checkout = till.open(row)
    Elicitation.objects.filter(pk=row.pk).update(status="cancelled", finished_at=clock.now())
    till.hear(checkout, State.SAVED, amount=0, customer="cus_1", method="pm_1")
    mandate = Mandate.objects.get(payment__elicitation=row)
    assert (mandate.status, mandate.ended_by, told()) == ("ended", "policy", [])
    with pytest.raises(Conflict):
        reserve(mandate, 1, "one")


def test_t193_fifty_at_once_take_no_cent_more(till: Till) -> None:
    mandate, start = give(till, per_charge=300, per_day=1000, total=5000), threading.Barrier(50)

    def try_it(number: int) -> int:
        start.wait(30)
        try:
            return int(reserve(mandate, 300 if number % 2 else 100, f"key {number}").payment.amount)
        except OverLimit:
            return 0
        finally:
            connections.close_all()

    with ThreadPoolExecutor(50) as pool:
        taken = sum(pool.map(try_it, range(50)))
    assert taken == mandates.used(mandate)["per_day"] == 1000


def test_t193_the_same_key_fifty_times_at_once_is_one_charge(till: Till) -> None:
    mandate, start = give(till), threading.Barrier(50)

    def try_it(_: int) -> str:
        start.wait(30)
        try:
            return str(reserve(mandate, 100, "the same").pk)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(50) as pool:
        assert len(set(pool.map(try_it, range(50)))) == 1
    assert MandateCharge.objects.count() == 1


def test_t196_what_the_bank_refused_for_good_is_told_once_and_never_paid_beside_its_link(till: Till) -> None:
    mandate = give(till)
    charge = reserve(mandate, 1000, "one")
    for _ in range(3):
        hear(till, charge, State.CANCELLED, failure="authentication_required")
    charge.payment.refresh_from_db()
    assert charge.status == "requires_action"
    assert Checkout.objects.get(payment=charge.payment).status == "over"
    assert Elicitation.objects.filter(metadata__charge=charge.pk).count() == 1
    assert charge.payment.elicitation is not None
    page = till.open(charge.payment.elicitation)
    till.hear(page, State.PAID, amount=1000)
    charge.payment.refresh_from_db()
    assert (charge.status, told()) == ("paid", ["mandate.created", "mandate.charged"])
    shown = Event.objects.get(type="mandate.charged").data["charge"]
    assert (shown["status"], shown["failure"]) == ("paid", None), "an agent that reads a failure charges again"


class NotNow:
    """A provider that has no such charge. ``asked``: when it was told to make one, in minutes since the first time."""

    def __init__(self) -> None:
        self.at: list[datetime] = []

    def find_charge(self, account: object, charge: object) -> None:
        return None

    def charge(self, account: object, charge: object, key: str) -> Snapshot:
        self.at.append(clock.now())
        raise Busy("The payment provider is not available. Try again.")

    @property
    def asked(self) -> list[int]:
        return [round((one - self.at[0]) / timedelta(minutes=1)) for one in self.at]


@pytest.mark.parametrize("notice", ["before", "after"])
def test_a_charge_that_does_not_reach_the_provider_is_attempted_for_an_hour(
    till: Till, moving_clock: MovingClock, monkeypatch: pytest.MonkeyPatch, notice: str
) -> None:
    """Its time begins when it is due, and an attempt does not begin it anew."""
    mandate, provider = give(till, notice=notice), NotNow()
    Checkout.objects.update(look_at=None)
    charge = reserve(mandate, 1000, "one")
    monkeypatch.setattr("elicit_flows.elicitations.mandates.providers.charging", lambda _: provider)
    moving_clock.forward(days=1 if notice == "before" else 0)
    for _ in range(180):
        moving_clock.forward(minutes=1)
        jobs.sweep_payments()
    assert provider.asked[:5] == [0, 1, 2, 3, 4]
    assert 45 < provider.asked[-1] <= 60
    charge.refresh_from_db()
    charge.payment.refresh_from_db()
    assert (charge.status, charge.failure, told()[-1]) == ("failed", "not_made", "mandate.charge_failed")


def test_t194_what_may_still_arrive_at_the_provider_is_not_given_up_when_the_mandate_is_lowered(
    till: Till, moving_clock: MovingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its request may be on its way: otherwise it would be paid, and its agent told that it failed."""
    mandate = give(till, notice="before")
    Checkout.objects.update(look_at=None)
    charge = reserve(mandate, 1000, "one")
    monkeypatch.setattr("elicit_flows.elicitations.mandates.providers.charging", lambda _: NotNow())
    moving_clock.forward(days=1, seconds=1)
    jobs.sweep_payments()
    mandates.lower(mandate, {"per_charge": 999})
    stood = []
    for _ in range(7):
        moving_clock.forward(minutes=1)
        jobs.sweep_payments()
        charge.payment.refresh_from_db()
        stood.append(charge.payment.status)
    assert stood[:4] == ["open"] * 4
    assert stood[-1] == "closed"


def test_giving_up_does_not_undo_what_somebody_else_has_recorded(till: Till) -> None:
    charge = reserve(give(till), 1000, "one")
    before = Checkout.objects.get(payment=charge.payment)
    hear(till, charge, State.PROCESSING)
    charges.give_up(before, "not_made")
    charge.payment.refresh_from_db()
    assert charge.status == "processing"


def test_t197_the_document_says_what_was_allowed_and_is_no_receipt(till: Till) -> None:
    mandate = give(till, per_charge=1000, per_day=1500, total=5050)
    document = receipts.mandate_document(mandate)
    keys = KeySet.import_key_set(vault.public_keys())
    read = jwt.decode(document, keys, algorithms=["ES256"])
    assert (read.header["typ"], read.claims["vct"]) == ("mandate+jwt", "elicit-flows.mandate.1")
    by_type = {one["type"]: one for one in read.claims["constraints"]}
    assert by_type["payment.amount_range"] == {"type": "payment.amount_range", "currency": "EUR", "max": 1000}
    assert by_type["payment.budget"] == {"type": "payment.budget", "currency": "EUR", "max": 50.5}, "in major units"
    assert by_type["elicit_flows.per_day"]["max"] == 1500
    assert "elicit_flows.per_month" not in by_type
    assert by_type["payment.execution_date"]["not_after"] == rfc3339(mandate.until)
    assert read.claims["exp"] == int(mandate.until.timestamp())
    assert read.claims["payment_instrument"]["description"] == "visa 4242"
    assert "alice" not in json.dumps(read.claims)
    mandates.lower(mandate, {"per_charge": 700})
    mandate.refresh_from_db()
    lower = jwt.decode(receipts.mandate_document(mandate), keys, algorithms=["ES256"])
    assert lower.claims["constraints"][0]["max"] == 700
    head, body, signature = document.split(".")
    with pytest.raises(JoseError):
        jwt.decode(f"{head}.{body[:-2]}{'AA' if body[-2:] != 'AA' else 'BB'}.{signature}", keys, algorithms=["ES256"])
    cancellations.ask(mandate.payment)
    mandate.refresh_from_db()
    assert jwt.decode(receipts.mandate_document(mandate), keys, algorithms=["ES256"]).claims["status"] == "ended"
