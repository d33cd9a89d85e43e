"""One form in several windows: a change in one appears in all, and in the agent's own clients."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable

import pytest
from playwright.sync_api import Route

from tests.journey.stage import Json, Stage, form_post
from tests.support.browser import User
from tests.support.http_user import HttpUser
from tests.support.process import until

pytestmark = pytest.mark.slow

QUESTIONS = [
    {"id": "name", "kind": "text", "title": "Name", "message": "Of the project", "required": True},
    {"id": "seats", "kind": "integer", "message": "How many?"},
    {"id": "keep", "kind": "boolean", "message": "Keep it?"},
    {"id": "runtime", "kind": "single-select", "message": "Which runtime?", "allowFreeformInput": True,
     "options": [{"id": "node", "label": "Node"}, {"id": "deno", "label": "Deno"}]},
    {"id": "checks", "kind": "multi-select", "message": "Which checks?",
     "options": [{"id": name.lower(), "label": name} for name in ("Lint", "Types", "Links")]},
    {"id": "region", "kind": "single-select", "message": "Which region?",
     "options": [{"id": f"r{number}", "label": f"Region {number}"} for number in range(9)]},
]  # fmt: skip
NAMES = {str(one["id"]): f"q{place}" for place, one in enumerate(QUESTIONS)}
# What each control of the page holds, but for what the page says of itself.
HELD = """() => [...new FormData(document.querySelector('form[data-action=submit]'))]
    .filter(([name]) => /^q\\d/.test(name)).map(([name, value]) => [name, value])"""
SEEDS = [int(seed) for seed in os.environ.get("DRAFT_SEEDS", "1").split(",")]


@pytest.fixture
def asked(stage: Stage) -> Json:
    return stage.ask(kind="form", message="So that I can set it up.", params={"questions": QUESTIONS, "shared": True})


@pytest.fixture
def two_windows(asked: Json, new_user: Callable[..., User]) -> list[User]:
    """Alice at two computers."""
    windows = [new_user() for _ in range(2)]
    for window in windows:
        window.open(asked["url"])
        window.carry_on("signin", "alice")
    return windows


def draft_of(stage: Stage, asked: Json) -> dict[str, Json]:
    answer = stage.agent.get(f"/v1/elicitations/{asked['id']}/draft")
    assert answer.status_code == 200, answer.text
    return dict(answer.json()["answers"])


def values(stage: Stage, asked: Json) -> Json:
    return {name: one.get("value") for name, one in draft_of(stage, asked).items()}


def held(user: HttpUser, name: str) -> str:
    """What a control of the form holds."""
    return next(value for given, value in user.page.forms["submit"].fields if given == name)


def shows(window: User, control: str, value: str) -> None:
    """Soon, by itself."""
    one = window.page.locator(f"[name={control}]")
    until(lambda: one.input_value() == value, f"{control} is {value}", timeout=25)


def share(stage: Stage, asked: Json, name: str, value: object) -> None:
    answer = None if value is None else {"state": "draft", "value": value}
    told = stage.agent.put(f"/v1/elicitations/{asked['id']}/draft/{name}", json={"answer": answer})
    assert told.status_code == 200, told.text


def test_what_is_written_in_one_window_is_seen_in_the_other_and_by_the_agent(
    stage: Stage, asked: Json, two_windows: list[User]
) -> None:
    here, there = two_windows
    here.page.get_by_label("Name").fill("Atlas")
    here.page.get_by_label("Lint").check()
    there.page.get_by_label("Which region?").select_option("r3")
    until(lambda: len(values(stage, asked)) == 3, "the agent sees the three answers", timeout=25)
    assert values(stage, asked) == {"name": "Atlas", "checks": ["lint"], "region": "r3"}
    assert {one["by"] for one in draft_of(stage, asked).values()} == {"person"}
    share(stage, asked, "runtime", {"value": None, "freeformValues": ["Bun"]})
    for window in two_windows:
        for control, value in (("q3-own", "Bun"), ("q5", "r3"), ("q0", "Atlas")):
            shows(window, control, value)
        assert window.page.get_by_label("Lint").is_checked()
    assert "Changed in another window: " in there.page.get_by_role("status").inner_text()
    assert set(stage.events(asked)) == {"created", "draft"}
    there.press("submit")
    there.wait_for_page("done", "completed")
    here.wait_for_page("done", "completed")  # by itself
    assert stage.look(asked)["result"]["content"] == {
        "name": "Atlas", "checks": ["lint"], "region": "r3", "runtime": {"value": None, "freeformValues": ["Bun"]},
    }  # fmt: skip
    complaints = [one for window in two_windows for one in window.complaints]
    assert [one for one in complaints if "Failed to load resource" not in one] == []


@pytest.mark.slow
def test_what_was_written_is_there_when_they_come_back_tomorrow(
    stage: Stage, asked: Json, new_user: Callable[..., User]
) -> None:
    today = new_user()
    today.open(asked["url"])
    today.carry_on("signin", "alice")
    today.page.get_by_label("Name").fill("Atlas")
    today.page.get_by_role("radiogroup", name="Keep it?").get_by_label("Yes").check()
    until(lambda: len(values(stage, asked)) == 2, "both are kept", timeout=25)
    today.close()
    tomorrow = new_user(scripts=False)
    tomorrow.open(asked["url"])
    tomorrow.carry_on("signin", "alice")
    assert tomorrow.page.get_by_label("Name").input_value() == "Atlas"
    tomorrow.press("submit")
    assert stage.look(asked)["result"] == {"content": {"name": "Atlas", "keep": True}}


def test_without_scripts_a_page_from_before_sends_nothing_that_was_answered_elsewhere_since(
    stage: Stage, asked: Json, http_user: HttpUser
) -> None:
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    share(stage, asked, "name", "Atlas")
    share(stage, asked, "seats", 3)
    http_user.press("submit", q0="Mine", q1="", q5="r1")
    assert http_user.answer.status_code == 422
    assert http_user.text.count("This was answered elsewhere meanwhile.") == 4, "beside each of two, and above"
    assert (held(http_user, "q0"), held(http_user, "q1"), held(http_user, "q5")) == ("Atlas", "3", "r1")
    assert stage.look(asked)["status"] == "pending"
    http_user.press("submit", q0="Mine")
    assert http_user.page_status == "completed"
    assert stage.look(asked)["result"]["content"] == {"name": "Mine", "seats": 3, "region": "r1"}


def test_whoever_sends_second_is_told_that_it_is_over(stage: Stage, asked: Json, http_user: HttpUser) -> None:
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    late = http_user.form_request("submit", q0="Late")
    http_user.press("submit", q0="First")
    assert http_user.page_status == "completed"
    told = http_user.send(late)
    assert told.status_code == 410
    assert 'data-status="completed"' in told.text
    assert stage.look(asked)["result"]["content"] == {"name": "First"}


def test_sending_many_times_at_once_is_one_answer_and_leads_everybody_on(
    stage: Stage, asked: Json, http_user: HttpUser
) -> None:
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    told = http_user.at_once(http_user.form_request("submit", q0="Atlas"), 12)
    assert {answer.status_code for answer in told} <= {303, 410}
    assert all('data-status="completed"' in answer.text for answer in told if answer.status_code == 410)
    assert stage.events(asked) == ["created", "started", "settling", "completed"]


@pytest.mark.slow
def test_the_questions_may_change_while_somebody_answers(
    stage: Stage, asked: Json, two_windows: list[User], http_user: HttpUser
) -> None:
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    two_windows[0].page.get_by_label("Name").fill("Atlas")
    until(lambda: values(stage, asked) == {"name": "Atlas"}, "it is kept", timeout=25)
    fewer = [QUESTIONS[1], QUESTIONS[0] | {"message": "Of all of it"}]
    changed = stage.agent.patch(f"/v1/elicitations/{asked['id']}", json={"params": {"questions": fewer}})
    assert changed.status_code == 200, changed.text
    for window in two_windows:
        window.page.get_by_text("Of all of it").wait_for()
        assert window.page.get_by_label("Name").input_value() == "Atlas"
    http_user.press("submit", q0="Ours", q1="7")
    assert http_user.answer.status_code == 422
    assert "The questions were changed meanwhile." in http_user.text
    assert stage.look(asked)["status"] == "pending"
    assert (held(http_user, "q0"), held(http_user, "q1")) == ("", "Atlas")


def test_a_question_is_skipped_with_a_reason(stage: Stage, asked: Json, http_user: HttpUser) -> None:
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    assert http_user.text.count("Skip this question") == 5, "but not of the one that is required"
    http_user.press("submit", **{"q0": "Atlas", "q1-why": " I do\tnot know ", "q5": "r2", "q5-why": "unused"})
    assert stage.look(asked)["result"] == {
        "content": {"name": "Atlas", "region": "r2"}, "skipped": {"seats": "I do not know"},
    }  # fmt: skip


@pytest.mark.slow
def test_an_idle_window_ends_nothing(stage: Stage, asked: Json, two_windows: list[User]) -> None:
    two_windows[0].page.get_by_label("Name").fill("Atlas")
    until(lambda: values(stage, asked) == {"name": "Atlas"}, "it is kept", timeout=25)
    shows(two_windows[1], "q0", "Atlas")
    page = two_windows[0].page
    kept = page.get_by_text("What you write is kept until you send it.")
    kept.wait_for()
    page.get_by_label("How many?").fill("9" * 25)
    kept.wait_for(state="detached")
    assert values(stage, asked) == {"name": "Atlas"}, "what cannot be an answer is not kept, and the page says no more"
    two_windows[1].close()
    assert stage.look(asked)["status"] == "pending"
    assert stage.events(asked) == ["created", "draft"]
    assert values(stage, asked) == {"name": "Atlas"}


def test_t1_a_stranger_neither_reads_nor_writes_the_draft(stage: Stage, asked: Json, http_user: HttpUser) -> None:
    share(stage, asked, "name", "Atlas")
    url = f"{asked['url']}/draft"
    assert http_user.get(url).status_code == 403, "signed out"
    http_user.open(asked["url"])
    http_user.carry_on("signin", "bob")
    assert http_user.page_name == "mismatch"
    read = http_user.get(url)
    assert (read.status_code, read.json()) == (403, {"message": "This link is for someone else"})
    assert form_post(http_user, url, question="q0", q0="Mine", asked="0" * 16).status_code == 403
    assert values(stage, asked) == {"name": "Atlas"}
    assert stage.events(asked) == ["created", "draft", "refused"]


def test_t50_a_draft_is_not_written_without_the_pages_token(stage: Stage, asked: Json, http_user: HttpUser) -> None:
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    body = {"question": "q0", "q0": "Mine", "asked": held(http_user, "asked")}
    origin = {"origin": stage.box.url, "sec-fetch-site": "same-origin"}
    forged = http_user.send(http_user.http.build_request("POST", f"{asked['url']}/draft", data=body, headers=origin))
    assert forged.status_code == 403
    assert form_post(http_user, f"{asked['url']}/draft", **body).json() == {"seq": 2}
    assert values(stage, asked) == {"name": "Mine"}


def test_what_is_no_answer_to_a_question_of_the_page_is_not_kept(
    stage: Stage, asked: Json, http_user: HttpUser
) -> None:
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    of_page = {"asked": held(http_user, "asked")}
    bodies: list[tuple[Json, int]] = [
        ({"question": "q1", "q1": "many", **of_page}, 422),
        ({"question": "q5", "q5": "r77", **of_page}, 422),
        ({"question": "q9", "q9": "x", **of_page}, 400),
        ({"question": "q0", "q0": "x", "asked": "0" * 16}, 400),
        ({"question": "q0", "q0": ["x", "y"], **of_page}, 400),
    ]
    for body, status in bodies:
        answer = form_post(http_user, f"{asked['url']}/draft", **body)
        assert (answer.status_code, list(answer.json())) == (status, ["message"]), body
    assert values(stage, asked) == {}


def _write(window: User, rng: random.Random) -> None:
    """Something in one of the controls, as a person would."""
    page, name = window.page, rng.choice(list(NAMES))
    question = page.locator(f"[data-name={NAMES[name]}]")
    if name == "name":
        page.get_by_label("Name").fill(rng.choice(["", "A", "Atlas", "Zoë 😀"]))
    elif name == "seats":
        page.get_by_label("How many?").fill(rng.choice(["", "1", "22"]))
    elif name == "region":
        page.get_by_label("Which region?").select_option(rng.choice(["", "r1", "r2"]))
    elif name == "checks":
        question.get_by_label(rng.choice(["Lint", "Types", "Links"])).click()
    elif name == "keep":
        question.get_by_label(rng.choice(["Yes", "No", "No answer"]), exact=True).check()
    else:
        question.get_by_label(rng.choice(["Node", "Deno"]), exact=True).check()


def _share(stage: Stage, asked: Json, rng: random.Random) -> None:
    name, value = rng.choice([
        ("name", "Of the agent"), ("name", None), ("seats", 5), ("seats", None), ("keep", True), ("keep", None),
        ("checks", ["links"]), ("checks", None), ("region", "r3"), ("runtime", {"value": "node", "freeformValues": []}),
        ("runtime", None),
    ])  # fmt: skip
    share(stage, asked, name, value)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_however_they_interleave_all_end_with_the_same_answers(
    stage: Stage, asked: Json, two_windows: list[User], seed: int
) -> None:
    """DRAFT_SEEDS=3,4,5 runs other random histories."""
    rng = random.Random(seed)
    for _ in range(30):
        who = rng.randrange(3)
        if who == 2:
            _share(stage, asked, rng)
        else:
            _write(two_windows[who], rng)
        two_windows[0].page.wait_for_timeout(rng.choice([0, 0, 50, 300, 700]))

    def agree() -> bool:
        shown = [window.page.evaluate(HELD) for window in two_windows]
        return shown[0] == shown[1] == _held(stage, asked)

    until(agree, "both windows and the agent have the same", timeout=30)
    two_windows[0].page.wait_for_timeout(1000)
    assert agree(), "and that stays so"
    two_windows[0].page.get_by_label("Name").fill("The end")
    two_windows[0].press("submit")
    answered = {name: value for name, value in values(stage, asked).items() if value is not None}
    assert stage.look(asked)["result"]["content"] == answered | {"name": "The end"}
    told = [event["data"] for event in stage.feed() if event["type"] == "elicitation.draft"]
    assert {str(one["draft"]) for one in told} == {"None"}, "what was written on the way is told to nobody any more"


def _held(stage: Stage, asked: Json) -> list[list[str]]:
    """What the page's controls would hold, by what the agent reads."""
    told = values(stage, asked)
    runtime = told.get("runtime") or {"value": "", "freeformValues": []}
    one = {
        "q0": [told.get("name") or ""], "q1": [str(told.get("seats") or "")],
        "q2": [{True: "yes", False: "no"}.get(told.get("keep"), "")],  # type: ignore[arg-type]
        "q3": [runtime["value"] or ""], "q3-own": [*runtime["freeformValues"], ""][:1],
        "q4": sorted(told.get("checks") or [], key=["lint", "types", "links"].index), "q5": [told.get("region") or ""],
    }  # fmt: skip
    whys = [[f"{name}-why", ""] for name in NAMES.values() if name != "q0"]
    held = [[name, value] for name, many in one.items() for value in many]
    order = [control for name in NAMES.values() for control in (name, f"{name}-own", f"{name}-why")]
    return sorted([*held, *whys], key=lambda pair: order.index(pair[0]))


@pytest.mark.slow
def test_the_page_is_not_led_away_from_while_its_form_is_on_the_way(
    stage: Stage, asked: Json, new_user: Callable[..., User]
) -> None:
    """It asks for the state of the form, and learns that it has ended before its own form is answered."""
    user = new_user()
    user.open(asked["url"])
    user.carry_on("signin", "alice")

    def slowly(route: Route) -> None:
        if route.request.is_navigation_request():
            stage.agent.post(f"/v1/elicitations/{asked['id']}/cancel")
            time.sleep(3)
        route.continue_()

    user.page.route("**", slowly)
    user.press("submit", q0="Atlas")
    assert (user.page_name, user.page_status) == ("done", "cancelled")


@pytest.mark.parametrize("also_wrong", [False, True], ids=["sent", "refused for another answer"])
def test_what_is_written_after_the_last_save_counts_and_was_not_written_elsewhere(
    stage: Stage, asked: Json, new_user: Callable[..., User], also_wrong: bool
) -> None:
    """The page has saved "At". The person continues, and sends the form before the page saves again."""
    user = new_user()
    user.open(asked["url"])
    user.carry_on("signin", "alice")
    user.page.locator("[name=q0]").fill("At")
    until(lambda: values(stage, asked).get("name") == "At", "the page has saved it")
    wrong = {"q1": "many"} if also_wrong else {}
    user.press("submit", q0="Atlas", **wrong)
    if also_wrong:
        assert user.page.locator(".field .fault").count() == 1, user.text
        assert user.page.locator("[name=q0]").input_value() == "Atlas"
        user.press("submit", q1="3")
    assert (user.page_name, user.page_status) == ("done", "completed"), user.text
    assert stage.look(asked)["result"]["content"]["name"] == "Atlas"


def test_a_save_that_arrives_after_its_page_was_refused_was_not_written_elsewhere(
    stage: Stage, asked: Json, http_user: HttpUser
) -> None:
    """The script was saving "At" when the person sent "Atlas" and a fault. The save arrived after the refusal."""
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    late = {"question": "q0", "q0": "At"} | {name: held(http_user, name) for name in ("asked", "page")}
    http_user.press("submit", q0="Atlas", q1="many")
    assert http_user.answer.status_code == 422
    assert form_post(http_user, f"{asked['url']}/draft", **late).status_code == 200
    seen = {"after": held(http_user, "seen"), "page": held(http_user, "page")}
    assert http_user.http.get(f"{asked['url']}/draft", params=seen).json()["controls"] == {}
    http_user.press("submit", q1="3")
    assert http_user.page_status == "completed", http_user.text
    assert stage.look(asked)["result"]["content"]["name"] == "Atlas"
