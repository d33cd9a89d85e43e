"""F2: a grant that a provider had ended in its own words was asked for again and again, and nobody was told."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from elicit_flows.errors import FlowError

from elicit_flows import vault
from elicit_flows.models import Connection
from elicit_flows.models import Provider as ProviderRow
from tests.doubles.provider import Provider
from tests.doubles.server import json_response
from tests.support.moving import MovingClock
from tests.support.rows import Known
from tests.vault import conftest as refreshing
from tests.vault.refreshing import now, told

double, drive_row, known, held = refreshing.double, refreshing.drive_row, refreshing.known, refreshing.held
# The preset, the status and the answer of this provider to a refresh token of a dead grant.
WORDS: dict[str, tuple[int, Any]] = {
    "hubspot": (400, {"status": "BAD_REFRESH_TOKEN", "message": "missing or unknown refresh token"}),
    "slack": (200, {"ok": False, "error": "invalid_refresh_token"}),
}
UNKNOWN = json_response({"status": "NO_SUCH_THING", "message": "what was this?"}, 400)


def fetch(known: Known, row: Connection) -> None:
    """As the agent does; whether it is told no or given a token is not looked at."""
    with suppress(FlowError):
        vault.token(known.row, row.pk)


@pytest.mark.parametrize("preset", WORDS)
def test_t136_the_providers_own_words_end_a_grant_at_once_and_the_agent_is_told_once(
    known: Known, drive_row: ProviderRow, held: Connection, double: Provider, moving_clock: MovingClock, preset: str
) -> None:
    """The double, with the preset of a provider beside its addresses."""
    drive_row.preset, drive_row.given = preset, ["authorize_url", "token_url", "token_auth", "scopes"]
    drive_row.save()
    status, body = WORDS[preset]
    double.scripted["token"] = json_response(body, status)
    for _ in range(3):
        fetch(known, held)
        moving_clock.forward(seconds=30)
    assert double.calls["token"] > 0
    assert (now(held).status, told(held)) == ("reauthorization_required", ["connection.reauthorization_required"])


def test_t136_a_refusal_that_nobody_knows_ends_a_grant_after_a_time_and_a_number_of_tries(
    known: Known, held: Connection, double: Provider, moving_clock: MovingClock
) -> None:
    """Three months of it."""
    double.scripted["token"] = UNKNOWN
    for _ in range(90):
        fetch(known, held)
        moving_clock.forward(days=1)
    assert double.calls["token"] > 10
    assert (now(held).status, told(held)) == ("reauthorization_required", ["connection.reauthorization_required"])


def test_t136_a_refusal_is_not_asked_for_again_before_its_time(
    known: Known, held: Connection, double: Provider, moving_clock: MovingClock
) -> None:
    """It was given two seconds of rest, as after a provider's silence."""
    double.scripted["token"] = UNKNOWN
    for _ in range(10):
        fetch(known, held)
        moving_clock.forward(seconds=3)
    assert double.calls["token"] == 1
