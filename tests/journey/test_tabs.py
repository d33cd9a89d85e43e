"""T57, mostly in Chromium: the back button, reload, double clicks, and several tabs."""

from __future__ import annotations

import pytest

from tests.journey.stage import Stage
from tests.support.browser import User
from tests.support.http_user import HttpUser


def _consent(stage: Stage, alice: User) -> dict[str, str]:
    asked = stage.ask(reuse="never")
    alice.open(asked["url"])
    assert alice.page_name == "consent"
    return asked


def _completed_once(stage: Stage, user: User, asked: dict[str, str]) -> None:
    user.wait_for_page("done", "completed")
    assert stage.events(asked).count("completed") == 1
    assert stage.drive.counts()["token.authorization_code"] == 1
    stage.check_invariants(asked)


@pytest.mark.slow
def test_t57_back_from_the_provider_and_on_again(stage: Stage, alice: User):
    asked = _consent(stage, alice)
    alice.press("continue")
    alice.page.go_back()
    alice.wait_for_page("consent")
    alice.carry_on("continue", "alice", "allow")
    _completed_once(stage, alice, asked)


@pytest.mark.slow
def test_t57_reloading_before_the_button_and_after_the_end(stage: Stage, alice: User):
    asked = _consent(stage, alice)
    alice.page.reload()
    alice.carry_on("continue", "alice", "allow")
    alice.wait_for_page("done", "completed")
    alice.page.reload()
    _completed_once(stage, alice, asked)


@pytest.mark.slow
def test_t57_pressing_twice(stage: Stage, alice: User):
    asked = _consent(stage, alice)
    alice.page.locator('form[data-action="continue"] button').dblclick(no_wait_after=True)
    alice.page.wait_for_url(f"{stage.drive.issuer}/**")
    alice.carry_on("alice", "allow")
    _completed_once(stage, alice, asked)
    assert stage.events(asked).count("started") == 1


def test_t57_whichever_answer_to_two_presses_the_browser_follows_leads_on(stage: Stage, http_user: HttpUser):
    asked = stage.ask(reuse="never")
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    presses = [http_user.form_request("continue") for _ in range(2)]
    first, second = [http_user.send(press).headers["location"] for press in presses]
    assert first == second
    assert stage.attempts(asked) == 1
    http_user.open(first)
    http_user.carry_on("alice", "allow")
    assert (http_user.page_name, http_user.page_status) == ("done", "completed")
    stage.check_invariants(asked)


@pytest.mark.slow
def test_t57_back_after_the_end(stage: Stage, alice: User):
    asked = _consent(stage, alice)
    alice.carry_on("continue", "alice", "allow")
    alice.wait_for_page("done", "completed")
    while alice.page.url != asked["url"]:
        alice.page.go_back()
    _completed_once(stage, alice, asked)


def _second_tab(user: User, url: str) -> User:
    """Another tab of the same browser."""
    tab = User.__new__(User)
    tab.context, tab.complaints, tab.page = user.context, user.complaints, user.context.new_page()
    tab.page.goto(url)
    return tab


@pytest.mark.slow
def test_t57_two_tabs_both_to_the_end(stage: Stage, alice: User):
    asked = _consent(stage, alice)
    tab = _second_tab(alice, asked["url"])
    alice.press("continue")
    tab.carry_on("continue", "alice", "allow")
    alice.carry_on("alice", "allow")
    _completed_once(stage, tab, asked)
    _completed_once(stage, alice, asked)


@pytest.mark.slow
def test_t57_two_tabs_and_one_says_no(stage: Stage, alice: User):
    asked = _consent(stage, alice)
    tab = _second_tab(alice, asked["url"])
    alice.press("continue")
    tab.press("decline")
    tab.wait_for_page("done", "declined")
    alice.carry_on("alice", "allow")
    alice.wait_for_page("done", "declined")
    assert stage.drive.counts().get("token", 0) == 0
    stage.check_invariants(asked)


@pytest.mark.slow
def test_t57_a_tab_that_waits_follows_the_other(stage: Stage, alice: User):
    asked = _consent(stage, alice)
    alice.press("continue")
    tab = _second_tab(alice, f"{asked['url']}/done")
    assert tab.page_status == "started"
    alice.carry_on("alice", "allow")
    alice.wait_for_page("done", "completed")
    _completed_once(stage, tab, asked)


@pytest.mark.slow
def test_t57_both_tabs_sign_in(stage: Stage, user: User):
    asked = stage.ask()
    user.open(asked["url"])
    tab = _second_tab(user, asked["url"])
    user.press("signin")
    tab.press("signin")
    user.carry_on("alice")
    tab.carry_on("alice")
    assert (user.page_name, tab.page_name) == ("consent", "consent"), tab.text
    user.carry_on("continue", "alice", "allow")
    _completed_once(stage, user, asked)


@pytest.mark.slow
def test_t57_the_callback_visited_again(stage: Stage, alice: User):
    asked = _consent(stage, alice)
    with alice.page.expect_request(lambda request: "/callback/" in request.url) as callback:
        alice.carry_on("continue", "alice", "allow")
    alice.wait_for_page("done", "completed")
    alice.open(callback.value.url)
    assert alice.url == f"{asked['url']}/done"
    _completed_once(stage, alice, asked)


@pytest.mark.slow
def test_t57_the_agent_takes_it_back_while_the_page_is_open(stage: Stage, alice: User):
    asked = _consent(stage, alice)
    tab = _second_tab(alice, f"{asked['url']}/done")
    stage.agent.post(f"/v1/elicitations/{asked['id']}/cancel")
    tab.wait_for_page("done", "cancelled")
    alice.press("continue")
    alice.wait_for_page("done", "cancelled")
    stage.check_invariants(asked)
