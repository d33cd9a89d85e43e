"""D3, D5, D13, D14, D16 and D18: what the pages do not tell the person who asks them."""

from __future__ import annotations

from collections.abc import Callable

from tests.doubles.server import Response
from tests.journey.conftest import Doubles
from tests.journey.stage import Stage
from tests.support.browser import User
from tests.support.http_user import HttpUser
from tests.support.process import until
from tests.support.sink import Sink

NewUser = Callable[..., HttpUser]
CONFIRM = {"confirm_label": "Tidy up"}


def test_a_provider_that_is_down_is_named_and_the_link_stays_good(
    stage: Stage, http_user: HttpUser, doubles: Doubles
) -> None:
    """The page has neither the provider's name nor a button, although the link is as good as before."""
    doubles.bad.scripted["metadata"] = lambda _: Response(503)
    asked = stage.ask(provider="bad")
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    http_user.press("continue")
    assert stage.status(asked) == "pending"
    assert "Bad" in http_user.text
    assert "continue" in http_user.actions()


def test_whoever_presses_no_after_a_yes_is_told_that_the_yes_counts(stage: Stage, http_user: HttpUser) -> None:
    asked = stage.ask(kind="confirm", params=CONFIRM)
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    no = http_user.form_request("decline")
    http_user.press("submit")
    late = http_user.send(no)
    if late.is_redirect:
        late = http_user.get(f"{stage.box.url}{late.headers['location']}")
    assert stage.status(asked) == "completed"
    assert ">Done<" not in late.text, "their No changed nothing"
    assert "already" in late.text


def test_a_late_no_to_an_account_leads_to_where_it_is_disconnected(stage: Stage, new_http_user: NewUser) -> None:
    here, there = new_http_user(), new_http_user()
    asked = stage.ask()
    there.open(asked["url"])
    there.carry_on("signin", "alice")
    stage.complete(here, asked)
    late = there.send(there.form_request("decline"))
    if late.is_redirect:
        late = there.get(f"{stage.box.url}{late.headers['location']}")
    [held] = stage.connections()
    assert f"/account/connections/{held['id']}" in late.text


def test_the_last_page_says_what_was_connected_and_where_to_undo_it(stage: Stage, http_user: HttpUser) -> None:
    asked = stage.ask(scopes=["files.read"])
    stage.complete(http_user, asked)
    [held] = stage.connections()
    assert held["account"]["label"] in http_user.text
    assert f"/account/connections/{held['id']}" in "".join(http_user.page.links)


def test_the_last_page_goes_back_by_itself(stage: Stage, alice: User, sink: Sink) -> None:
    """There is a button, and nothing else happens."""
    asked = stage.ask(kind="confirm", params=CONFIRM, return_url=sink.url("/done"))
    alice.open(asked["url"])
    alice.press("submit")
    until(lambda: alice.url == sink.url("/done"), "the browser is back", timeout=10)


def test_an_open_page_says_soon_that_its_request_was_taken_back(stage: Stage, alice: User) -> None:
    asked = stage.ask()
    alice.open(asked["url"])
    stage.agent.post(f"/v1/elicitations/{asked['id']}/cancel")
    until(lambda: alice.page_name == "done", "the open page says that it was taken back", timeout=15)


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
    assert "The second." in other.text
    until(lambda: "The second." in alice.text, "the page follows", timeout=15)


def test_a_time_is_meant_in_the_browsers_zone(stage: Stage, new_user: Callable[..., User]) -> None:
    """It is +00:00 wherever the browser is, and the hours are wrong by default."""
    schema = {"type": "object", "properties": {"at": {"type": "string", "format": "date-time", "title": "When"}}}
    user = new_user(timezone_id="Asia/Tokyo")
    user.open(stage.ask(kind="form", params={"schema": schema})["url"])
    user.carry_on("signin", "alice")
    assert user.page.locator("form[data-action=submit] select").input_value() == "+09:00"


def test_what_does_not_fit_a_pattern_is_said_by_an_example(stage: Stage, http_user: HttpUser) -> None:
    ref = {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{4}$", "title": "Reference"}
    asked = stage.ask(kind="form", params={"schema": {"type": "object", "properties": {"ref": ref}}})
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    http_user.press("submit", q0="x")
    assert "[A-Z]" not in http_user.text, "a person is shown a regular expression"
