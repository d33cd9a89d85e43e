"""D6: what the operators' front page says of a provider that fails."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from elicit_flows.admin.notice import Notice

from elicit_flows.admin import attention
from elicit_flows.lib import clock
from elicit_flows.models import Elicitation, Tally
from tests.admin.rows import Rows, make
from tests.support.moving import MovingClock


@pytest.fixture
def rows(db: None) -> Rows:
    return make()


def failed(times: int) -> None:
    """As the product counts them: by the hour."""
    hour = clock.now().replace(minute=0, second=0, microsecond=0)
    Tally.objects.create(hour=hour, name="provider_errors", labels=json.dumps(["drive", "refresh"]), count=times)


def said() -> Notice:
    [found] = [one for one in attention.notices() if "Drive" in one.title]
    return found


def test_since_is_the_first_failure_after_the_last_success_whichever_process_saw_it(
    rows: Rows, moving_clock: MovingClock
) -> None:
    """An hour before now is said, to the hour: no failure was then."""
    first = (datetime.now(UTC) + timedelta(days=1)).replace(hour=10, minute=34, second=0, microsecond=0)
    moving_clock.forward(seconds=(first - datetime.now(UTC)).total_seconds())
    failed(9)
    assert "since 10:34" in said().detail


def test_a_single_failure_is_no_outage_and_every_fifth_is(rows: Rows) -> None:
    failed(1)
    assert said().title != "Drive does not answer"


def test_who_is_hit_is_counted_and_named_nowhere(rows: Rows) -> None:
    """Two links for it are open, and nobody is counted."""
    links = Elicitation.objects.filter(finished_at=None, params__provider="drive").count()
    failed(3)
    assert links == 2
    assert "2 open links" in said().detail
