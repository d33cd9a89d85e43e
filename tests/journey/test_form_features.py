"""Every feature of both dialects in a real browser: answered badly, told so beside the question, and answered well."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Error, Locator

from tests.journey.stage import Stage
from tests.kinds.form.features import FEATURES, Feature, Sent, sent
from tests.support.browser import User


def enter(user: User, given: Sent) -> bool:
    """As a person would; False where the page lets nobody enter that."""
    if user.page.locator('[name="q0-zone"]').count() and "q0-zone" not in given:
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
    control.fill(value, timeout=1000)
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


def _faulty(stage: Stage, user: User, feature: Feature) -> str:
    """What is wrong with the way this feature is rendered and taken; "" when nothing is."""
    asked = stage.ask(kind="form", params=feature.params)
    user.open(asked["url"])
    wrong = next((given for given in map(sent, feature.refused) if given and enter(user, given)), None)
    if wrong is not None:
        user.press("submit")
        beside = user.page.locator("[data-name=q0] .fault")
        if user.page_status != "pending" or not beside.count() or stage.status(asked) != "pending":
            return f"{wrong} was not refused beside the question"
    given, value = next((one for one in feature.taken if enter(user, sent(one[0]))), (None, None))
    if given is None:
        return "nothing can be entered"
    user.press("submit")
    content = (stage.look(asked)["result"] or {}).get("content")
    expected = {} if value is None else {"x": value}
    return "" if content == expected else f"{given} became {content}, not {expected}: {user.text[:200]}"


@pytest.mark.limit(180)  # a page for each of the features, and another for each that is refused
@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_every_feature_is_rendered_refused_and_taken_in_a_browser(
    stage: Stage, new_user: Callable[..., User], scripts: bool
) -> None:
    user = new_user(scripts=scripts)
    user.open(f"{stage.box.url}/account")
    user.carry_on("signin", "alice")
    faults = {name: said for name, feature in FEATURES if (said := _faulty(stage, user, feature))}
    assert faults == {}
    assert [one for one in user.complaints if "Failed to load resource" not in one] == []


def test_a_day_that_there_is_not_is_not_dropped_without_a_word(stage: Stage, new_user: Callable[..., User]) -> None:
    """A browser's own control for dates has no value while it shows such a day."""
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
