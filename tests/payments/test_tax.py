"""Tax that Stripe computes, all the way: what the person reads, what is held, and what is charged of it."""

from __future__ import annotations

import pytest

from tests.payments.test_hints import go_away, settled
from tests.payments.till import Json, Till
from tests.support.http_user import HttpUser
from tests.support.process import until

ORDER: Json = {
    "lines": [
        {"name": "A notebook", "quantity": 2, "unit_amount": 450},
        {"name": "A pen", "unit_amount": 99},
    ],
    "tax": "provider",
    "number": "PO-17",
}


def ask(till: Till, most: int = 1300) -> Json:
    return till.ask(amount=most, order=ORDER)


def text(user: HttpUser) -> str:
    return user.text.replace("\N{NO-BREAK SPACE}", " ")


def charges(till: Till, asked: Json) -> list[tuple[bool, int]]:
    """Whether each was captured, and how much of it."""
    intents = {one["payment_intent"] for one in till.opened_at_stripe(asked)}
    found = [one for one in till.stripe.state()["charges"] if one["payment_intent"] in intents]
    return [(one["captured"], one["amount_captured"]) for one in found]


@pytest.mark.slow
def test_the_person_reads_the_maximum_first_and_the_tax_afterwards(till: Till, http_user: HttpUser) -> None:
    asked = ask(till)
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    before = text(http_user)
    for said in (
        "Pay at most €13.00?",
        "Without tax",
        "€9.99",
        "At most",
        "If it is more than €13.00, nothing is charged.",
    ):
        assert said in before, said
    till.pay(http_user, asked)
    assert (http_user.page_name, http_user.page_status) == ("done", "completed")
    result = till.becomes(asked, "completed")["result"]
    assert (result["amount"], result["tax"], result["order_number"]) == (1189, 190, "PO-17")
    for page in (f"{asked['url']}/done", f"{till.box.url}/account/payments"):
        http_user.open(page)
        after = text(http_user)
        assert [one for one in ("€1.90", "€11.89") if one not in after] == []
        assert "€13.00" not in after
    assert charges(till, asked) == [(True, 1189)]
    paid = till.payment(asked)
    assert (paid["amount"], paid["tax"], paid["max_amount"]) == (1189, 190, 1300)
    assert till.differences(asked) == []


def test_t243_a_total_above_the_maximum_is_never_charged_and_said(till: Till, http_user: HttpUser) -> None:
    till.stripe.order("tax", basis_points=3500)
    asked = ask(till)
    till.pay(http_user, asked)
    failed = till.becomes(asked, "failed")
    assert failed["error"]["code"] == "total_above_maximum"
    shown = text(http_user)
    for said in ("€13.49", "€13.00"):
        assert said in failed["error"]["message"]
        assert said in shown
    assert charges(till, asked) == [(False, 0)]
    [intent] = {one["payment_intent"] for one in till.opened_at_stripe(asked)}
    assert [one["status"] for one in till.stripe.state()["payment_intents"] if one["id"] == intent] == ["canceled"]
    assert till.payment(asked)["status"] == "closed"
    assert till.events(asked)[-1] == "failed"


def test_t243_a_webhook_alone_charges_it(till: Till, http_user: HttpUser) -> None:
    asked = ask(till)
    till.at_stripe(http_user, asked)
    go_away(till, http_user)
    till.becomes(asked, "completed")
    assert charges(till, asked) == [(True, 1189)]


def test_t243_when_every_hint_is_lost_the_sweep_charges_it(till: Till, http_user: HttpUser) -> None:
    till.stripe.order("weather", drop=True)
    asked = ask(till)
    till.at_stripe(http_user, asked)
    go_away(till, http_user)
    assert charges(till, asked) == [(False, 0)]
    till.start()
    till.becomes(asked, "completed", timeout=20)
    assert charges(till, asked) == [(True, 1189)]


@pytest.mark.parametrize("order", ["fifo", "lifo", "random"])
def test_t243_events_in_any_order_and_twice_charge_once(till: Till, http_user: HttpUser, order: str) -> None:
    till.stripe.order("weather", hold=True, duplicate=2)
    asked = ask(till)
    till.pay(http_user, asked)
    till.becomes(asked, "completed")
    till.stripe.order("release", order=order)
    settled(till)
    assert charges(till, asked) == [(True, 1189)]
    assert till.events(asked).count("completed") == 1


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["lose_reply", "lose_request", "500", "503"])
def test_t243_a_capture_whose_answer_is_lost_is_made_once(till: Till, http_user: HttpUser, fault: str) -> None:
    till.stripe.order("fault", name=fault, on="POST /v1/payment_intents/*/capture", times=2)
    asked = ask(till)
    till.pay(http_user, asked)

    def charged() -> bool:
        till.start()
        return bool(till.look(asked)["status"] == "completed")

    until(charged, "it is charged", timeout=20)
    assert charges(till, asked) == [(True, 1189)]


def test_t106_an_agent_that_takes_it_back_while_it_is_held_lets_it_go(till: Till, http_user: HttpUser) -> None:
    till.stripe.order("weather", drop=True)
    asked = ask(till)
    till.at_stripe(http_user, asked)
    go_away(till, http_user)
    assert till.agent.post(f"/v1/elicitations/{asked['id']}/cancel").status_code == 200
    until(lambda: till.payment(asked)["status"] == "closed", "it is let go", timeout=20)
    assert charges(till, asked) == [(False, 0)]
    [session] = till.opened_at_stripe(asked)
    intents = {one["id"]: one["status"] for one in till.stripe.state()["payment_intents"]}
    assert intents[session["payment_intent"]] == "canceled"
