"""The journey of a payment at PayPal: the person agrees there, and the service charges, whoever brings the news."""

from __future__ import annotations

from collections.abc import Callable

import httpx2
import pytest

from tests.cast import BOB
from tests.payments.other_tills import PayPalTill, Prepare, make, paid
from tests.support.box import Box
from tests.support.http_user import HttpUser
from tests.support.op import Op
from tests.support.process import until

DONE = ["created", "started", "settling", "completed"]


@pytest.fixture
def till(paypals: Prepare, embedded_box: Box, corp: Op, drive: Op) -> PayPalTill:
    return make(PayPalTill, paypals, embedded_box, corp, drive)


def test_case_1_the_person_agrees_and_the_agent_is_told_once(till: PayPalTill, http_user: HttpUser) -> None:
    earlier = len(till.stripe.state()["deliveries"])  # of other files' tests, which lose some
    asked, ref = paid(till, http_user)
    assert (http_user.page_name, http_user.page_status) == ("done", "completed")
    assert asked["result"] | {"payment": ""} == {
        "payment": "", "livemode": False, "amount": 1999, "currency": "eur", "status": "paid", "receipt_url": None,
    }  # fmt: skip
    until(lambda: till.stripe.state()["deliveries"][earlier:], "webhooks were sent")
    until(
        lambda: all(one["state"] == "delivered" for one in till.stripe.state()["deliveries"][earlier:]), "all arrived"
    )
    assert till.events(asked) == DONE
    assert [one["status"] for one in till.parts(ref, "captures")] == ["COMPLETED"]


def test_case_4_the_webhook_alone_charges_and_completes(till: PayPalTill, http_user: HttpUser) -> None:
    asked = till.ask()
    till.at_page(http_user, asked)
    till.go_away(http_user, "pay")
    till.becomes(asked, "completed")
    assert till.events(asked) == DONE


def test_t111_when_every_hint_is_lost_the_sweep_charges_and_completes(till: PayPalTill, http_user: HttpUser) -> None:
    till.stripe.order("weather", drop=True)
    asked = till.ask()
    ref = till.at_page(http_user, asked)
    till.go_away(http_user, "pay")
    assert (till.look(asked)["status"], till.parts(ref, "captures")) == ("started", [])
    till.start()
    till.becomes(asked, "completed", timeout=20)
    assert till.events(asked) == DONE


@pytest.mark.slow
@pytest.mark.parametrize(("outcome", "end"), [("ok", "completed"), ("fail", "started")])
def test_case_9_and_10_a_bank_decides_days_later(till: PayPalTill, http_user: HttpUser, outcome: str, end: str) -> None:
    asked = till.ask()
    ref = till.at_page(http_user, asked)
    http_user.press("pay_bank")
    assert (http_user.page_name, http_user.page_status) == ("done", "settling")
    till.stripe.order("settle", order=ref, outcome=outcome)
    till.becomes(asked, end)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["back", "pay_declined"])
def test_case_22_who_goes_back_or_is_declined_may_go_to_the_same_page_again(
    till: PayPalTill, http_user: HttpUser, how: str
) -> None:
    asked = till.ask()
    first = till.at_page(http_user, asked)
    http_user.press(how)
    assert http_user.page_name == "consent"
    assert till.at_page(http_user, asked) == first
    http_user.press("pay")
    till.becomes(asked, "completed")
    assert len(till.parts(first, "captures")) == 1


def test_t200_another_amount_than_asked_is_no_success(till: PayPalTill, http_user: HttpUser) -> None:
    asked = till.ask()
    till.at_page(http_user, asked)
    till.stripe.order("bend", amount=1)
    http_user.press("pay")
    assert till.becomes(asked, "failed")["error"]["code"] == "payment_mismatch"
    assert "payment.mismatch" in till.events(asked)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "on"),
    [
        ("lose_reply", "POST /v2/checkout/orders"),
        ("503", "POST /v2/checkout/orders"),
        ("lose_reply", "POST /v2/checkout/orders/*/capture"),
        ("500_executed", "POST /v2/checkout/orders/*/capture"),
    ],
)
def test_f17_trouble_at_the_provider_leads_to_one_charge(
    till: PayPalTill, http_user: HttpUser, name: str, on: str
) -> None:
    """Cases 27 and 28."""
    till.stripe.order("fault", name=name, on=on)
    asked = till.ask()
    ref = till.at_page(http_user, asked)
    http_user.press("pay")
    till.becomes(asked, "completed")
    assert [one["status"] for one in till.parts(ref, "captures")] == ["COMPLETED"]


def test_case_24_what_the_agent_takes_back_is_never_charged(till: PayPalTill, http_user: HttpUser) -> None:
    """PayPal's page stays open. Who agrees there afterwards pays nothing."""
    asked = till.ask()
    ref = till.at_page(http_user, asked)
    assert till.agent.post(f"/v1/elicitations/{asked['id']}/cancel").json()["status"] == "cancelled"
    http_user.press("pay")
    until(lambda: till.stripe.state()["deliveries"][-1]["state"] == "delivered", "the webhook has arrived")
    till.start()
    assert (till.order(ref)["status"], till.parts(ref, "captures")) == ("APPROVED", [])
    assert till.look(asked)["status"] == "cancelled"


@pytest.mark.slow
def test_case_18_a_return_with_another_order_changes_nothing(
    till: PayPalTill, new_http_user: Callable[..., HttpUser]
) -> None:
    till.stripe.order("weather", drop=True)
    alice, bob = new_http_user(), new_http_user()
    mine, theirs = till.ask(), till.ask(BOB)
    ref = till.at_page(alice, mine)
    back = till.go_away(alice, "back")
    with bob.stopping_at(f"{till.stripe.url}/checkoutnow"):
        bob.connect(theirs["url"], "bob")
    bob.follow()
    other = till.go_away(bob, "pay").partition("token=")[2].partition("&")[0]
    alice.open(back.replace(ref, other))
    assert till.look(mine)["status"] == "started"
    assert till.look(theirs)["status"] == "started", "nobody looked at Bob's order"
    bob.open(back.replace(ref, other))
    assert mine["message"] not in bob.text
    till.start()
    till.becomes(theirs, "completed", timeout=20)
    assert till.look(mine)["status"] == "started"


@pytest.mark.slow
def test_case_29_refunds_by_the_agent_and_at_the_dashboard_and_a_dispute(till: PayPalTill, http_user: HttpUser) -> None:
    asked, ref = paid(till, http_user, item="report")
    refunds = f"/v1/payments/{asked['result']['payment']}/refunds"
    till.stripe.order("fault", name="lose_reply", on="POST /v2/payments/*")
    assert till.agent.post(refunds, json={"amount": 500}).status_code == 201
    until(lambda: till.payment(asked)["amount_refunded"] == 500, "PayPal has done it")
    assert [one["amount"]["value"] for one in till.parts(ref, "refunds")] == ["5.00"]
    till.stripe.order("dispute", order=ref, outcome="open")
    until(lambda: "payment.disputed" in till.events(asked), "the dispute is told of")
    till.stripe.order("dispute", order=ref, outcome="won")
    until(lambda: till.events(asked).count("payment.disputed") == 2, "its end is told of")
    till.stripe.order("refund", order=ref, amount=1499)
    until(lambda: till.payment(asked)["amount_refunded"] == 1999, "the rest went back")
    assert till.events(asked).count("payment.refunded") == 2


@pytest.mark.slow
def test_a_webhook_that_paypal_did_not_sign_is_refused(till: PayPalTill) -> None:
    event = {"id": "WH-1", "event_type": "CHECKOUT.ORDER.APPROVED"}
    answer = httpx2.post(f"{till.box.url}/inbound/paypal", json=event, trust_env=False, timeout=20)
    assert answer.status_code == 400
