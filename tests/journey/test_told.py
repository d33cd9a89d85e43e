"""The pages for cases that go wrong: a provider that is down, a second answer, an old page."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.journey.stage import Stage
from tests.support.browser import User
from tests.support.http_user import HttpUser
from tests.support.process import until
from tests.support.sink import Sink

pytestmark = pytest.mark.slow

NewUser = Callable[..., HttpUser]
CONFIRM = {"confirm_label": "Tidy up"}


def test_a_provider_that_is_down_is_named_and_the_link_stays_good(stage: Stage, http_user: HttpUser) -> None:
    asked = stage.ask(provider="lax")
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    http_user.press("continue")
    assert (http_user.answer.status_code, http_user.page_name) == (503, "refused")
    assert "Lax" in http_user.text
    assert "isn't available right now" in http_user.text
    assert "Nothing was shared. Your link still works; it expires in " in http_user.text
    assert {"continue", "decline"} <= set(http_user.actions())
    assert stage.status(asked) == "pending"
    http_user.press("continue")
    assert http_user.answer.status_code == 503, "it may be tried again"
    http_user.press("decline")
    assert stage.status(asked) == "declined"


def test_whoever_presses_no_after_a_yes_is_told_that_the_yes_counts(stage: Stage, http_user: HttpUser) -> None:
    asked = stage.ask(kind="confirm", params=CONFIRM)
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    no, yes = http_user.form_request("decline"), http_user.form_request("submit")
    http_user.press("submit")
    assert "You said yes" in http_user.text
    late = http_user.send(no)
    assert late.status_code == 410
    assert "You already answered Yes at " in late.text
    assert "changed nothing" in late.text
    assert ">Done<" not in late.text
    again = stage.ask(kind="confirm", params=CONFIRM)
    http_user.open(again["url"])
    yes = http_user.form_request("submit")
    http_user.press("decline")
    assert "You already said no at " in http_user.send(yes).text


def test_a_late_no_to_an_account_leads_to_where_it_is_disconnected(stage: Stage, new_http_user: NewUser) -> None:
    here, there = new_http_user(), new_http_user()
    asked = stage.ask()
    there.open(asked["url"])
    there.carry_on("signin", "alice")
    stage.complete(here, asked)
    late = there.send(there.form_request("decline"))
    [held] = stage.connections()
    assert "You already answered this at " in late.text
    assert f"/account/connections/{held['id']}" in late.text


def test_the_last_page_says_what_was_connected_and_where_to_undo_it(stage: Stage, http_user: HttpUser) -> None:
    asked = stage.ask(scopes=["files.read"])
    stage.complete(http_user, asked)
    [held] = stage.connections()
    assert "connected" in http_user.text
    assert held["account"]["label"] in http_user.text
    assert all(scope in http_user.text for scope in held["scopes"])
    assert f"/account/connections/{held['id']}" in "".join(http_user.page.links)


def test_the_last_page_goes_back_by_itself(stage: Stage, alice: User, sink: Sink) -> None:
    asked = stage.ask(kind="confirm", params=CONFIRM, return_url=sink.url("/done"))
    alice.open(asked["url"])
    alice.press("submit")
    assert "in 3 seconds" in alice.text
    alice.page.wait_for_url(sink.url("/done"), timeout=15_000)


def test_who_wants_less_motion_or_was_promised_a_button_goes_back_by_a_press(
    stage: Stage, alice: User, sink: Sink
) -> None:
    back = sink.url("/done")
    for asked in (
        stage.ask(kind="confirm", params=CONFIRM, return_url=back, **{"return": "button"}),
        stage.ask(kind="confirm", params=CONFIRM, return_url=back),
    ):
        assert stage.look(asked)["return"] == asked["return"]
        alice.page.emulate_media(reduced_motion="reduce" if asked["return"] == "auto" else "no-preference")
        alice.open(asked["url"])
        alice.press("submit")
        alice.page.wait_for_timeout(3500)
        assert alice.page_name == "done"
        assert "in 3 seconds" not in alice.text
        with alice.page.expect_navigation():
            alice.page.locator("a.primary").click()
        assert alice.url == back


@pytest.mark.slow
def test_a_press_on_stay_stays(stage: Stage, alice: User, sink: Sink) -> None:
    asked = stage.ask(kind="confirm", params=CONFIRM, return_url=sink.url("/done"))
    alice.open(asked["url"])
    alice.press("submit")
    alice.page.get_by_role("button", name="Stay on this page").click()
    alice.page.wait_for_timeout(3500)
    assert alice.page_name == "done"


@pytest.mark.slow
def test_who_does_something_on_the_last_page_stays(stage: Stage, alice: User, sink: Sink) -> None:
    asked = stage.ask(kind="confirm", params=CONFIRM, return_url=sink.url("/done"))
    alice.open(asked["url"])
    alice.press("submit")
    alice.page.keyboard.press("Tab")
    alice.page.wait_for_timeout(4000)
    assert alice.page_name == "done"
    assert "in 3 seconds" not in alice.text


@pytest.mark.parametrize("kind", ["oauth", "confirm"])
def test_an_open_page_says_soon_that_its_request_was_taken_back(stage: Stage, alice: User, kind: str) -> None:
    asked = stage.ask() if kind == "oauth" else stage.ask(kind="confirm", params=CONFIRM)
    alice.open(asked["url"])
    stage.agent.post(f"/v1/elicitations/{asked['id']}/cancel")
    alice.wait_for_page("done", "cancelled")


@pytest.mark.slow
def test_a_page_of_a_step_that_was_done_elsewhere_leads_to_the_next(
    stage: Stage, alice: User, new_http_user: NewUser
) -> None:
    steps = [{"kind": "confirm", "params": CONFIRM}, {"kind": "confirm", "params": {"detail": "The second."}}]
    asked = stage.ask(kind="steps", params={"steps": steps})
    alice.open(asked["url"])
    other = new_http_user()
    other.open(asked["url"])
    other.carry_on("signin", "alice")
    other.press("submit")
    until(lambda: "The second." in alice.text, "the page follows", timeout=25)


@pytest.mark.slow
def test_a_time_is_meant_in_the_browsers_zone(stage: Stage, new_user: Callable[..., User]) -> None:
    schema = {"type": "object", "properties": {"at": {"type": "string", "format": "date-time", "title": "When"}}}
    asked = stage.ask(kind="form", params={"schema": schema})
    for zone, offset in (("Asia/Kolkata", "+05:30"), ("Asia/Tokyo", "+09:00"), ("Pacific/Honolulu", "-10:00")):
        user = new_user(timezone_id=zone)
        user.open(asked["url"])
        user.carry_on("signin", "alice")
        assert user.page.get_by_label("Time zone of that time").input_value() == offset
    without = new_user(scripts=False)
    without.open(asked["url"])
    without.carry_on("signin", "alice")
    assert without.page.get_by_label("Time zone of that time").input_value() == "+00:00"
    assert "UTC+05:30 (India)" in without.page.locator("form[data-action=submit] select").inner_text()


@pytest.mark.slow
def test_a_time_is_meant_as_clocks_go_on_its_day(stage: Stage, new_user: Callable[..., User]) -> None:
    """Half of all days are in the other half of the year, an hour away from what it is today."""
    schema = {"type": "object", "properties": {"at": {"type": "string", "format": "date-time", "title": "When"}}}
    asked = stage.ask(kind="form", params={"schema": schema})
    user = new_user(timezone_id="Europe/Berlin")
    user.open(asked["url"])
    user.carry_on("signin", "alice")
    at, zone = user.page.get_by_label("Date and time"), user.page.get_by_label("Time zone of that time")
    for day, offset in (("2027-07-15", "+02:00"), ("2027-01-15", "+01:00"), ("0002-07-15", "+01:00")):
        at.fill(f"{day}T10:00")
        assert zone.input_value() == offset, day
    at.fill("2027-07-15T10:00")
    assert zone.input_value() == "+02:00"
    until(lambda: "+02:00" in str(_drafts(stage)), "it is kept")
    user.page.reload()
    at.fill("2027-01-15T10:00")
    assert zone.input_value() == "+01:00", "a draft is written on"
    zone.select_option("+05:30")
    at.fill("2027-07-15T10:00")
    assert zone.input_value() == "+05:30", "what was chosen stays"
    zone.select_option("+02:00")
    at.fill("2027-02-15T10:00")
    user.press("submit")
    assert stage.look(asked)["result"] == {"content": {"at": "2027-02-15T10:00:00+01:00"}}


def _drafts(stage: Stage) -> list[tuple[object, ...]]:
    return stage.sql("SELECT answer FROM elicit_flows_draft")


def test_what_does_not_fit_a_pattern_is_said_by_an_example(stage: Stage, http_user: HttpUser) -> None:
    ref = {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{4}$", "title": "Reference"}
    asked = stage.ask(kind="form", params={"schema": {"type": "object", "properties": {"ref": ref}}})
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    http_user.press("submit", q0="x")
    assert "Write it like “AB-4567”." in http_user.text
    assert "[A-Z]" not in http_user.text
