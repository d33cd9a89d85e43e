"""At some providers nothing is charged when a person agrees: the service charges, while it is still wanted."""

from __future__ import annotations

import pytest
from django.test import Client

from elicit_flows import elicitations
from elicit_flows.elicitations import payment
from elicit_flows.kinds.payment.providers.base import Unclear
from elicit_flows.kinds.payment.values import State
from elicit_flows.models import Checkout
from tests.settlement.conftest import Charges, Till
from tests.support import jobs
from tests.support.moving import MovingClock


def agreed(till: Till, charges: Charges, state: State = State.APPROVED) -> Checkout:
    checkout = till.open(till.ask())
    charges.said[checkout.ref or ""] = till.says(checkout, state)
    return checkout


def test_what_a_person_agreed_to_is_charged_once_whoever_brings_the_news(till: Till, charges: Charges) -> None:
    checkout = agreed(till, charges)
    for _ in range(3):
        payment.settle(Checkout.objects.select_related("payment__elicitation", "account").get(pk=checkout.pk))
    assert charges.charged == [checkout.ref]
    row = checkout.payment.elicitation
    assert row
    assert till.stands(row) == ("completed", "paid")
    assert till.told(row).count("elicitation.completed") == 1


def test_a_charge_whose_answer_is_lost_is_found_by_the_next_look(till: Till, charges: Charges) -> None:
    checkout = agreed(till, charges)
    charges.loses = True
    with pytest.raises(Unclear):
        payment.settle(checkout)
    payment.settle(checkout)
    assert charges.charged == [checkout.ref]
    assert checkout.payment.elicitation
    assert till.stands(checkout.payment.elicitation) == ("completed", "paid")


def test_t106_what_the_agent_took_back_is_not_charged(till: Till, charges: Charges) -> None:
    checkout = agreed(till, charges)
    row = checkout.payment.elicitation
    assert row
    elicitations.cancel(row)
    assert payment.settle(checkout)
    jobs.sweep_payments()
    assert charges.charged == []
    assert till.stands(row) == ("cancelled", "closed")


def test_t106_who_agrees_after_the_page_was_closed_is_not_charged(
    till: Till, charges: Charges, moving_clock: MovingClock
) -> None:
    checkout = agreed(till, charges, State.OPEN)
    row = checkout.payment.elicitation
    assert row
    moving_clock.forward(hours=2)
    jobs.sweep_payments()
    assert charges.asked == [("close", checkout.ref)]
    elicitations.sweep()
    assert till.stands(row) == ("expired", "closed")
    charges.said[checkout.ref or ""] = till.says(checkout, State.APPROVED)
    payment.settle(Checkout.objects.select_related("payment__elicitation", "account").get(pk=checkout.pk))
    assert charges.charged == []


def test_who_agreed_before_the_time_was_over_is_charged(
    till: Till, charges: Charges, moving_clock: MovingClock
) -> None:
    checkout = agreed(till, charges)
    moving_clock.forward(hours=2)
    jobs.sweep_payments()
    assert charges.charged == [checkout.ref]
    assert checkout.payment.elicitation
    assert till.stands(checkout.payment.elicitation) == ("completed", "paid")


def test_a_page_whose_own_time_is_over_makes_room_for_another(
    till: Till, charges: Charges, moving_clock: MovingClock
) -> None:
    """The provider may forget it soon after, and the elicitation may last for days."""
    checkout = agreed(till, charges, State.OPEN)
    row = checkout.payment.elicitation
    assert row
    type(row).objects.filter(pk=row.pk).update(expires_at=row.expires_at.replace(year=row.expires_at.year + 1))
    moving_clock.forward(hours=2)
    jobs.sweep_payments()
    checkout.refresh_from_db()
    assert checkout.status == Checkout.Status.OVER
    assert till.stands(row) == ("started", "open")


def test_t201_a_return_with_another_persons_order_looks_at_ours_alone(
    till: Till, charges: Charges, client: Client
) -> None:
    """The address that a browser brings names the order that was paid. We go by the one that we stored. Each of two
    comes back, because either may be the first row of the account.
    """
    pair = [agreed(till, charges, State.OPEN), agreed(till, charges, State.OPEN)]
    for mine, paid in (pair, pair[::-1]):
        charges.said = {
            mine.ref or "": till.says(mine, State.OPEN), paid.ref or "": till.says(paid, State.PAID)
        }  # fmt: skip
        charges.asked.clear()
        answer = client.get(f"/payments/main/return?checkout={mine.pk}&token={paid.ref}&PayerID=SOMEBODY")
        assert (answer.status_code, charges.asked) == (200, [("fetch", mine.ref)])
        assert b"Thank you" in answer.content, "whoever is not the person learns nothing"
        for one in pair:
            assert one.payment.elicitation
            assert till.stands(one.payment.elicitation) == ("started", "open")


@pytest.mark.parametrize("differs", [{"our_id": "co_of_another"}, {"amount": 501}, {"currency": "usd"}])
def test_t200_t201_an_agreement_to_something_else_is_not_charged(
    till: Till, charges: Charges, differs: dict[str, object]
) -> None:
    checkout = agreed(till, charges)
    charges.said[checkout.ref or ""] = till.says(checkout, State.APPROVED, **differs)
    assert payment.settle(checkout)
    assert charges.charged == []
    assert checkout.payment.elicitation
    assert till.stands(checkout.payment.elicitation) == ("started", "open")
