"""A request that is pushed before anybody leaves: claim, act, record."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections

from elicit_flows import elicitations
from elicit_flows.domain.errors import Over, ProviderUnavailable, StartAgain, TooMany
from elicit_flows.elicitations import connect
from elicit_flows.models import Attempt
from elicit_flows.models import Provider as ProviderRow
from tests.doubles.provider import Provider
from tests.doubles.server import Request, Response
from tests.oauth import journey
from tests.oauth.journey import ask, come_back, press
from tests.support.moving import MovingClock
from tests.support.rows import Known


@pytest.fixture
def pushes(double: Provider, drive_row: ProviderRow) -> Provider:
    """Its requests have to be pushed."""
    double.metadata = {"pushed_authorization_request_endpoint": f"{double.url}/par"}
    ProviderRow.objects.filter(pk=drive_row.pk).update(par="required")
    return double


def test_the_attempt_is_written_down_before_the_provider_is_asked(known: Known, pushes: Provider) -> None:
    row, seen = ask(known), []

    def look(request: Request) -> Response:
        seen.append(Attempt.objects.count())
        connections.close_all()
        return pushes._pushed(request)

    pushes.scripted["par"] = look
    url = press(row)
    assert seen == [1]
    assert come_back(pushes, row, url).status == "completed"


def test_a_press_that_was_cut_off_goes_on_with_the_same_request(known: Known, pushes: Provider) -> None:
    row = ask(known)
    pushes.scripted["par"] = Response(503)
    with pytest.raises(ProviderUnavailable):
        press(row)
    row.refresh_from_db()
    assert (row.status, Attempt.objects.count()) == ("pending", 1)
    del pushes.scripted["par"]
    url = press(row)
    first, second = (request.form for request in pushes.seen("par"))
    assert first == second
    assert (press(row), pushes.calls["par"], Attempt.objects.count()) == (url, 2, 1)
    assert come_back(pushes, row, url).status == "completed"
    assert journey.told(known) == [
        f"elicitation.{status}" for status in ("created", "started", "settling", "completed")
    ]


def test_t26_many_presses_of_one_button_are_one_attempt_when_it_is_pushed(known: Known, pushes: Provider) -> None:
    row = ask(known)

    def one(_: int) -> str:
        try:
            return press(row)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(5) as pool:
        urls = list(pool.map(one, range(5)))
    assert Attempt.objects.count() == 1
    assert {request.form["state"] for request in pushes.seen("par")} == {pushes.seen("par")[0].form["state"]}
    assert come_back(pushes, row, urls[-1]).status == "completed"


def test_a_press_after_the_way_back_pushes_the_same_request_anew(
    known: Known, pushes: Provider, moving_clock: MovingClock
) -> None:
    """A browser may show the page as it was, with the same button. A reference is good once, and for a minute."""
    row = ask(known)
    first = press(row)
    moving_clock.forward(seconds=70)
    pushes.pushed.clear()
    second = press(row)
    assert (second != first, press(row) == second) == (True, True)
    sent = [request.form for request in pushes.seen("par")]
    assert (len(sent), sent[0], Attempt.objects.count()) == (2, sent[1], 1)
    assert come_back(pushes, row, second).status == "completed"


def test_what_ended_meanwhile_sends_nobody_away(known: Known, pushes: Provider) -> None:
    row = ask(known)

    def cancel(request: Request) -> Response:
        elicitations.cancel(row)
        connections.close_all()
        return pushes._pushed(request)

    pushes.scripted["par"] = cancel
    with pytest.raises(Over):
        press(row)


def test_an_older_press_does_not_come_back_to_life(known: Known, pushes: Provider) -> None:
    row = ask(known)

    def another(request: Request) -> Response:
        del pushes.scripted["par"]
        press(row, "another-press")
        connections.close_all()
        return pushes._pushed(request)

    pushes.scripted["par"] = another
    with pytest.raises(StartAgain):
        press(row)
    assert Attempt.objects.filter(used_at=None).count() == 1


def test_t125_many_buttons_of_one_link_are_a_few_attempts(
    known: Known, pushes: Provider, moving_clock: MovingClock
) -> None:
    row = ask(known, expires_in=3600)
    for number in range(connect.MOST_ATTEMPTS):
        press(row, f"button-{number}")
    for number in range(40):
        with pytest.raises(TooMany, match="Open your link again in 10 minutes") as refused:
            press(row, f"further-{number}")
    assert Attempt.objects.count() == pushes.calls["par"] == connect.MOST_ATTEMPTS
    assert press(row, f"button-{connect.MOST_ATTEMPTS - 1}"), "the latest still leads on"
    assert refused.value.elicitation == row.pk
    moving_clock.forward(seconds=refused.value.retry_after or 0)
    assert press(row, "later")
