"""An order all the way: what the person reads, pays and keeps, and what the agent is told."""

from __future__ import annotations

import base64
import json

import pytest

from tests.payments.till import Json, Till
from tests.support.http_user import HttpUser

ORDER: Json = {
    "lines": [
        {"name": "A notebook", "quantity": 2, "unit_amount": 450},
        {"name": "A <b>pen</b>", "quantity": 1, "unit_amount": 99},
    ],
    "tax": 190,
    "number": "PO-17",
    "purpose": "For the office",
}
ASKED: Json = {"amount": 1189, "order": ORDER}
READ = ["A notebook", "2 × €4.50", "€9.00", "A <b>pen</b>", "€0.99", "€1.90", "PO-17", "For the office", "€11.89"]


def assert_read(user: HttpUser) -> None:
    text = user.text.replace("\N{NO-BREAK SPACE}", " ")
    assert [one for one in READ if one not in text] == []


def test_t246_an_order_is_read_before_the_yes_and_after_it_and_told_with_its_number(
    till: Till, http_user: HttpUser
) -> None:
    asked = till.ask(**ASKED)
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    assert http_user.page_name == "consent"
    assert_read(http_user)
    till.pay(http_user, asked)
    result = till.becomes(asked, "completed")["result"]
    assert (result["amount"], result["order_number"]) == (1189, "PO-17")
    for page in (f"{asked['url']}/done", f"{till.box.url}/account/payments"):
        http_user.open(page)
        assert_read(http_user)
    payment = till.payment(asked)
    assert payment["order"] == ORDER
    receipt = till.agent.get(f"/v1/payments/{payment['id']}/receipt").json()["receipt"]
    claims = receipt.split(".")[1]
    assert json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["order"] == ORDER


def test_t242_stripe_has_the_same_lines_and_takes_their_sum(till: Till, http_user: HttpUser) -> None:
    asked = till.ask(**ASKED)
    till.at_stripe(http_user, asked)
    for line in ("A notebook", "A <b>pen</b>", "Tax"):
        assert line in http_user.text
    http_user.press("pay")
    till.becomes(asked, "completed")
    (session,) = till.paid_at_stripe(asked)
    assert (session["amount_total"], session["metadata"]["order_number"]) == (1189, "PO-17")


def test_t242_an_order_that_does_not_add_up_is_refused_when_asked(till: Till) -> None:
    answer = till.try_to_ask(amount=1188, order=ORDER)
    assert answer.status_code == 422
    (error,) = answer.json()["errors"]
    assert error["loc"] == ["params", "amount"]
    assert [one for one in ("999", "190", "1189") if one not in error["message"]] == []
    assert till.agent.get("/v1/events").json()["data"] == []


def test_t245_what_was_asked_cannot_become_another_order(till: Till, http_user: HttpUser) -> None:
    swapped = {**ORDER, "lines": [{"name": "A voucher", "quantity": 1, "unit_amount": 999}]}
    asked = till.ask(key="order-17", **ASKED)
    assert till.try_to_ask(key="order-17", amount=1189, order=swapped).status_code == 422
    assert till.agent.patch(f"/v1/elicitations/{asked['id']}", json={"params": {"order": swapped}}).status_code == 409
    till.pay(http_user, asked)
    till.becomes(asked, "completed")
    assert till.payment(asked)["order"] == ORDER


@pytest.mark.parametrize(
    "change",
    [
        {"number": "PO-18"},
        {"purpose": "For me"},
        {"tax": 0, "lines": [*ORDER["lines"], {"name": "A stamp", "quantity": 1, "unit_amount": 190}]},
    ],
    ids=["number", "purpose", "lines"],
)
def test_t245_a_yes_to_one_order_answers_no_other(till: Till, http_user: HttpUser, change: Json) -> None:
    till.pay(http_user, till.ask(item="desk", **ASKED))
    again = till.ask(item="desk", **ASKED)
    assert (again["status"], again["reused"], again["result"]["order_number"]) == ("completed", True, "PO-17")
    other = till.ask(item="desk", amount=1189, order={**ORDER, **change})
    assert (other["status"], other["reused"]) == ("pending", False)


def test_an_invoice_is_found_by_its_payer_and_its_agent(till: Till, http_user: HttpUser) -> None:
    asked = till.ask(amount=1189, order={**ORDER, "invoice": True})
    till.pay(http_user, asked)
    till.becomes(asked, "completed")
    paid = till.payment(asked)
    assert paid["invoice_url"].startswith(f"{till.stripe.url}/c/receipt/in_")
    assert paid["invoice_pdf"] == f"{paid['invoice_url']}?pdf"
    for page in (f"{asked['url']}/done", f"{till.box.url}/account/payments"):
        http_user.open(page)
        for said in ("Open the invoice", "Invoice as PDF"):
            assert said in http_user.text
    assert till.differences(asked) == []
