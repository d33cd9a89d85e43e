"""What a payer does in a browser, with a subscription: subscribes, pays a renewal that was refused, agrees to another
price, declines one, and cancels. With a mandate: gives it, is charged, gives another card, lowers it and ends it.
"""

from __future__ import annotations

import pytest

from tests.payments.test_hints import settled
from tests.payments.test_mandates import charge, intents, limits, look
from tests.payments.test_method_replacement import attached, look_now, method_of
from tests.payments.test_modes import MONTHLY
from tests.payments.test_price_change import changed, price_at_stripe
from tests.payments.test_subscriptions import life, renewals, told
from tests.payments.till import Till
from tests.support.browser import User
from tests.support.process import until

pytestmark = [pytest.mark.slow, pytest.mark.limit(120)]


def test_a_payer_subscribes_misses_a_renewal_pays_it_agrees_to_another_price_and_cancels(
    till: Till, user: User
) -> None:
    asked = till.ask(**MONTHLY)
    user.open(asked["url"]).wait_for_load_state()
    user.carry_on("signin", "alice")
    assert "Subscribe for €19.99 a month?" in user.text
    user.carry_on("continue", "pay")
    user.wait_for_page("done", "completed")
    subscription = str(till.paid_at_stripe(asked)[0]["subscription"])
    list_url = f"{till.box.url}/account/payments?show=subscriptions"
    its_url = f"{till.box.url}/account/payments/subscriptions/{life(till, asked)['id']}"

    till.stripe.order("renew", subscription=subscription, outcome="fail")
    until(lambda: life(till, asked)["status"] == "past_due", "it is past due", timeout=15)
    user.open(list_url)
    assert "The last charge was refused" in user.text
    user.open(its_url).get_by_role("link", name="Pay it now").click()
    user.press("pay_invoice")
    until(lambda: life(till, asked)["status"] == "active", "it is paid", timeout=15)
    settled(till)
    assert "Pay it now" not in user.open(its_url).locator("body").inner_text()

    question = changed(till, asked)
    user.open(question["url"])
    for said in ("Change the price to €24.99 a month?", "€19.99", "€24.99", "€0.00"):
        assert said in user.text, said
    user.press("continue")
    user.wait_for_page("done", "completed")
    assert "The price is changed" in user.text
    assert "€24.99" in user.open(list_url).locator("main").inner_text()

    user.open(changed(till, asked, 9900)["url"])
    user.press("decline")
    user.wait_for_page("done", "declined")
    assert "The price of your subscription stays as it is." in user.text
    assert price_at_stripe(till, subscription) == 2499

    till.stripe.order("renew", subscription=subscription)
    until(lambda: len(renewals(till, asked)) == 2, "it is renewed", timeout=15)
    text = user.open(its_url).locator("main").inner_text()
    assert text.count("€24.99") == 2, "the price, and the renewal"
    user.page.locator("summary", has_text="Cancel the subscription").click()
    user.press("unsubscribe")
    until(lambda: life(till, asked)["ends_at"], "it is cancelled", timeout=15)
    assert "Cancelled" in user.open(its_url).locator("main").inner_text()
    assert told(till, asked) == [
        "subscription.past_due", "subscription.renewed", "subscription.price_changed", "subscription.renewed",
        "payment.unsubscribed",
    ]  # fmt: skip
    assert user.complaints == []


def test_a_payer_gives_a_mandate_is_charged_thrice_gives_another_card_lowers_it_and_ends_it(
    till: Till, user: User
) -> None:
    asked = till.ask(mode="mandate", amount=None, description="Train tickets", mandate=limits())
    user.open(asked["url"]).wait_for_load_state()
    user.carry_on("signin", "alice")
    assert "Nothing is charged today" in user.text
    user.carry_on("continue", "pay")
    user.wait_for_page("done", "completed")
    mandate = look(till, till.look(asked)["result"]["mandate"])
    for key in ("one", "two"):
        assert charge(till, mandate, 2000, key).json()["status"] == "paid"

    former, its_url = method_of(till, mandate), f"{till.box.url}/account/payments/mandates/{mandate['id']}"
    user.open(its_url).locator("summary", has_text="Replace the payment method").click()
    user.press("replace")
    assert user.url.startswith(till.stripe.url)
    user.press("pay")
    assert user.url.startswith(till.box.url)
    assert "The payment method is replaced" in user.text
    until(lambda: look_now(till) or not attached(till, former), "the former card is removed", timeout=30)  # type: ignore[func-returns-value]
    assert method_of(till, mandate) != former
    assert charge(till, mandate, 500, "three").json()["status"] == "paid"

    assert user.open(its_url).locator("h3", has_text="A ticket to Bern").count() == 3
    user.page.locator("summary", has_text="Lower the limits").click()
    user.press("lower", per_charge="10.00", total="50,50")
    assert "only a new request" in user.text.lower()
    assert "422" in user.complaints.pop(), "the browser reports the status of the refusal"
    assert (look(till, mandate["id"])["per_charge"], look(till, mandate["id"])["total"]) == (2000, 5000)
    user.press("lower", per_charge="4.50", total="50.00")
    assert "Saved." in user.text
    fourth = charge(till, mandate, 500, "four")
    assert (fourth.status_code, fourth.json()["code"]) == (403, "over_limit")
    assert "€4.50 per charge" in fourth.json()["detail"]

    user.page.locator("summary", has_text="End it").click()
    user.press("end")
    assert "Nothing more is charged." in user.text
    assert charge(till, mandate, 100, "five").status_code == 409
    assert intents(till, mandate) == [("succeeded", 2000), ("succeeded", 2000), ("succeeded", 500)]
    assert user.complaints == []
