"""The way to the provider's page and back, as the user goes it (payments.md, section 5, by the numbers there)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.payments.till import Json, Till
from tests.support.http_user import HttpUser
from tests.support.process import until

DONE = ["created", "started", "settling", "completed"]


def test_case_1_the_person_pays_and_the_agent_is_told_once(each_till: Till, http_user: HttpUser) -> None:
    till = each_till
    asked = till.ask()
    till.pay(http_user, asked)
    till.becomes(asked, "completed")
    http_user.open(f"{asked['url']}/done")
    assert (http_user.page_name, http_user.page_status) == ("done", "completed")
    found = till.look(asked)
    assert found["action"] == "accept"
    assert {name: found["result"][name] for name in ("amount", "currency", "status")} == {
        "amount": 1999, "currency": "eur", "status": "paid",
    }  # fmt: skip
    assert found["result"]["receipt_url"].startswith(till.stripe.url)
    assert till.stands(asked) == ("completed", "paid", DONE)
    assert len(till.paid_at_stripe(asked)) == 1


@pytest.mark.parametrize(
    ("amount", "currency", "shown"), [(500, "jpy", "¥500"), (1999, "eur", "€19.99"), (435, "eur", "€4.35")]
)
def test_case_14_the_page_shows_the_exact_amount(
    till: Till, http_user: HttpUser, amount: int, currency: str, shown: str
) -> None:
    asked = till.ask(amount=amount, currency=currency)
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    assert http_user.page_name == "consent"
    assert shown in http_user.text
    till.pay(http_user, asked)
    assert till.becomes(asked, "completed")["result"]["amount"] == amount
    assert till.paid_at_stripe(asked)[0]["amount_total"] == amount
    assert till.stands(asked) == ("completed", "paid", DONE)


@pytest.mark.parametrize(
    "wrong",
    [{"amount": 1.5}, {"amount": 0}, {"amount": True}, {"amount": "500"}, {"currency": "kwd"}, {"currency": "EUR"},
     {"currency": "xyz"}, {"account": "of-nobody"}, {"colour": "red"}],
    ids=str,
)  # fmt: skip
def test_case_14_what_is_no_amount_of_money_is_refused_when_asked(till: Till, wrong: Json) -> None:
    answer = till.try_to_ask(**wrong)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["loc"] == ["params", next(iter(wrong))]
    assert till.agent.get("/v1/events").json()["data"] == []
    assert till.agent.get("/v1/elicitations").json()["data"] == []


def test_case_19_somebody_else_is_refused_before_the_provider_is_asked(
    till: Till, new_http_user: Callable[..., HttpUser]
) -> None:
    asked = till.ask()
    bob, alice = new_http_user(), new_http_user()
    before = len(till.creates())
    bob.connect(asked["url"], "bob")
    assert bob.page_name == "mismatch"
    assert len(till.creates()) == before
    assert till.stands(asked) == ("pending", "open", ["created"])
    till.pay(alice, asked)
    till.becomes(asked, "completed")
    assert till.stands(asked) == ("completed", "paid", DONE)


def test_case_20_a_return_in_another_persons_browser_shows_nothing_and_is_still_a_hint(
    till: Till, new_http_user: Callable[..., HttpUser]
) -> None:
    asked = till.ask()
    alice, bob = new_http_user(), new_http_user()
    till.at_stripe(alice, asked)
    with alice.stopping_at(f"{till.box.url}/payments/"):
        alice.press("pay")
        back = alice.location
    bob.open(back)
    assert asked["message"] not in bob.text
    assert "19.99" not in bob.text
    till.becomes(asked, "completed")
    assert till.stands(asked) == ("completed", "paid", DONE)


def test_case_21_two_presses_lead_to_one_page(till: Till, new_http_user: Callable[..., HttpUser]) -> None:
    asked = till.ask()
    one, other = new_http_user(), new_http_user()
    assert till.at_stripe(one, asked) == till.at_stripe(other, asked)
    one.press("pay")
    other.press("pay")
    till.becomes(asked, "completed")
    assert till.stands(asked) == ("completed", "paid", DONE)
    assert len(till.paid_at_stripe(asked)) == 1


def test_case_22_who_goes_back_may_go_to_the_same_page_again(till: Till, http_user: HttpUser) -> None:
    asked = till.ask()
    page = till.at_stripe(http_user, asked)
    http_user.press("back")
    assert http_user.page_name == "consent"
    assert till.look(asked)["status"] == "started"
    assert till.at_stripe(http_user, asked) == page
    http_user.press("pay")
    till.becomes(asked, "completed")
    assert till.stands(asked) == ("completed", "paid", DONE)


def test_t109_coming_back_without_having_paid_is_no_payment(till: Till, http_user: HttpUser) -> None:
    asked = till.ask()
    till.at_stripe(http_user, asked)
    with http_user.stopping_at(f"{till.box.url}/payments/"):
        http_user.press("back")
        back = http_user.location
    for _ in range(3):
        http_user.open(f"{back}&session_id=cs_test_of_another")
    assert till.stands(asked) == ("started", "open", ["created", "started"])


def test_case_24_what_the_agent_takes_back_can_be_paid_no_more(till: Till, http_user: HttpUser) -> None:
    asked = till.ask()
    page = till.at_stripe(http_user, asked)
    assert till.agent.post(f"/v1/elicitations/{asked['id']}/cancel").json()["status"] == "cancelled"
    session = page.rpartition("/")[2]

    def closed() -> bool:
        return any(one["id"] == session and one["status"] == "expired" for one in till.stripe.state()["sessions"])

    until(closed, "the provider's page is closed")
    http_user.open(asked["url"])
    assert (http_user.page_name, http_user.page_status) == ("done", "cancelled")
    until(lambda: till.payment(asked)["status"] == "closed", "nothing comes any more")
    assert till.stands(asked) == ("cancelled", "closed", ["created", "started", "cancelled"])


@pytest.mark.slow
def test_a_declined_card_leaves_the_page_open_for_another(till: Till, http_user: HttpUser) -> None:
    asked = till.ask()
    till.at_stripe(http_user, asked)
    http_user.press("pay_declined")
    http_user.press("pay")
    till.becomes(asked, "completed")
    assert till.stands(asked) == ("completed", "paid", DONE)
