"""A payment as one of several steps."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.cast import ALICE
from tests.payments.till import Json, Till
from tests.support.http_user import HttpUser
from tests.support.process import until

pytestmark = pytest.mark.slow

PAY = {"kind": "payment", "params": {"amount": 1999, "currency": "eur", "description": "A report"}}
MOVE = {"kind": "confirm", "params": {"detail": "Move 12 files."}}


def steps(till: Till, *each: Json) -> Json:
    body = {"kind": "steps", "subject": ALICE.subject(till.corp.issuer), "message": "Pay.", "params": {"steps": each}}
    answer = till.agent.post("/v1/elicitations", json=body)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def payment_of(till: Till, asked: Json) -> Json:
    statement = """SELECT p.id FROM elicit_flows_payment p JOIN elicit_flows_elicitation e ON e.id = p.elicitation_id
        WHERE e.parent_id = %s"""
    [[found]] = till.sql(statement, asked["id"])
    return dict(till.agent.get(f"/v1/payments/{found}").json())


def test_what_is_paid_leads_to_the_next_step_and_is_told_under_the_whole(each_till: Till, http_user: HttpUser) -> None:
    till = each_till
    asked = steps(till, PAY, MOVE)
    till.pay(http_user, asked)
    until(lambda: (till.look(asked)["result"] or {}).get("steps"), "it is paid", timeout=15)
    assert till.look(asked)["status"] == "started"
    http_user.open(asked["url"])
    assert "Move 12 files." in http_user.text
    http_user.press("submit")
    told = till.look(asked)
    assert (told["status"], [one["kind"] for one in told["result"]["steps"]]) == ("completed", ["payment", "confirm"])
    paid = told["result"]["steps"][0]["result"]
    assert (paid["amount"], paid["currency"], paid["status"]) == (1999, "eur", "paid")
    assert payment_of(till, asked)["elicitation"] == asked["id"]
    till.agent.post(f"/v1/payments/{paid['payment']}/refunds", json={})
    until(lambda: "payment.refunded" in till.events(asked), "the refund is told", timeout=15)
    assert till.events(asked).count("completed") == 1


def test_who_waits_is_not_disturbed_by_what_becomes_of_a_payment_meanwhile(till: Till, http_user: HttpUser) -> None:
    asked = steps(till, PAY, MOVE)
    till.pay(http_user, asked)
    until(lambda: (till.look(asked)["result"] or {}).get("steps"), "it is paid", timeout=15)
    now = till.look(asked)
    with ThreadPoolExecutor(1) as pool:
        query = {"wait": 6, "after_seq": now["seq"]}
        waiting = pool.submit(till.agent.get, f"/v1/elicitations/{asked['id']}", params=query)
        till.agent.post(f"/v1/payments/{payment_of(till, asked)['id']}/refunds", json={})
        until(lambda: "payment.refunded" in till.events(asked), "the refund is told", timeout=15)
        told = waiting.result()
    assert (told.status_code, told.json()) == (200, now), told.text


def test_a_no_before_the_payment_leaves_nothing_to_pay(till: Till, http_user: HttpUser) -> None:
    asked = steps(till, MOVE, PAY)
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice", "decline")
    assert till.look(asked)["status"] == "declined"
    until(lambda: payment_of(till, asked)["status"] == "closed", "nothing is held for it", timeout=15)


def test_time_does_not_end_it_while_its_page_can_be_paid(till: Till, http_user: HttpUser) -> None:
    asked = steps(till, PAY, MOVE)
    till.at_stripe(http_user, asked)
    past = "2020-01-01 00:00:00"
    till.sql("UPDATE elicit_flows_elicitation SET expires_at = %s WHERE %s IN (id, parent_id)", past, asked["id"])
    assert till.look(asked)["status"] == "started"
    till.start()
    until(lambda: till.look(asked)["status"] == "expired", "the provider's page is closed first", timeout=15)
    assert till.events(asked)[-1] == "expired"
