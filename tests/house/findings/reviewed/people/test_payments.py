"""D7, D8 and D17: what the page of a payment does not say, and what nobody can take back."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.payments.conftest import Json, Till, new_till, tills
from tests.payments.test_modes import subscribed
from tests.support.box import Box
from tests.support.http_user import HttpUser

__all__ = ["new_till", "tills"]
MONTHLY: Json = {"mode": "subscribe", "interval": "month", "amount": 990, "item": "paper"}


@pytest.fixture
def till(new_till: Callable[..., Till], embedded_box: Box) -> Till:
    return new_till(embedded_box)


def can_end(till: Till, user: HttpUser, asked: Json) -> bool:
    """Whether the person's account has a button that is about that payment."""
    user.open(f"{till.box.url}/account")
    assert user.page_name == "account"
    return any(till.payment_id(asked) in form.action for form in user.page.forms.values())


def test_a_subscription_says_that_it_is_one_what_is_paid_when_and_how_to_end_it(
    till: Till, http_user: HttpUser
) -> None:
    http_user.open(till.ask(**MONTHLY)["url"])
    http_user.carry_on("signin", "alice")
    assert http_user.page_name == "consent"
    assert "Pay €9.90?" not in http_user.text, "it is asked for as if it were paid once"
    assert "cancel" in http_user.text


def test_a_subscription_is_cancelled_and_lasts_as_long_as_it_is_paid(till: Till, http_user: HttpUser) -> None:
    """Its person is told to ask somebody."""
    asked, _ = subscribed(till, http_user)
    assert can_end(till, http_user, asked), http_user.text


def test_what_was_saved_is_removed_and_its_agent_is_told_at_once(till: Till, http_user: HttpUser) -> None:
    asked = till.ask(mode="save", amount=0)
    till.pay(http_user, asked)
    till.becomes(asked, "completed")
    assert can_end(till, http_user, asked), http_user.text


def come_back(till: Till, user: HttpUser, asked: Json) -> None:
    """From the provider's page by the link there that pays nothing."""
    till.at_stripe(user, asked)
    user.press("back")
    assert user.page_name == "consent"


def test_who_comes_back_without_paying_is_told_so_and_by_the_provider_alone(till: Till, http_user: HttpUser) -> None:
    """The page is the same as before they went."""
    come_back(till, http_user, till.ask())
    assert "Nothing was charged" in http_user.text


def test_who_comes_back_without_paying_is_told_so(till: Till, http_user: HttpUser) -> None:
    """So it is with a payment method that was not saved."""
    come_back(till, http_user, till.ask(mode="save", amount=0))
    assert "Nothing was charged" in http_user.text
