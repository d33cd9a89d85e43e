"""A provider that is slow, away, or loses its answers: never two pages, never two charges (payments.md, section 5)."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import pytest

from tests.payments.racing import at_once
from tests.payments.till import Till
from tests.support.box import Box
from tests.support.http_user import HttpUser
from tests.support.machine import within
from tests.support.process import until

pytestmark = pytest.mark.slow

DONE = ["created", "started", "settling", "completed"]
CREATE = "POST /v1/checkout/sessions"


def sessions(till: Till, payment: str) -> list[str]:
    """What Stripe opened for this payment."""
    ours = {row[0] for row in till.sql("SELECT id FROM elicit_flows_checkout WHERE payment_id = %s", payment)}
    return [one["id"] for one in till.stripe.state()["sessions"] if one["client_reference_id"] in ours]


def payment_of(till: Till, asked: dict[str, object]) -> str:
    return str(till.sql("SELECT id FROM elicit_flows_payment WHERE elicitation_id = %s", asked["id"])[0][0])


def test_f17_an_answer_that_is_lost_makes_no_second_page(till: Till, http_user: HttpUser) -> None:
    """Case 27."""
    till.stripe.order("fault", name="lose_reply", on=CREATE)
    asked = till.ask()
    till.pay(http_user, asked)
    till.becomes(asked, "completed")
    assert len(sessions(till, payment_of(till, asked))) == 1
    assert till.stands(asked) == ("completed", "paid", DONE)


@pytest.mark.parametrize(
    ("name", "times"), [("429", 1), ("503", 3), ("500", 3), ("500_executed", 3), ("lose_request", 3)]
)
def test_f17_trouble_at_the_provider_leaves_the_link_usable(
    till: Till, http_user: HttpUser, name: str, times: int
) -> None:
    """Case 28: the person soon gets a page with the error, and the next press works."""
    till.stripe.order("fault", name=name, on=CREATE, times=times)
    asked = till.ask()
    began = time.monotonic()
    http_user.connect(asked["url"], "alice")
    assert time.monotonic() - began < within(20)
    assert (http_user.page_name, http_user.answer.status_code) == ("refused", 503)
    assert till.stands(asked) == ("pending", "open", ["created"])
    till.stripe.order("calm")
    till.pay(http_user, asked)
    till.becomes(asked, "completed")
    assert till.stands(asked) == ("completed", "paid", DONE)
    assert len(till.paid_at_stripe(asked)) == 1


@pytest.mark.slow
def test_f17_a_provider_that_hangs_keeps_nobody_waiting_for_long(
    new_till: Callable[[Box], Till], embedded_box: Box, full_box: Box, new_http_user: Callable[..., HttpUser]
) -> None:
    """Case 28: within 20 seconds there is a page that says so; what was opened meanwhile is what opens next.

    One provider says nothing, another does what it is asked and says so too late: at the same time, at a box each.
    """
    tills = [new_till(embedded_box), new_till(full_box)]
    users = [new_http_user(), new_http_user()]
    at_once(*map(partial, [check_patience] * 2, tills, users, ["hang", "late_reply"]))


def check_patience(till: Till, user: HttpUser, fault: str) -> None:
    till.stripe.order("fault", name=fault, on=CREATE, times=3)
    asked = till.ask()
    began = time.monotonic()
    user.connect(asked["url"], "alice")
    took = time.monotonic() - began
    assert (user.page_name, user.answer.status_code, took < within(20)) == ("refused", 503, True)
    assert till.stands(asked) == ("pending", "open", ["created"])
    till.stripe.order("calm")
    till.pay(user, asked)
    till.becomes(asked, "completed")
    assert till.stands(asked) == ("completed", "paid", DONE)
    assert len(till.opened_at_stripe(asked)) == 1


@pytest.mark.slow
def test_case_27_a_page_that_nobody_heard_of_is_given_up_and_another_opened(till: Till, http_user: HttpUser) -> None:
    """The service stopped between the request and the recording, for longer than the idempotency key is valid."""
    till.stripe.order("fault", name="lose_reply", on=CREATE, times=3)
    asked = till.ask()
    http_user.connect(asked["url"], "alice")
    assert http_user.page_name == "refused"
    (lost,) = sessions(till, payment_of(till, asked))
    till.start()

    def given_up() -> bool:
        return bool(till.session_of(lost)["status"] == "expired")

    until(given_up, "the page that nobody saw is closed", timeout=20)
    till.pay(http_user, asked)
    till.becomes(asked, "completed")
    assert till.stands(asked) == ("completed", "paid", DONE)
    assert len(till.paid_at_stripe(asked)) == 1


def test_case_28_a_provider_that_refuses_is_told_to_the_operator(
    till: Till, http_user: HttpUser, embedded_box: Box
) -> None:
    asked = till.ask(amount=1)  # less than Stripe takes
    http_user.connect(asked["url"], "alice")
    assert (http_user.page_name, http_user.answer.status_code) == ("refused", 503)
    assert "refused a checkout" in embedded_box.logs()
    assert till.stands(asked) == ("pending", "open", ["created"])


def test_case_18_a_return_for_another_payment_changes_nothing(
    till: Till, new_http_user: Callable[..., HttpUser]
) -> None:
    alice = new_http_user()
    mine, other = till.ask(), till.ask()
    till.at_stripe(alice, mine)
    till.pay(alice, other)
    till.becomes(other, "completed")
    (paid,) = till.sql(
        "SELECT c.ref FROM elicit_flows_checkout c JOIN elicit_flows_payment p ON p.id = c.payment_id "
        "WHERE p.elicitation_id = %s", other["id"],
    )[0]  # fmt: skip
    (ours,) = till.sql(
        "SELECT c.id FROM elicit_flows_checkout c JOIN elicit_flows_payment p ON p.id = c.payment_id "
        "WHERE p.elicitation_id = %s", mine["id"],
    )[0]  # fmt: skip
    alice.open(f"{till.box.url}/payments/sandbox/return?checkout={ours}&sid={paid}")
    assert till.stands(mine) == ("started", "open", ["created", "started"])
    assert till.stands(other) == ("completed", "paid", DONE)
    alice.open(f"{till.box.url}/payments/elsewhere/return?checkout={ours}")
    assert alice.answer.status_code == 404


def test_case_30_another_agents_payment_does_not_exist(
    till: Till, new_till: Callable[[Box], Till], http_user: HttpUser, embedded_box: Box
) -> None:
    asked = till.ask()
    till.pay(http_user, asked)
    payment = till.becomes(asked, "completed")["result"]["payment"]
    other = new_till(embedded_box)
    assert other.agent.get(f"/v1/payments/{payment}").status_code == 404
    assert other.agent.post(f"/v1/payments/{payment}/refunds", json={}).status_code == 404
    assert other.agent.get("/v1/events").json()["data"] == []
    assert till.stands(asked) == ("completed", "paid", DONE)
