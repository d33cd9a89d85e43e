"""Stripe's two forms of events, snapshot and thin: whichever an endpoint gets, the same comes of the same payment."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.payments.test_hints import DONE, go_away, settled
from tests.payments.till import SECRET, Till
from tests.support.http_user import HttpUser
from tests.support.process import until

pytestmark = pytest.mark.slow


@pytest.fixture(params=["snapshot", "thin", "both"])
def heard(request: pytest.FixtureRequest, till: Till) -> Iterator[Till]:
    """A till whose endpoint gets events of that form."""
    usual = {"url": f"{till.box.url}/inbound/sandbox", "secrets": [SECRET]}
    till.stripe.order("endpoints", endpoints=[usual | {"form": request.param}])
    yield till
    till.stripe.order("endpoints", endpoints=[usual])


def test_a_payer_who_never_comes_back_is_heard_of_once(heard: Till, http_user: HttpUser) -> None:
    asked = heard.ask(item="report")
    heard.at_stripe(http_user, asked)
    go_away(heard, http_user)
    heard.becomes(asked, "completed", timeout=15)
    settled(heard)
    assert heard.stands(asked) == ("completed", "paid", DONE)


def test_a_subscription_is_renewed_and_ended_as_it_is_heard(heard: Till, http_user: HttpUser) -> None:
    asked = heard.ask(mode="subscribe", interval="month", item="news")
    heard.pay(http_user, asked)
    heard.becomes(asked, "completed")
    [session] = heard.opened_at_stripe(asked)
    heard.stripe.order("renew", subscription=session["subscription"], outcome="ok")
    heard.stripe.order("end", subscription=session["subscription"])
    until(lambda: heard.payment(asked)["status"] == "ended", "it has ended", timeout=15)
    settled(heard)
    assert heard.events(asked)[len(DONE) :] == ["subscription.renewed", "payment.ended"]
