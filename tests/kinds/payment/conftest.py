from __future__ import annotations

from collections.abc import Iterator

import pytest
import stripe

from elicit_flows.kinds.payment.providers import attempts
from tests.doubles.policy import loopback_allowed


@pytest.fixture
def loopback() -> Iterator[None]:
    with loopback_allowed():
        yield


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between tries, half a second and more is waited."""
    monkeypatch.setattr(attempts, "PAUSE", 0.001)
    monkeypatch.setattr(stripe.HTTPClient, "INITIAL_DELAY", 0.001)
    monkeypatch.setattr(stripe.HTTPClient, "MAX_DELAY", 0.002)
