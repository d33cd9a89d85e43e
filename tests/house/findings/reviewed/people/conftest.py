"""The fixtures of the journeys."""

from __future__ import annotations

from tests.journey.conftest import (
    agents_of,
    alice,
    doubles,
    doubles_servers,
    each_stage,
    new_stage,
    partner,
    partner_server,
    stage,
)
from tests.journey.test_accessibility import reader
from tests.support import browser

# What the tests of today install.
browser.PROGRAMS = ("chromium-headless-shell", *browser.PROGRAMS)

__all__ = [
    "agents_of",
    "alice",
    "doubles",
    "doubles_servers",
    "each_stage",
    "new_stage",
    "partner",
    "partner_server",
    "reader",
    "stage",
]
