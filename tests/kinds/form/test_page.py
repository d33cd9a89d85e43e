"""The context that the page of a form gets about its questions."""

from __future__ import annotations

from typing import Any

import pytest

from elicit_flows import kinds
from elicit_flows.domain.values import Json
from gallery.answering import form_page
from tests.kinds.form.asked import of_schema, one, question
from tests.web.samples import render

TEXT = {"type": "string"}
EIGHT = [{"const": str(number), "title": f"No. {number}"} for number in range(8)]
TOLD = [option | {"description": "Told"} for option in EIGHT]


def described(params: Json) -> Json:
    [field] = kinds.get("form").describe(params, None)["fields"]
    return dict(field)


CONTROLS: list[tuple[Json, Json]] = [
    (one(TEXT), {"control": "line", "type": "text", "autocomplete": "off", "required": False, "most": None}),
    (one(TEXT, required=True), {"required": True}),
    (one(TEXT | {"minLength": 2, "maxLength": 200}), {"control": "line", "least": 2, "most": 400, "high": "200"}),
    (one(TEXT | {"maxLength": 201}), {"control": "area", "value": ""}),
    (one(TEXT | {"maxLength": 90_000}), {"high": "10000"}),
    (one(TEXT | {"maxLength": 5000, "pattern": "^[^<>]*$"}), {"high": "2000"}),
    (one(TEXT | {"default": "a\nb"}), {"control": "area", "value": "a\nb"}),
    (one(TEXT | {"format": "email", "default": "a@b.c"}), {"type": "email", "autocomplete": "email", "value": "a@b.c"}),
    (one(TEXT | {"format": "uri", "maxLength": 900}), {"control": "line", "type": "url"}),
    (one(TEXT | {"format": "date", "default": "2026-01-31"}), {"type": "date", "value": "2026-01-31"}),
    (
        one(TEXT | {"format": "date-time", "default": "2026-01-31T14:30:00Z"}),
        {"control": "moment", "type": "datetime-local", "value": "2026-01-31T14:30:00", "zone": "+00:00"},
    ),
    (one(TEXT | {"title": "Your name"}), {"autocomplete": "name", "label": "Your name"}),
    (one({"type": "integer", "minimum": 0, "default": 3.0}), {"inputmode": "numeric", "low": "0", "value": "3"}),
    (one({"type": "integer", "minimum": -1}), {"inputmode": "", "low": "-1"}),
    (one({"type": "number", "minimum": 0.5, "default": 2.5}), {"inputmode": "decimal", "low": "0.5", "value": "2.5"}),
    (one({"type": "boolean", "default": False}), {"control": "yesno", "value": "no"}),
    (one({"type": "boolean"}), {"control": "yesno", "value": ""}),
    (one(TEXT | {"oneOf": EIGHT[1:]}), {"control": "radios"}),
    (one(TEXT | {"oneOf": EIGHT}), {"control": "menu"}),
    (one(TEXT | {"oneOf": TOLD}), {"control": "radios"}),
    (one({"type": "array", "items": {"anyOf": EIGHT}}), {"control": "ticks", "low": None, "high": None}),
    (question("text", title="Name", message="What is it?"), {"label": "Name", "help": "What is it?"}),
    (question("text"), {"label": "What?", "help": ""}),
]  # fmt: skip


@pytest.mark.parametrize(("params", "expected"), CONTROLS, ids=range(len(CONTROLS)))
def test_each_question_gets_the_control_that_is_apt(params: Json, expected: dict[str, Any]):
    assert described(params) | expected == described(params)


@pytest.mark.parametrize(
    "key", ["action", "submit", "csrfmiddlewaretoken", "__proto__", "constructor", "q7", "a b", "é"]
)
def test_t52_no_agent_chooses_what_a_control_is_called(key: str):
    page = render("connect/form.html", form_page(of_schema({key: TEXT})))
    names = {str(one["name"]) for one in page.all("input") if "name" in one}
    assert names == {"csrfmiddlewaretoken", "next", "here", "seen", "asked", "page", "q0"}


def test_a_property_without_a_title_is_called_by_its_name():
    assert [described(of_schema({key: TEXT}))["label"] for key in ("file_name", "fileName", "_", "é")] == [
        "File name", "FileName", "_", "É",
    ]  # fmt: skip


def test_t53_nothing_invisible_is_prefilled():
    assert described(one(TEXT | {"default": "a\u202eb\u200bc"}))["value"] == "abc"


def test_what_somebody_typed_goes_back_to_them_as_it_was():
    typed = {"q0": ['"><b>\u200d'], "q1": ["x"], "q2": ["on"]}
    asked = of_schema({"a": TEXT | {"default": "d"}, "b": {"type": "integer", "default": 1}, "c": {"type": "boolean"}})
    page = render("connect/form.html", form_page(asked, typed=typed, faults={"q1": "Not so."}))
    values = {one["name"]: one["value"] for one in page.all("input") if one.get("type") == "text"}
    assert values == {"q0": '"><b>\u200d', "q1": "x"}
    assert [one["href"] for one in page.all("a") if str(one["href"]).startswith("#q")] == ["#q1"]
    [faulty] = [one for one in page.all("input") if "aria-invalid" in one]
    assert (faulty["name"], faulty["aria-describedby"].split()) == ("q1", ["q1-fault"])  # type: ignore[union-attr]
