"""The journey of a payment at the second provider: hints that nobody signs, a page that closes in its own time."""

from __future__ import annotations

import httpx2
import pytest

from tests.payments.other_tills import MollieTill, Prepare, make, paid
from tests.payments.till import LONG_AGO, Json
from tests.support.box import Box
from tests.support.http_user import HttpUser
from tests.support.op import Op
from tests.support.process import until

pytestmark = pytest.mark.slow

DONE = ["created", "started", "settling", "completed"]


@pytest.fixture
def till(mollies: Prepare, embedded_box: Box, corp: Op, drive: Op) -> MollieTill:
    return make(MollieTill, mollies, embedded_box, corp, drive)


@pytest.fixture
def each_till(mollies: Prepare, box: Box, corp: Op, drive: Op) -> MollieTill:
    """On either shape in turn."""
    return make(MollieTill, mollies, box, corp, drive)


def test_case_1_the_person_pays_and_the_agent_is_told_once(each_till: MollieTill, http_user: HttpUser) -> None:
    till = each_till
    asked, ref = paid(till, http_user)
    assert (http_user.page_name, http_user.page_status) == ("done", "completed")
    assert asked["result"] | {"payment": ""} == {
        "payment": "", "livemode": False, "amount": 1999, "currency": "eur", "status": "paid", "receipt_url": None,
    }  # fmt: skip
    until(lambda: till.stripe.state()["deliveries"][-1]["state"] == "delivered", "the webhook has arrived")
    assert till.events(asked) == DONE
    assert till.at_mollie(ref)["webhookUrl"] == f"{till.box.url}/inbound/mollie"


@pytest.mark.slow
def test_case_14_an_amount_without_minor_units_is_paid_exactly(till: MollieTill, http_user: HttpUser) -> None:
    asked, ref = paid(till, http_user, amount=500, currency="jpy")
    assert asked["result"]["amount"] == 500
    assert till.at_mollie(ref)["amount"] == {"currency": "JPY", "value": "500"}


def test_case_4_the_webhook_alone_completes(each_till: MollieTill, http_user: HttpUser) -> None:
    till = each_till
    asked = till.ask()
    till.at_page(http_user, asked)
    till.go_away(http_user, "pay")
    till.becomes(asked, "completed")
    assert till.events(asked) == DONE


def test_case_2_the_return_alone_completes(till: MollieTill, http_user: HttpUser) -> None:
    till.stripe.order("weather", drop=True)
    asked, _ = paid(till, http_user)
    assert till.events(asked) == DONE


def test_t111_when_every_hint_is_lost_the_sweep_completes(each_till: MollieTill, http_user: HttpUser) -> None:
    till = each_till
    till.stripe.order("weather", drop=True)
    asked = till.ask()
    till.at_page(http_user, asked)
    till.go_away(http_user, "pay")
    assert till.look(asked)["status"] == "started"
    till.start()
    till.becomes(asked, "completed", timeout=20)
    assert till.events(asked) == DONE


def test_case_9_a_bank_transfer_is_on_its_way_until_the_bank_says_so(till: MollieTill, http_user: HttpUser) -> None:
    asked = till.ask()
    ref = till.at_page(http_user, asked)
    http_user.press("pay_bank")
    assert (http_user.page_name, http_user.page_status) == ("done", "settling")
    till.stripe.order("settle", payment=ref, outcome="ok")
    till.becomes(asked, "completed")
    assert till.events(asked) == DONE


def test_case_10_a_bank_transfer_that_fails_leaves_the_link_open(till: MollieTill, http_user: HttpUser) -> None:
    asked = till.ask()
    ref = till.at_page(http_user, asked)
    http_user.press("pay_bank")
    till.becomes(asked, "settling")
    till.stripe.order("settle", payment=ref, outcome="fail")
    till.becomes(asked, "started")
    assert till.at_page(http_user, asked) != ref
    http_user.press("pay")
    till.becomes(asked, "completed")


def requests_about(till: MollieTill, ref: str) -> list[Json]:
    return [one for one in till.stripe.state()["requests"] if one["path"].endswith(ref)]


def test_case_26_a_bank_transfer_that_was_begun_in_time_may_arrive_days_later(
    till: MollieTill, http_user: HttpUser
) -> None:
    """Mollie leaves it open, and would let us cancel it. The payer has the bank's details, and sends the money."""
    asked = till.ask()
    ref = till.at_page(http_user, asked)
    http_user.press("pay_bank")
    till.becomes(asked, "settling")
    till.sql("UPDATE elicit_flows_elicitation SET expires_at = %s WHERE id = %s", LONG_AGO, asked["id"])
    looked = len(requests_about(till, ref))
    till.start()
    until(lambda: len(requests_about(till, ref)) > looked, "the sweep has looked", timeout=20)
    assert {one["method"] for one in requests_about(till, ref)} == {"GET"}
    assert till.look(asked)["status"] == "settling"
    till.stripe.order("settle", payment=ref, outcome="ok")
    till.becomes(asked, "completed")


@pytest.mark.parametrize("how", ["back", "fail"])
def test_case_22_who_goes_back_or_fails_may_go_to_another_page(till: MollieTill, http_user: HttpUser, how: str) -> None:
    asked = till.ask()
    first = till.at_page(http_user, asked)
    http_user.press(how)
    assert http_user.page_name == "consent"
    assert till.look(asked)["status"] == "started"
    assert till.at_page(http_user, asked) != first
    http_user.press("pay")
    till.becomes(asked, "completed")


def test_a_declined_card_leaves_the_page_open_for_another(till: MollieTill, http_user: HttpUser) -> None:
    asked = till.ask()
    till.at_page(http_user, asked)
    http_user.press("pay_declined")
    http_user.press("pay")
    till.becomes(asked, "completed")


def test_t104_what_was_not_asked_for_is_no_success(till: MollieTill, http_user: HttpUser) -> None:
    """Case 12."""
    asked = till.ask()
    till.at_page(http_user, asked)
    till.stripe.order("bend", amount=1)
    http_user.press("pay")
    assert till.becomes(asked, "failed")["error"]["code"] == "payment_mismatch"
    assert "payment.mismatch" in till.events(asked)
    assert "completed" not in till.events(asked)


@pytest.mark.parametrize("name", ["lose_reply", "503", "500_executed"])
def test_f17_trouble_at_the_provider_leads_to_one_page(till: MollieTill, http_user: HttpUser, name: str) -> None:
    """Cases 27 and 28."""
    till.stripe.order("fault", name=name, on="POST /payments")
    asked = till.ask()
    http_user.connect(asked["url"], "alice")
    if http_user.page_name == "refused":
        till.at_page(http_user, asked)
    http_user.press("pay")
    till.becomes(asked, "completed")
    ours = {row[0] for row in till.sql(
        "SELECT c.id FROM elicit_flows_checkout c JOIN elicit_flows_payment p ON p.id = c.payment_id "
        "WHERE p.elicitation_id = %s", asked["id"],
    )}  # fmt: skip
    made = [one for one in till.stripe.state()["payments"] if one["metadata"]["our_id"] in ours]
    assert [one["status"] for one in made if one["status"] == "paid"] == ["paid"]


def test_case_24_what_the_agent_takes_back_can_be_paid_no_more(till: MollieTill, http_user: HttpUser) -> None:
    asked = till.ask()
    ref = till.at_page(http_user, asked)
    assert till.agent.post(f"/v1/elicitations/{asked['id']}/cancel").json()["status"] == "cancelled"
    until(lambda: till.at_mollie(ref)["status"] == "canceled", "the provider's page is closed")


def test_case_25_what_mollie_would_not_close_is_given_back_when_it_is_paid(
    till: MollieTill, http_user: HttpUser
) -> None:
    till.stripe.order("cancelable", yes=False)
    asked = till.ask()
    ref = till.at_page(http_user, asked)
    assert till.agent.post(f"/v1/elicitations/{asked['id']}/cancel").json()["status"] == "cancelled"
    until(lambda: till.fetches(ref) > 0, "Mollie is asked to close it")
    assert till.at_mollie(ref)["status"] == "open"
    http_user.press("pay")
    until(lambda: till.at_mollie(ref)["_embedded"]["refunds"], "the money goes back")
    assert till.at_mollie(ref)["amountRemaining"]["value"] == "0.00"
    assert till.look(asked)["status"] == "cancelled"


@pytest.mark.parametrize("closable", [True, False])
def test_t106_time_that_runs_out_waits_for_mollies_page_to_close(
    till: MollieTill, http_user: HttpUser, closable: bool
) -> None:
    """Case 23: a page that cannot be closed expires by itself. Until then the elicitation is not over."""
    till.stripe.order("cancelable", yes=closable)
    asked = till.ask(more={"expires_in": 60})
    ref = till.at_page(http_user, asked)
    till.sql("UPDATE elicit_flows_elicitation SET expires_at = %s WHERE id = %s", "2020-01-01 00:00:00", asked["id"])
    till.start()
    if not closable:
        until(lambda: till.fetches(ref) > 0, "Mollie is asked", timeout=15)
        assert till.look(asked)["status"] == "started"
        till.stripe.order("clock", seconds=901)
        till.start()
    till.becomes(asked, "expired", timeout=20)
    assert till.at_mollie(ref)["status"] == ("canceled" if closable else "expired")


def test_who_paid_before_the_page_could_be_closed_has_paid(till: MollieTill, http_user: HttpUser) -> None:
    till.stripe.order("weather", drop=True)
    asked = till.ask(more={"expires_in": 60})
    till.at_page(http_user, asked)
    till.go_away(http_user, "pay")
    till.sql("UPDATE elicit_flows_elicitation SET expires_at = %s WHERE id = %s", "2020-01-01 00:00:00", asked["id"])
    till.start()
    till.becomes(asked, "completed", timeout=20)


# Money that goes back.


def refund(till: MollieTill, asked: Json, **body: object) -> httpx2.Response:
    return till.agent.post(f"/v1/payments/{asked['result']['payment']}/refunds", json=body)


def made_refunds(till: MollieTill, ref: str) -> list[Json]:
    return list(till.at_mollie(ref)["_embedded"]["refunds"])


@pytest.mark.slow
def test_case_29_the_agent_gives_back_a_part_and_hears_when_it_is_there(
    each_till: MollieTill, http_user: HttpUser
) -> None:
    till = each_till
    asked, ref = paid(till, http_user)
    assert refund(till, asked, amount=500).status_code == 201
    [made] = until(lambda: made_refunds(till, ref), "Mollie is told")
    assert (made["amount"]["value"], made["status"]) == ("5.00", "pending")
    assert till.payment(asked)["amount_refunded"] == 0
    assert "payment.refunded" not in till.events(asked)
    till.stripe.order("refund_outcome", refund=made["id"], outcome="refunded")
    until(lambda: till.payment(asked)["amount_refunded"] == 500, "it is there")
    assert till.events(asked).count("payment.refunded") == 1


@pytest.mark.slow
def test_case_29_a_refund_whose_answer_is_lost_is_made_once(till: MollieTill, http_user: HttpUser) -> None:
    asked, ref = paid(till, http_user)
    till.stripe.order("fault", name="lose_reply", on="POST /payments/*/refunds", times=3)
    refund(till, asked)
    [made] = until(lambda: made_refunds(till, ref), "Mollie is told")
    till.stripe.order("refund_outcome", refund=made["id"], outcome="refunded")
    until(lambda: till.payment(asked)["status"] == "refunded", "all of it went back", timeout=20)
    assert len(made_refunds(till, ref)) == 1


@pytest.mark.slow
def test_case_29_a_refund_at_the_dashboard_is_seen_and_told(till: MollieTill, http_user: HttpUser) -> None:
    asked, ref = paid(till, http_user)
    refunds = [till.stripe.order("refund", payment=ref, amount=amount)["id"] for amount in (700, 1299)]
    for one in refunds:
        till.stripe.order("refund_outcome", refund=one, outcome="refunded")
    until(lambda: till.payment(asked)["status"] == "refunded", "all of it went back", timeout=20)
    assert till.payment(asked)["amount_refunded"] == 1999
    assert till.events(asked).count("payment.refunded") == 2


def test_case_29_a_chargeback_ends_what_was_paid_for(till: MollieTill, http_user: HttpUser) -> None:
    asked, ref = paid(till, http_user, item="report")
    till.stripe.order("chargeback", payment=ref)
    until(lambda: till.payment(asked)["dispute"] == "lost", "the chargeback is seen", timeout=20)
    [entitlement] = till.agent.get("/v1/entitlements", params={"sub": "alice", "item": "report"}).json()["data"]
    assert entitlement["status"] == "revoked"
    assert till.events(asked).count("payment.disputed") == 1


# Hints from anybody.


def waiting(till: MollieTill, ref: str) -> int:
    """Hints about these payments of Mollie's that are kept; ``ref`` as LIKE takes it."""
    return int(till.sql("SELECT COUNT(*) FROM elicit_flows_inbound WHERE ref LIKE %s", ref)[0][0])


def test_t99_a_flood_of_unsigned_webhooks_for_what_is_not_ours_keeps_nothing_and_asks_nobody(
    till: MollieTill,
) -> None:
    assert set(till.hint(*(f"id=tr_of{number}nobody" for number in range(100)))) == {200}
    assert waiting(till, "tr_of%nobody") == 0
    assert [one for one in till.stripe.state()["requests"] if one["path"].endswith("nobody")] == []


@pytest.mark.parametrize("body", ["", "id=", "id=tr_1&id=tr_2", "{}", "id=tr_1&x=" + "a" * 2000], ids=range(5))
def test_a_webhook_that_names_nothing_is_refused(till: MollieTill, body: str) -> None:
    assert till.hint(body) == [400]


def test_t99_a_webhook_that_claims_to_be_signed_is_refused_without_a_secret(till: MollieTill) -> None:
    headers = {"x-mollie-signature": "sha256=00"}
    answer = httpx2.post(f"{till.box.url}/inbound/mollie", content="id=tr_1", headers=headers, trust_env=False)
    assert answer.status_code == 400


def test_t101_a_false_hint_at_a_payment_of_ours_changes_nothing_and_is_not_followed_each_time(
    till: MollieTill, http_user: HttpUser
) -> None:
    asked = till.ask()
    ref = till.at_page(http_user, asked)
    kept = waiting(till, ref)
    assert set(till.hint(*[f"id={ref}"] * 100)) == {200}
    until(lambda: till.fetches(ref) > 0, "the hint is followed")
    assert waiting(till, ref) == kept + 1
    assert till.look(asked)["status"] == "started"
    assert till.fetches(ref) < 20
    http_user.press("pay")
    till.becomes(asked, "completed", timeout=20)


@pytest.mark.parametrize("wanted", [{"mode": "save"}, {"mode": "subscribe", "interval": "month"}], ids=str)
def test_what_the_provider_does_not_offer_is_refused_when_asked(till: MollieTill, wanted: dict[str, object]) -> None:
    amount = {"amount": None} if wanted["mode"] == "save" else {}
    answer = till.try_to_ask(**wanted, **amount)
    assert answer.status_code == 422
    [error] = answer.json()["errors"]
    assert error["loc"] == ["params", "mode"]
    assert "pay" in error["message"]
