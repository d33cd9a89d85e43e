"""A press that takes so long that the sweep has given its checkout up before the provider's answer comes."""

from __future__ import annotations

import threading

import pytest

from tests.payments.till import Till
from tests.support.http_user import HttpUser
from tests.support.process import until

CREATE = "POST /v1/checkout/sessions"


@pytest.mark.slow
def test_f17_who_waited_for_a_page_that_was_given_up_is_not_sent_there_and_may_press_again(
    till: Till, http_user: HttpUser
) -> None:
    till.stripe.order("fault", name="hang", on=CREATE, hang=9.0)
    asked = till.ask()
    before = {one["id"] for one in till.stripe.state()["sessions"]}
    pressing = threading.Thread(target=http_user.connect, args=(asked["url"], "alice"))
    pressing.start()

    def opened() -> list[str]:
        return [one["id"] for one in till.stripe.state()["sessions"] if one["id"] not in before]

    (lost,) = until(opened, "Stripe has opened a page")
    till.start()
    until(lambda: till.session_of(lost)["status"] == "expired", "the sweep has closed it")
    pressing.join(20)
    assert (http_user.page_name, http_user.answer.status_code) == ("refused", 503)
    till.pay(http_user, asked)
    till.becomes(asked, "completed")
