"""The language goes with the person to payment providers."""

from __future__ import annotations

import pytest
from django.conf import settings
from stripe.params.checkout import SessionCreateParams

from elicit_flows.domain.values import Secret
from elicit_flows.kinds.payment.providers.stripe import session
from elicit_flows.kinds.payment.values import Account
from tests.kinds.payment.answers import ask

OURS = Account("main", "stripe", Secret("sk_test_1"))


@pytest.mark.parametrize("code", [code for code, _ in settings.LANGUAGES])
def test_stripe_gets_the_language_under_the_name_that_it_takes(code: str) -> None:
    taken = str(SessionCreateParams.__annotations__["locale"])
    asked = session.params(ask(language=code), OURS)
    if code == "ar":
        assert "locale" not in asked, "Checkout has none, and asks the browser"
    else:
        assert f"'{asked['locale']}'" in taken


def test_without_a_language_stripe_asks_the_browser() -> None:
    assert "locale" not in session.params(ask(), OURS)
