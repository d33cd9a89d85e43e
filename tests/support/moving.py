"""The product's clock, moved: everything in the product that asks for the time asks ``elicit_flows.lib.clock``."""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo

import pytest

from elicit_flows.lib import clock


class MovingClock:
    """``forward`` moves it; it goes on ticking."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def forward(self, **by: float) -> None:
        """As ``timedelta`` takes it: ``forward(hours=80)``."""
        self.ahead += timedelta(**by)

    def now(self, zone: tzinfo | None = None) -> datetime:
        return datetime.now(zone) + self.ahead


@pytest.fixture
def moving_clock(monkeypatch: pytest.MonkeyPatch) -> MovingClock:
    moved = MovingClock()
    monkeypatch.setattr(clock, "datetime", moved)
    return moved
