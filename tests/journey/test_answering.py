"""Elicitations that are answered on our own page, and links that lead to a page of the agent."""

from __future__ import annotations

from collections.abc import Callable

import httpx2
import pytest

from tests.cast import ALICE
from tests.journey.stage import Json, Stage, form_post, query
from tests.support import dump
from tests.support.box import Box
from tests.support.browser import User
from tests.support.http_user import HttpUser
from tests.support.persona import Persona
from tests.support.sink import Sink

NewUser = Callable[..., HttpUser]
DONE = ["created", "started", "settling", "completed"]
DANGEROUS = {"detail": "Delete 12 files.", "danger": True, "confirm_label": "Delete", "decline_label": "Keep them"}


def confirm(stage: Stage, **params: object) -> Json:
    return stage.ask(kind="confirm", message="May I tidy up?", params=params)


def link(stage: Stage, url: str, completion: str) -> Json:
    return stage.ask(kind="link", message="Read our terms.", params={"url": url, "completion": completion})


@pytest.fixture(params=["Chromium", pytest.param("Chromium without scripts", marks=pytest.mark.slow), "HTTP"])
def anybody(request: pytest.FixtureRequest) -> Persona:
    if request.param == "HTTP":
        return request.getfixturevalue("new_http_user")()
    return request.getfixturevalue("new_user")(scripts=request.param == "Chromium")


def test_a_yes_is_told_as_one(each_stage: Stage, http_user: HttpUser) -> None:
    asked = confirm(each_stage, detail="Move 12 files.")
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    assert (http_user.page_name, http_user.page_status) == ("form", "pending")
    assert "Move 12 files." in http_user.text
    assert each_stage.events(asked) == ["created"]
    http_user.press("submit")
    assert (http_user.page_name, http_user.page_status) == ("done", "completed")
    assert each_stage.look(asked)["result"] == {"confirmed": True}
    assert each_stage.events(asked) == DONE


def test_a_no_is_an_answer_as_well(stage: Stage, http_user: HttpUser) -> None:
    asked = confirm(stage, **DANGEROUS)
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    http_user.press("decline")
    told = stage.look(asked)
    assert (told["status"], told["action"], told["result"]) == ("declined", "decline", None)


def test_t135_yes_and_no_stand_before_the_agents_words(stage: Stage, http_user: HttpUser) -> None:
    http_user.open(confirm(stage, **DANGEROUS)["url"])
    http_user.carry_on("signin", "alice")
    assert "Yes: <bdi>Delete</bdi>" in http_user.answer.text
    assert "No: <bdi>Keep them</bdi>" in http_user.answer.text
    assert http_user.answer.text.count('class="primary') == 1, "the colour of what goes on is the yes's"


def test_what_is_dangerous_needs_its_word(stage: Stage, anybody: Persona) -> None:
    asked = confirm(stage, **DANGEROUS)
    anybody.open(asked["url"])
    anybody.carry_on("signin", "alice")
    anybody.press("submit", typed="delete")
    assert (anybody.page_name, anybody.page_status) == ("form", "pending")
    assert "Type CONFIRM to confirm." in anybody.text
    assert "Nothing was sent yet" in anybody.text
    assert stage.events(asked) == ["created"]
    anybody.press("submit", typed="confirm")
    assert anybody.page_status == "completed"
    assert stage.look(asked)["result"] == {"confirmed": True}


@pytest.mark.slow
def test_by_keyboard_alone_a_dangerous_yes_is_typed_and_sent(stage: Stage, user: User) -> None:
    asked = confirm(stage, **DANGEROUS)
    user.open(asked["url"])
    user.carry_on("signin", "alice")
    page = user.page
    for _ in range(10):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "typed":
            break
    page.keyboard.type("Confirm")
    page.keyboard.press("Enter")
    page.wait_for_selector("body[data-page=done]")
    assert stage.status(asked) == "completed"


def test_t1_a_stranger_cannot_say_yes_and_nobody_can_who_is_not_signed_in(stage: Stage, new_http_user: NewUser) -> None:
    asked, bob, nobody = confirm(stage), new_http_user(), new_http_user()
    bob.connect(asked["url"], "bob")
    assert form_post(bob, f"{asked['url']}/submit", confirm="yes").status_code == 403
    nobody.open(asked["url"])
    assert form_post(nobody, f"{asked['url']}/submit", confirm="yes").status_code == 403
    assert stage.events(asked) == ["created", "refused"]
    assert stage.status(asked) == "pending"


def test_of_many_that_send_at_once_one_is_taken(each_stage: Stage, http_user: HttpUser) -> None:
    asked = confirm(each_stage)
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    answers = http_user.at_once(http_user.form_request("submit"), 8)
    assert {answer.status_code for answer in answers} <= {303, 410}
    assert each_stage.events(asked) == DONE


@pytest.mark.parametrize("form", [{}, {"confirm": "no"}, {"confirm": "", "typed": "delete"}])
def test_what_the_page_does_not_send_is_no_answer(stage: Stage, http_user: HttpUser, form: dict[str, str]) -> None:
    asked = confirm(stage)
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    assert form_post(http_user, f"{asked['url']}/submit", **form).status_code == 400
    assert stage.status(asked) == "pending"


def test_each_kind_is_answered_where_it_is_and_nowhere_else(stage: Stage, http_user: HttpUser) -> None:
    here, elsewhere = confirm(stage), stage.ask(reuse="never")
    http_user.open(here["url"])
    http_user.carry_on("signin", "alice")
    assert form_post(http_user, f"{here['url']}/continue").status_code == 400
    assert form_post(http_user, f"{elsewhere['url']}/submit", confirm="yes").status_code == 400
    assert [stage.status(one) for one in (here, elsewhere)] == ["pending", "pending"]


def test_a_link_is_done_when_its_page_leads_back(each_stage: Stage, http_user: HttpUser, sink: Sink) -> None:
    asked = link(each_stage, sink.url("/terms?lang=en"), "on_return")
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    assert http_user.page_name == "consent"
    with http_user.stopping_at(sink.url("/terms")):
        http_user.press("continue")
        sent = query(http_user.location)
    assert sent["lang"] == "en"
    assert each_stage.status(asked) == "started"
    http_user.open(sent["elicit_return"])
    assert (http_user.page_name, http_user.page_status) == ("done", "completed")
    assert each_stage.look(asked)["result"] == {}
    assert each_stage.events(asked) == DONE


def test_t1_nobody_else_comes_back_from_a_link(stage: Stage, new_http_user: NewUser, sink: Sink) -> None:
    asked, alice, bob, twin = link(stage, sink.url("/terms"), "on_return"), *(new_http_user() for _ in range(3))
    alice.open(asked["url"])
    alice.carry_on("signin", "alice")
    with alice.stopping_at(sink.url("/terms")):
        alice.press("continue")
        back = query(alice.location)["elicit_return"]
    for stranger, who in ((bob, "bob"), (twin, "alice")):
        stranger.connect(stage.ask(reuse="never")["url"] if who == "alice" else asked["url"], who)
        assert stranger.get(back).status_code in {400, 403}
    assert stage.status(asked) == "started"
    alice.open(back)
    assert stage.status(asked) == "completed"


def test_a_link_by_agent_is_done_when_the_agent_says_so(each_stage: Stage, http_user: HttpUser, sink: Sink) -> None:
    asked = link(each_stage, sink.url("/terms"), "by_agent")
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    with http_user.stopping_at(sink.url("/terms")):
        http_user.press("continue")
        assert http_user.location == sink.url("/terms")
    http_user.open(f"{asked['url']}/done")
    assert http_user.page_status == "started"
    complete = f"/v1/elicitations/{asked['id']}/complete"
    for _ in range(2):
        answer = each_stage.agent.post(complete)
        assert (answer.status_code, answer.json()["status"]) == (200, "completed")
    assert each_stage.events(asked) == DONE


@pytest.mark.parametrize("kind", ["oauth", "confirm", "link"])
def test_an_agent_completes_nothing_that_its_user_completes(stage: Stage, sink: Sink, kind: str) -> None:
    asked = {
        "oauth": stage.ask, "confirm": lambda: confirm(stage),
        "link": lambda: link(stage, sink.url("/terms"), "on_return"),
    }[kind]()  # fmt: skip
    answer = stage.agent.post(f"/v1/elicitations/{asked['id']}/complete")
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
    assert stage.status(asked) == "pending"


def test_what_is_over_is_completed_by_nobody(stage: Stage, sink: Sink) -> None:
    asked = link(stage, sink.url("/terms"), "by_agent")
    stage.agent.post(f"/v1/elicitations/{asked['id']}/cancel")
    answer = stage.agent.post(f"/v1/elicitations/{asked['id']}/complete")
    assert (answer.status_code, answer.json()["code"]) == (409, "already_over")
    assert (
        stage.try_to_ask(
            ALICE, kind="link", params={"url": "javascript:alert(1)", "completion": "by_agent"}
        ).status_code
        == 422
    )


KEYS = {"fields": [{"name": "key", "label": "API key"}, {"name": "team", "label": "Team", "secret": False}]}


def secret(stage: Stage, asked: Json) -> httpx2.Response:
    return stage.agent.post(f"/v1/connections/{stage.look(asked)['result']['connection']}/secret")


def test_credentials_go_into_the_vault_and_to_their_agent_alone(each_stage: Stage, http_user: HttpUser) -> None:
    stage = each_stage
    asked = stage.ask(kind="credentials", message="To post for you.", params=KEYS)
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    http_user.press("submit", key="sk-very-secret-typed", team="")
    assert (http_user.answer.status_code, http_user.page_name) == (422, "form")
    assert "Fill this in." in http_user.text
    assert "sk-very-secret-typed" not in http_user.answer.text
    http_user.press("submit", key="sk-very-secret-typed", team="blue")
    assert http_user.page_status == "completed"
    assert stage.look(asked)["result"].keys() == {"connection"}
    assert secret(stage, asked).json() == {"fields": {"key": "sk-very-secret-typed", "team": "blue"}}
    assert stage.events(asked) == DONE
    assert "sk-very-secret-typed" not in str(stage.feed())
    assert "sk-very-secret-typed" not in dump.database(stage.box.database_url)


def test_credentials_are_ended_by_their_owner_and_gone(stage: Stage, http_user: HttpUser) -> None:
    asked = stage.ask(kind="credentials", message="To post for you.", params=KEYS)
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    http_user.press("submit", key="sk-1", team="blue")
    connection = stage.look(asked)["result"]["connection"]
    token = stage.agent.post(f"/v1/connections/{connection}/token")
    assert (token.status_code, token.json()["code"]) == (409, "conflict")
    http_user.open(f"{stage.box.url}/account")
    assert "API key, Team" in http_user.text
    http_user.open(f"{stage.box.url}/account/connections/{connection}")
    http_user.press("revoke")
    gone = secret(stage, asked)
    assert (gone.status_code, gone.json()["code"]) == (410, "connection_revoked")
    assert stage.sql("SELECT secrets, upstream FROM elicit_flows_connection WHERE id = %s", connection) == [
        ("", "none")
    ]


def test_t62_credentials_of_another_agent_do_not_exist(
    stage: Stage, http_user: HttpUser, new_stage: Callable[[Box], Stage]
) -> None:
    asked = stage.ask(kind="credentials", message="To post for you.", params=KEYS)
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    http_user.press("submit", key="sk-1", team="blue")
    connection = stage.look(asked)["result"]["connection"]
    other = new_stage(stage.box)
    assert other.agent.post(f"/v1/connections/{connection}/secret").status_code == 404
    asked = stage.ask(reuse="never")
    stage.complete(http_user, asked)
    assert secret(stage, asked).status_code == 409
