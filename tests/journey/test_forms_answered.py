"""Every question that a form can ask, in both dialects: asked by an agent, answered on the page, read by the agent."""

from __future__ import annotations

import pytest

from tests.journey.stage import Json, Stage, form_post
from tests.kinds.form.asked import NAMES, QUESTIONS, SCHEMA
from tests.support.browser import User
from tests.support.http_user import HttpUser
from tests.web.gallery_axe import RUN, WIDTH, bring_axe

DEFAULTS = {"site": "https://example.com", "seats": 2, "window": True, "start": "2026-05-01T10:00:00+02:00"}


def form(stage: Stage, **params: object) -> Json:
    return stage.ask(kind="form", message="So that I can book it.", params=params)


def content(stage: Stage, asked: Json) -> Json:
    told = stage.look(asked)
    assert (told["status"], told["action"]) == ("completed", "accept")
    assert set(told["result"]) == {"content"}
    return dict(told["result"]["content"])


@pytest.fixture(params=["Chromium", pytest.param("Chromium without scripts", marks=pytest.mark.slow)])
def user_with_or_without_scripts(request: pytest.FixtureRequest) -> User:
    user: User = request.getfixturevalue("new_user")(scripts=request.param == "Chromium")
    return user


@pytest.mark.slow
def test_every_feature_of_the_schema_is_answered_in_a_browser(stage: Stage, user_with_or_without_scripts: User):
    user, asked = user_with_or_without_scripts, form(stage, schema=SCHEMA)
    user.open(asked["url"])
    user.carry_on("signin", "alice")
    page = user.page
    assert (user.page_name, user.page_status) == ("form", "pending")
    for said in ("About the trip", "A few things we need", "2 to 60 characters.", "From 1 to 9.", "Choose 1 to 2."):
        assert said in user.text
    assert page.get_by_label("Seats").input_value() == "2"
    assert page.get_by_role("group", name="Extras").get_by_label("wifi").is_checked()
    assert page.get_by_label("Time zone of that time").input_value() == "+02:00"

    page.get_by_label("Full name").fill("A")
    page.get_by_label("E-mail").fill("alice@example.com")
    page.get_by_label("Day", exact=True).fill("2026-05-02")
    page.get_by_label("Booking reference").fill("abc")
    page.get_by_label("Notes").fill("One\ntwo é 😀")
    page.get_by_label("Budget").fill("12.50")
    page.get_by_role("radiogroup", name="Tell me about delays").get_by_label("No", exact=True).check()
    page.get_by_label("Business").check()
    page.get_by_label("Vegetarian").check()
    page.get_by_label("City").select_option(label="Oslo")
    page.get_by_label("lounge").check()
    page.get_by_label("Back").check()
    user.press("submit")

    assert (user.page_name, user.page_status) == ("form", "pending")
    assert page.get_by_role("alert").get_by_role("link").all_inner_texts() == ["Full name", "Booking reference"]
    assert "Write at least 2 characters; this has 1." in user.text
    assert page.get_by_label("Booking reference").input_value() == "abc"
    assert page.get_by_label("Notes").input_value() == "One\ntwo é 😀"
    described = page.get_by_label("Full name").get_attribute("aria-describedby") or ""
    assert f"{NAMES['name']}-fault" in described.split()
    assert set(stage.events(asked)) <= {"created", "draft"}

    page.get_by_role("alert").get_by_role("link", name="Full name").click()
    assert page.url.endswith(f"#{NAMES['name']}")
    page.get_by_label("Full name").fill("Alice Liddell")
    page.get_by_label("Booking reference").fill("ABC-12")
    user.press("submit")
    assert (user.page_name, user.page_status) == ("done", "completed")
    assert content(stage, asked) == {
        **DEFAULTS, "name": "Alice Liddell", "email": "alice@example.com", "day": "2026-05-02", "code": "ABC-12",
        "notes": "One\ntwo é 😀", "budget": 12.5, "news": False, "class": "biz", "meal": "v", "city": "Oslo",
        "extras": ["wifi", "lounge"], "seat": ["b"],
    }  # fmt: skip
    assert [one for one in user.complaints if "Failed to load resource" not in one] == []


@pytest.mark.slow
def test_every_kind_of_question_is_answered_in_a_browser(stage: Stage, user_with_or_without_scripts: User):
    user, asked = user_with_or_without_scripts, form(stage, questions=QUESTIONS)
    user.open(asked["url"])
    user.carry_on("signin", "alice")
    page = user.page
    assert page.get_by_label("Name").input_value() == "Atlas"
    assert "(recommended)" in user.text
    page.get_by_label("How many?").fill("three")
    page.get_by_role("radiogroup", name="Which runtime?").get_by_label("Something else", exact=True).check()
    page.get_by_label("Lint").check()
    page.get_by_label("Which region?").select_option(label="Region 3")
    user.press("submit")
    assert page.get_by_role("alert").get_by_role("link").all_inner_texts() == ["How many?", "Which runtime?"]
    assert page.get_by_label("How many?").input_value() == "three"
    assert page.get_by_label("Which region?").input_value() == "r3"

    page.get_by_label("How many?").fill("3")
    page.get_by_label("Something else: your own answer").first.fill("Bun")
    page.get_by_label("Something else besides").fill("Links")
    user.press("submit")
    assert user.page_status == "completed"
    assert content(stage, asked) == {
        "title": "Atlas", "weight": 1.5, "count": 3, "keep": False,
        "runtime": {"value": None, "freeformValues": ["Bun"]},
        "checks": {"value": ["lint"], "freeformValues": ["Links"]},
        "region": {"value": "r3", "freeformValues": []},
    }  # fmt: skip


def test_what_is_prefilled_and_what_is_missing_are_the_same_without_a_browser(each_stage: Stage, http_user: HttpUser):
    """On every set-up: a database may change the order of the schema's properties."""
    asked = form(each_stage, schema=SCHEMA)
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    http_user.press("submit", **{NAMES["name"]: "Alice", NAMES["email"]: "alice@example.com", NAMES["city"]: "Riga"})
    assert http_user.answer.status_code == 422
    assert "Choose one." in http_user.text
    http_user.press("submit", **{NAMES["news"]: "yes"})
    assert http_user.page_status == "completed"
    assert content(each_stage, asked) == {
        **DEFAULTS, "name": "Alice", "email": "alice@example.com", "class": "eco", "city": "Riga", "news": True,
        "extras": ["wifi"],
    }  # fmt: skip


def test_an_empty_form_is_a_plain_yes(stage: Stage, http_user: HttpUser):
    asked = form(stage, schema={"type": "object", "properties": {}})
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice", "submit")
    assert content(stage, asked) == {}


def test_a_form_is_declined_with_nothing_told(stage: Stage, http_user: HttpUser):
    asked = form(stage, schema=SCHEMA)
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice", "decline")
    told = stage.look(asked)
    assert (told["status"], told["result"]) == ("declined", None)


def test_what_no_page_sends_is_refused_and_changes_nothing(stage: Stage, http_user: HttpUser):
    asked = form(stage, schema=SCHEMA)
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    for body in ({NAMES["name"]: ["a", "b"]}, {NAMES["name"]: "\0"}, {}, {NAMES["city"]: "Paris"}):
        answer = form_post(http_user, f"{asked['url']}/submit", **body)
        assert answer.status_code in {400, 422}
    assert stage.events(asked) == ["created"]


def test_t69_t70_a_form_that_may_not_be_is_refused_over_http_with_the_place(stage: Stage):
    for given, place in (
        ({"type": "string", "pattern": "(?=a)b"}, "pattern"),
        ({"type": "string", "format": "password"}, "format"),
        ({"type": "string", "minLength": "x"}, "minLength"),
    ):
        params = {"schema": {"type": "object", "properties": {"x": given}}}
        answer = stage.try_to_ask(kind="form", params=params)
        assert answer.status_code == 422
        [fault] = answer.json()["errors"]
        assert fault["loc"][-5:] == ["params", "schema", "properties", "x", place]
    secret = {"questions": [{"id": "a", "kind": "text", "message": "Your API key?"}]}
    answer = stage.try_to_ask(kind="form", params=secret)
    assert answer.status_code == 422
    assert "Use kind credentials" in answer.json()["errors"][0]["message"]
    assert stage.events() == []


@pytest.mark.slow
@pytest.mark.parametrize("params", [{"schema": SCHEMA}, {"questions": QUESTIONS}], ids=["schema", "questions"])
def test_the_page_of_a_form_is_accessible(stage: Stage, user: User, params: Json):
    bring_axe(user)
    user.page.set_viewport_size({"width": 375, "height": 720})
    user.open(form(stage, **params)["url"])
    user.carry_on("signin", "alice")
    for wrong in (False, True):
        if wrong:
            user.page.locator("#q0").fill("A")
            user.press("submit")
            assert user.page.locator("[aria-invalid]").count() > 1
            for skip in user.page.get_by_text("Skip this question").all():
                skip.click()
        for scheme in ("light", "dark"):
            user.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            assert user.page.evaluate(RUN, None) == [], (scheme, wrong)
        assert user.page.evaluate(WIDTH) <= 375


@pytest.mark.slow
def test_by_keyboard_alone_a_form_is_answered(stage: Stage, user: User):
    properties = {"name": {"type": "string"}, "size": {"type": "string", "enum": ["s", "m"]}, "ok": {"type": "boolean"}}
    asked = form(stage, schema={"type": "object", "properties": properties, "required": ["name", "size", "ok"]})
    user.open(asked["url"])
    user.carry_on("signin", "alice")
    keyboard = user.page.keyboard
    for _ in range(10):
        keyboard.press("Tab")
        if user.page.evaluate("document.activeElement.id") == "q0":
            break
    keyboard.type("Alice")
    keyboard.press("Tab")
    keyboard.press("Space")
    keyboard.press("ArrowDown")
    keyboard.press("Tab")
    keyboard.press("Space")
    keyboard.press("Enter")
    user.page.wait_for_selector("body[data-page=done]")
    assert content(stage, asked) == {"name": "Alice", "size": "m", "ok": True}
