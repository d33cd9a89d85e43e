"""Moves the clock of the product: all its code asks ``elicit_flows.lib.clock`` for the time."""

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

    def to(self, moment: datetime) -> None:
        """``moment`` knows its time zone."""
        self.ahead = moment - datetime.now(moment.tzinfo)

    def now(self, zone: tzinfo | None = None) -> datetime:
        return datetime.now(zone) + self.ahead


@pytest.fixture
def moving_clock(monkeypatch: pytest.MonkeyPatch) -> MovingClock:
    moved = MovingClock()
    monkeypatch.setattr(clock, "datetime", moved)
    return moved
