"""Every feature of both form dialects in a browser: a wrong answer gets an error beside its question, a right one
passes.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Error, Locator

from tests.journey.stage import Json, Stage
from tests.kinds.form.asked import of_schema
from tests.kinds.form.features import QUESTION_FEATURES, SCHEMA_FEATURES, Feature, Sent, sent
from tests.support.browser import User
from tests.support.machine import within

NOTHING = object()


def enter(user: User, place: int, given: Sent) -> bool:
    """As a person would; False where the page lets nobody enter that."""
    zone = f"q{place}-zone"
    if user.page.locator(f'[name="{zone}"]').count() and zone not in given:
        return False  # the page sends it always
    controls = {name: user.page.locator(f'[name="{name}"]') for name in given}
    try:
        return all(_enter(controls[name], values) for name, values in given.items())
    except Error:  # a control for dates takes no other text
        return False


def _enter(control: Locator, values: list[str]) -> bool:
    if not control.count():
        return not any(values)
    sort = control.first.evaluate("one => one.type")
    if sort in {"radio", "checkbox"}:
        return _choose(control, values)
    [value] = values
    if sort == "select-one":
        known = control.locator("option").evaluate_all("all => all.map(one => one.value)")
        return value in known and bool(control.select_option(value))
    if sort != "textarea" and not value.isprintable():
        return False
    control.fill(value, timeout=within(1) * 1000)
    return control.input_value().split() == value.split()


def _choose(control: Locator, values: list[str]) -> bool:
    offered = {one.get_attribute("value"): one for one in control.all()}
    if not set(values) <= set(offered) or len(set(values)) < len(values):
        return False
    for value, one in offered.items():
        if one.get_attribute("type") == "checkbox":
            one.set_checked(value in values)
        elif value in values:
            one.check()
    return True


def at(place: int, given: str | Sent) -> Sent:
    """As it is sent where the question stands at that place of a form."""
    return {name.replace("q0", f"q{place}"): values for name, values in sent(given).items()}


def together(features: list[Feature]) -> Json:
    """One form that asks all of them, under the ids x0, x1, …"""
    alone = [one.params for one in features]
    if "questions" in alone[0]:
        return {"questions": [{**one["questions"][0], "id": f"x{place}"} for place, one in enumerate(alone)]}
    schemas = {f"x{place}": one["schema"] for place, one in enumerate(alone)}
    required = [name for name, schema in schemas.items() if schema.get("required")]
    return of_schema({name: schema["properties"]["x"] for name, schema in schemas.items()}, *required)


def enter_one(user: User, choices: list[Sent], place: int) -> Sent | None:
    """The first of them that the page lets anybody enter; None where there is none."""
    return next((given for given in choices if given and enter(user, place, given)), None)


def check_refused(user: User, features: list[Feature]) -> None:
    """Whatever is wrong with an answer is said beside its question."""
    wrong = {
        place: enter_one(user, [at(place, given) for given in feature.refused], place)
        for place, feature in enumerate(features)
    }
    user.press("submit")
    assert user.page_status == "pending"
    beside = {place for place in wrong if user.page.locator(f"[data-name=q{place}] .fault").count()}
    unseen = {features[place].name: given for place, given in wrong.items() if given and place not in beside}
    assert unseen == {}, "none of these was refused"


def enter_all(user: User, features: list[Feature]) -> Json:
    """What is to come of what was entered."""
    expected = {}
    for place, feature in enumerate(features):
        taken = next((value for given, value in feature.taken if enter(user, place, at(place, given))), NOTHING)
        assert taken is not NOTHING, f"{feature.name}: nothing can be entered"
        expected |= {} if taken is None else {f"x{place}": taken}
    return expected


@pytest.mark.slow
@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
@pytest.mark.parametrize("features", [SCHEMA_FEATURES, QUESTION_FEATURES], ids=["schema", "questions"])
def test_every_feature_is_rendered_refused_and_taken_in_a_browser(
    stage: Stage, new_user: Callable[..., User], scripts: bool, features: list[Feature]
) -> None:
    user = new_user(scripts=scripts)
    asked = stage.ask(kind="form", params=together(features))
    user.open(asked["url"])
    user.carry_on("signin", "alice")
    check_refused(user, features)
    assert stage.status(asked) == "pending"
    expected = enter_all(user, features)
    user.press("submit")
    assert user.page_status == "completed", user.text
    assert stage.look(asked)["result"] == {"content": expected}
    assert [one for one in user.complaints if "Failed to load resource" not in one] == []


@pytest.mark.slow
def test_a_day_that_there_is_not_is_not_dropped_without_a_word(stage: Stage, new_user: Callable[..., User]) -> None:
    """A browser's date control has no value while it shows such a day."""
    user = new_user(locale="en-US")
    asked = stage.ask(kind="form", params={"schema": {"type": "object", "properties": {
        "day": {"type": "string", "format": "date"},
    }}})  # fmt: skip
    user.open(asked["url"])
    user.carry_on("signin", "alice")
    user.page.locator("[name=q0]").focus()
    user.page.keyboard.type("02292023")
    assert user.page.locator("[name=q0]").evaluate("one => one.validity.badInput")
    user.page.locator('form[data-action="submit"] button').click()
    user.page.wait_for_timeout(500)
    assert (user.page_name, user.page_status, stage.status(asked)) == ("form", "pending", "pending")
    assert user.page.evaluate("document.activeElement.name") == "q0"
    user.page.keyboard.press("ArrowLeft")
    user.page.keyboard.press("ArrowLeft")
    user.page.keyboard.type("03")
    user.press("submit")
    assert stage.look(asked)["result"] == {"content": {"day": "2023-03-29"}}
