"""One link with several steps: they are done in order, one at a time, and each once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.cast import ALICE
from tests.journey.stage import Json, Stage, form_post
from tests.support.browser import User
from tests.support.http_user import HttpUser
from tests.support.process import until

CONNECT = {"kind": "oauth", "params": {"provider": "drive"}}
QUESTION = {"id": "name", "kind": "text", "message": "Name?", "required": True}
ASK = {"kind": "form", "params": {"questions": [QUESTION], "shared": True},
       "message": "So that I can call it something."}  # fmt: skip
DELETE = {"kind": "confirm", "params": {"detail": "Delete 12 files.", "danger": True, "confirm_label": "Delete"}}
MOVE = {"kind": "confirm", "params": {"detail": "Move 12 files."}}
NewUser = Callable[..., HttpUser]


def steps(stage: Stage, *each: Json, **more: object) -> Json:
    return stage.ask(kind="steps", message="Let me set this up.", params={"steps": list(each)}, **more)


def done(stage: Stage, asked: Json) -> list[str]:
    """The kinds of the steps that are done, as the agent is told."""
    return [one["kind"] for one in (stage.look(asked)["result"] or {}).get("steps", [])]


def shown(user: HttpUser) -> str:
    """What the list of steps says, in one line."""
    listed = user.text.partition("Development settings")[2]
    return " ".join(listed.split())


def test_three_things_are_done_in_order_by_one_link_with_one_completion(each_stage: Stage, http_user: HttpUser) -> None:
    stage, user = each_stage, http_user
    asked = steps(stage, CONNECT, ASK, DELETE)
    assert (asked["kind"], asked["status"], asked["result"]) == ("steps", "pending", None)
    user.open(asked["url"])
    user.carry_on("signin", "alice")
    assert user.page_name == "consent"
    assert "Drive now Questions Delete" in shown(user)
    user.carry_on("continue", "alice", "allow")
    assert (user.page_name, user.url) == ("form", asked["url"]), "and on to the next"
    assert "Drive done Questions now Delete" in shown(user)
    assert "So that I can call it something." in user.text
    assert (stage.status(asked), done(stage, asked)) == ("started", ["oauth"])
    user.press("submit", q0="Atlas")
    assert "Delete 12 files." in user.text
    user.press("submit", typed="CONFIRM")
    assert (user.page_name, user.page_status) == ("done", "completed")
    told = stage.look(asked)
    assert (told["action"], [one["kind"] for one in told["result"]["steps"]]) == (
        "accept",
        ["oauth", "form", "confirm"],
    )
    first, second, third = (one["result"] for one in told["result"]["steps"])
    assert (second, third) == ({"content": {"name": "Atlas"}}, {"confirmed": True})
    token = stage.agent.post(f"/v1/connections/{first['connection']}/token", json={})
    assert stage.works(token)
    events = stage.events()
    assert events == stage.events(asked), "every event is the whole's"
    assert events == ["created", *["started", "settling"] * 3, "completed"]
    seqs = [event["seq"] for event in stage.feed()]
    assert seqs == sorted(set(seqs))
    assert [len((event["data"]["result"] or {}).get("steps", [])) for event in stage.feed()] == [0, 0, 0, 1, 1, 2, 2, 3]


def test_what_is_done_stays_done_when_they_come_back_tomorrow(stage: Stage, new_http_user: NewUser) -> None:
    asked = steps(stage, CONNECT, ASK, MOVE, expires_in=86400)
    today = new_http_user()
    today.open(asked["url"])
    today.carry_on("signin", "alice", "continue", "alice", "allow")
    assert today.page_name == "form"
    tomorrow = new_http_user()
    tomorrow.open(asked["url"])
    tomorrow.carry_on("signin", "alice")
    assert "Drive done Questions now" in shown(tomorrow)
    tomorrow.press("submit", q0="Atlas")
    tomorrow.press("submit")
    assert tomorrow.page_status == "completed"
    assert stage.drive.counts()["token.authorization_code"] == 1


@pytest.mark.slow
def test_in_a_browser_with_scripts_the_pages_lead_on_by_themselves(stage: Stage, alice: User) -> None:
    asked = steps(stage, CONNECT, ASK, MOVE)
    alice.open(asked["url"])
    second = alice.context.new_page()
    second.goto(asked["url"])
    alice.carry_on("continue", "alice", "allow")
    alice.wait_for_page("form")
    assert alice.page.locator("[aria-current=step]").inner_text().split() == ["Questions", "now"]
    alice.page.get_by_label("Name?").fill("Atlas")
    second.goto(asked["url"])
    assert second.locator("body").get_attribute("data-page") == "form"
    alice.press("submit")
    alice.wait_for_page("form")
    second.get_by_text("Move 12 files.").wait_for()  # the other window goes on by itself
    alice.press("submit")
    alice.wait_for_page("done", "completed")


def test_a_page_of_a_step_that_is_done_answers_no_other(stage: Stage, http_user: HttpUser) -> None:
    """Two windows show a harmless question. The question after it is not harmless."""
    asked = steps(stage, MOVE, DELETE)
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    stale = http_user.form_request("submit", typed="CONFIRM")
    no = http_user.form_request("decline")
    http_user.press("submit")
    assert "Delete 12 files." in http_user.text
    for late in (stale, no):
        answer = http_user.send(late)
        assert (answer.status_code, answer.headers["location"]) == (303, f"/c/{asked['id']}")
    assert (stage.status(asked), done(stage, asked)) == ("started", ["confirm"])


def test_no_step_can_be_taken_before_its_turn(stage: Stage, http_user: HttpUser) -> None:
    asked = steps(stage, MOVE, DELETE)
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    [[second]] = stage.sql("SELECT id FROM elicit_flows_elicitation WHERE parent_id = %s AND place = 1", asked["id"])
    for name in ("submit", "continue", "decline"):
        answer = form_post(http_user, f"{stage.box.url}/c/{second}/{name}", typed="CONFIRM")
        assert answer.status_code == 409, name
    for name in ("submit", "continue", "decline"):
        assert form_post(http_user, f"{asked['url']}/{name}", typed="CONFIRM").status_code == 409, name
    assert (stage.status(asked), stage.events(asked)) == ("pending", ["created"])


def test_a_no_at_one_step_ends_it_and_tells_what_was_done(stage: Stage, http_user: HttpUser) -> None:
    asked = steps(stage, MOVE, DELETE, ASK)
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    http_user.press("submit")
    http_user.press("decline")
    assert (http_user.page_name, http_user.page_status) == ("done", "declined")
    told = stage.look(asked)
    assert (told["action"], told["result"]) == (
        "decline",
        {"steps": [{"kind": "confirm", "result": {"confirmed": True}}]},
    )
    assert stage.events(asked)[-1] == "declined"

    def left() -> list[str]:
        rows = stage.sql("SELECT status FROM elicit_flows_elicitation WHERE parent_id = %s ORDER BY place", asked["id"])
        return [row[0] for row in rows]

    until(lambda: left() == ["completed", "declined", "cancelled"], "the step that nobody will come to is called off")
    assert stage.events(asked).count("declined") == 1
    assert stage.events(asked)[-1] == "declined"


def test_the_agent_takes_it_back_at_any_step(stage: Stage, http_user: HttpUser) -> None:
    asked = steps(stage, MOVE, DELETE)
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    http_user.press("submit")
    last = http_user.form_request("submit", typed="CONFIRM")
    answer = stage.agent.post(f"/v1/elicitations/{asked['id']}/cancel")
    assert (answer.status_code, answer.json()["status"], done(stage, asked)) == (200, "cancelled", ["confirm"])
    assert http_user.send(last).status_code == 410
    assert stage.agent.post(f"/v1/elicitations/{asked['id']}/cancel").json()["status"] == "cancelled"
    assert stage.events(asked)[-1] == "cancelled"


def test_taking_it_back_while_a_step_is_being_done_takes_it_back(stage: Stage, http_user: HttpUser) -> None:
    """In either order: the finished step is reported, and no further question is asked."""
    for _ in range(5):
        asked = steps(stage, MOVE, MOVE, DELETE)
        http_user.open(asked["url"])
        if "signin" in http_user.actions():
            http_user.carry_on("signin", "alice")
        with ThreadPoolExecutor(2) as pool:
            pressed = pool.submit(http_user.send, http_user.form_request("submit"))
            cancelled = pool.submit(stage.agent.post, f"/v1/elicitations/{asked['id']}/cancel")
        assert pressed.result().status_code in {303, 410}
        assert (cancelled.result().status_code, stage.status(asked)) == (200, "cancelled"), cancelled.result().text
        assert stage.events(asked).count("cancelled") == 1


def test_what_is_done_cannot_be_taken_back(stage: Stage, http_user: HttpUser) -> None:
    asked = steps(stage, MOVE, MOVE)
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    http_user.press("submit")
    http_user.press("submit")
    for verb in ("cancel", "complete"):
        refused = stage.agent.post(f"/v1/elicitations/{asked['id']}/{verb}")
        assert refused.status_code == 409, refused.text
    assert stage.status(asked) == "completed"


def test_time_runs_out_for_all_of_it(stage: Stage, http_user: HttpUser) -> None:
    asked = steps(stage, MOVE, DELETE)
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    http_user.press("submit")
    past = "2026-01-01 00:00:00+00:00" if stage.on_postgres else "2026-01-01 00:00:00"
    stage.sql("UPDATE elicit_flows_elicitation SET expires_at = %s WHERE parent_id = %s", past, asked["id"])
    stage.let_time_run_out(asked)
    assert (stage.status(asked), done(stage, asked)) == ("expired", ["confirm"])
    http_user.open(asked["url"])
    assert http_user.page_status == "expired"
    assert stage.events(asked).count("expired") == 1


def test_what_holds_already_is_not_asked_for_again(stage: Stage, http_user: HttpUser) -> None:
    stage.complete(http_user, stage.ask())
    asked = steps(stage, CONNECT, MOVE)
    assert (asked["status"], [one["kind"] for one in asked["result"]["steps"]]) == ("pending", ["oauth"])
    http_user.open(asked["url"])
    assert "Drive done" in shown(http_user)
    http_user.press("submit")
    assert http_user.page_status == "completed"
    again = steps(stage, CONNECT, CONNECT)
    assert (again["status"], again["reused"], again["action"]) == ("completed", True, "accept")
    assert len(again["result"]["steps"]) == 2
    assert stage.events(again) == ["completed"]


def test_a_step_may_be_done_by_the_agent_and_a_form_be_written_by_its_viewers(stage: Stage) -> None:
    link = {"kind": "link", "params": {"url": "https://example.com/terms", "completion": "by_agent"}}
    asked = steps(stage, link, ASK)
    one = f"/v1/elicitations/{asked['id']}"
    assert stage.agent.get(f"{one}/draft").status_code == 409, "the form is not next"
    assert stage.agent.post(f"{one}/complete").json()["status"] == "started"
    written = stage.agent.put(f"{one}/draft/name", json={"answer": {"state": "submitted", "value": "Atlas"}})
    assert (written.json()["elicitation"], written.json()["answers"]["name"]["value"]) == (asked["id"], "Atlas")
    assert written.json()["seq"] == stage.look(asked)["seq"]
    told = stage.agent.post(f"{one}/complete").json()
    assert (told["status"], told["result"]["steps"][1]["result"]) == ("completed", {"content": {"name": "Atlas"}})
    assert stage.agent.post(f"{one}/complete").status_code == 409


def test_t1_a_stranger_gets_to_no_step_and_the_agent_hears_of_the_whole(stage: Stage, new_http_user: NewUser) -> None:
    asked = steps(stage, MOVE, DELETE)
    alice, bob = new_http_user(), new_http_user()
    alice.open(asked["url"])
    alice.carry_on("signin", "alice")
    action = alice.form_request("submit").url
    bob.open(asked["url"])
    bob.carry_on("signin", "bob")
    assert bob.page_name == "mismatch"
    assert "Move 12 files." not in bob.text
    assert form_post(bob, str(action)).status_code == 403
    assert stage.events() == ["created", "refused"]
    assert stage.feed()[-1]["elicitation"] == asked["id"]


def test_t62_steps_are_nothing_of_their_own_to_agents(stage: Stage, http_user: HttpUser) -> None:
    asked = stage.ask(kind="steps", message="For /account.", params={"steps": [MOVE, DELETE]})
    listed = stage.agent.get("/v1/elicitations").json()["data"]
    assert [one["id"] for one in listed] == [asked["id"]]
    inner = [row[0] for row in stage.sql("SELECT id FROM elicit_flows_elicitation WHERE parent_id = %s", asked["id"])]
    assert len(inner) == 2
    for one in inner:
        assert stage.agent.get(f"/v1/elicitations/{one}").status_code == 404
        for verb in ("cancel", "complete", "consume"):
            assert stage.agent.post(f"/v1/elicitations/{one}/{verb}").status_code == 404
    http_user.open(f"{stage.box.url}/account/requests")
    http_user.carry_on("signin", "alice")
    assert http_user.text.count("For /account.") == 1


def test_pressing_the_last_button_many_times_at_once_is_one_end(stage: Stage, http_user: HttpUser) -> None:
    asked = steps(stage, MOVE, DELETE)
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    http_user.press("submit")
    http_user.at_once(http_user.form_request("submit", typed="CONFIRM"), 10)
    assert stage.status(asked) == "completed"
    events = stage.events(asked)
    assert (events.count("completed"), events.count("settling")) == (1, 2)


@pytest.mark.parametrize(
    ("params", "place"),
    [
        ({}, ["steps"]), ({"steps": [MOVE]}, ["steps"]), ({"steps": [MOVE] * 11}, ["steps"]),
        ({"steps": "x"}, ["steps"]),
        ({"steps": [MOVE, MOVE], "kind": "x"}, ["kind"]), ({"steps": [MOVE, "x"]}, ["steps", 1]),
        ({"steps": [MOVE, {"params": {}}]}, ["steps", 1, "kind"]),
        ({"steps": [MOVE, {"kind": "confirm", "params": []}]}, ["steps", 1, "params"]),
        ({"steps": [MOVE, {**MOVE, "message": ""}]}, ["steps", 1, "message"]),
        ({"steps": [MOVE, {**MOVE, "return_url": "x"}]}, ["steps", 1, "return_url"]),
        ({"steps": [MOVE, {"kind": "steps", "params": {"steps": [MOVE, MOVE]}}]}, ["steps", 1, "kind"]),
        ({"steps": [MOVE, {"kind": "oauth", "params": {"provider": "no"}}]}, ["steps", 1, "params", "provider"]),
        ({"steps": [{"kind": "confirm", "params": {"x": 1}}, MOVE]}, ["steps", 0, "params", "x"]),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_step_is_told_at_its_place(stage: Stage, params: Json, place: list[object]) -> None:
    refused = stage.try_to_ask(ALICE, kind="steps", params=params)
    assert refused.status_code == 422, refused.text
    assert [one["loc"] for one in refused.json()["errors"]] == [["params", *place]]
    assert stage.events() == []
