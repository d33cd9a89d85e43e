"""Forms that are refused at create: the error names the place and what to do."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any

import pytest

from elicit_flows import kinds
from elicit_flows.domain.errors import Invalid
from elicit_flows.domain.values import Answer, Json
from tests.kinds.form.asked import of_schema, one, question, visit

X = ["params", "schema", "properties", "x"]
Q = ["params", "questions", 0]
TEXT = {"type": "string"}
AB = {"type": "string", "enum": ["a", "b"]}
OPTIONS = [{"id": "a", "label": "A"}, {"id": "b", "label": "B"}]
MANY = {"type": "array", "items": AB}

REFUSED: list[tuple[Json, list[list[Any]]]] = [
    # the object
    (of_schema({}, "x"), [["params", "schema", "required", 0]]),
    (of_schema({}, required="x"), [["params", "schema", "required"]]),
    (of_schema({"x": TEXT}, title="", description=7), [
        ["params", "schema", "title"], ["params", "schema", "description"],
    ]),
    (of_schema({"x": TEXT}, additionalProperties=TEXT), [["params", "schema", "additionalProperties"]]),
    (of_schema({"x": TEXT}, **{"$schema": 1}), [["params", "schema", "$schema"]]),
    (of_schema({"x": TEXT}, **{"$defs": {}}), [["params", "schema", "$defs"]]),
    (of_schema([TEXT]), [["params", "schema", "properties"]]),
    (of_schema({"": TEXT}), [["params", "schema", "properties", ""]]),
    (of_schema({"a\u200bb": TEXT}), [["params", "schema", "properties", "a\u200bb"]]),
    # a property
    (one([]), [X, [*X, "type"]]),
    (one({}), [[*X, "type"]]),
    (one({"type": ["string", "null"]}), [[*X, "type"]]),
    (one({"type": "object", "properties": {}}), [[*X, "type"]]),
    (one({"$ref": "#"}), [[*X, "type"]]),
    (one(TEXT | {"$ref": "#"}), [[*X, "$ref"]]),
    (one(TEXT | {"title": "\u200b", "description": "x" * 1001}), [[*X, "title"], [*X, "description"]]),
    (one(TEXT | {"minLength": -1}), [[*X, "minLength"]]),
    (one(TEXT | {"minLength": "1", "maxLength": True}), [[*X, "minLength"], [*X, "maxLength"]]),
    (one(TEXT | {"minLength": 1.5}), [[*X, "minLength"]]),
    (one(TEXT | {"minLength": 3, "maxLength": 2}), [[*X, "maxLength"]]),
    (one(TEXT | {"minLength": 10_001}), [[*X, "minLength"]]),
    (one(TEXT | {"minLength": 2001, "maxLength": 5000, "pattern": "x"}), [[*X, "minLength"]]),
    (one(TEXT | {"format": "date", "maxLength": 8}), [[*X, "maxLength"]]),
    (one(TEXT | {"format": "date", "minLength": 11}), [[*X, "minLength"]]),
    (one(TEXT | {"format": "date-time", "maxLength": 19}), [[*X, "maxLength"]]),
    (one(TEXT | {"format": "date-time", "minLength": 21}), [[*X, "minLength"]]),
    (one(TEXT | {"format": "hostname"}), [[*X, "format"]]),
    (one(TEXT | {"format": ["email"]}), [[*X, "format"]]),
    (one(TEXT | {"pattern": "("}), [[*X, "pattern"]]),
    (one(TEXT | {"pattern": ""}), [[*X, "pattern"]]),
    (one(TEXT | {"pattern": 1}), [[*X, "pattern"]]),
    (one(TEXT | {"minimum": 1}), [[*X, "minimum"]]),
    (one(TEXT | {"const": "a"}), [[*X, "const"]]),
    (one(TEXT | {"default": 1}), [[*X, "default"]]),
    (one(TEXT | {"minLength": 2, "default": "a"}), [[*X, "default"]]),
    (one(TEXT | {"format": "email", "default": "a"}), [[*X, "default"]]),
    (one(TEXT | {"pattern": "^b$", "default": "a"}), [[*X, "default"]]),
    (one({"type": "integer", "minimum": "1"}), [[*X, "minimum"]]),
    (one({"type": "integer", "minimum": 2, "maximum": 1}), [[*X, "maximum"]]),
    (one({"type": "integer", "default": 1.5}), [[*X, "default"]]),
    (one({"type": "integer", "default": True}), [[*X, "default"]]),
    (one({"type": "integer", "minimum": 2, "default": 1}), [[*X, "default"]]),
    (one({"type": "number", "multipleOf": 2}), [[*X, "multipleOf"]]),
    (one({"type": "number", "exclusiveMinimum": 2}), [[*X, "exclusiveMinimum"]]),
    (one({"type": "number", "default": "1"}), [[*X, "default"]]),
    (one({"type": "boolean", "default": "true"}), [[*X, "default"]]),
    (one({"type": "boolean", "enum": [True]}), [[*X, "enum"]]),
    # choosing one
    (one(AB | {"enum": []}), [[*X, "enum"]]),
    (one(AB | {"enum": ["a", "a"]}), [[*X, "enum", 1]]),
    (one(AB | {"enum": ["a", 1]}), [[*X, "enum", 1]]),
    (one(AB | {"enum": ["a", ""]}), [[*X, "enum", 1]]),
    (one(AB | {"enumNames": ["A"]}), [[*X, "enumNames"]]),
    (one(AB | {"enumNames": ["A", 2]}), [[*X, "enumNames", 1]]),
    (one(TEXT | {"enumNames": ["A"]}), [[*X, "enumNames"]]),
    (one(AB | {"default": "c"}), [[*X, "default"]]),
    (one(AB | {"maxLength": 1}), [[*X, "maxLength"]]),
    (one(AB | {"oneOf": [{"const": "a", "title": "A"}]}), [[*X, "oneOf"]]),
    (one(TEXT | {"oneOf": [{"const": "a"}]}), [[*X, "oneOf", 0, "title"]]),
    (one(TEXT | {"oneOf": [{"title": "A"}]}), [[*X, "oneOf", 0, "const"]]),
    (one(TEXT | {"oneOf": ["a"]}), [[*X, "oneOf", 0]]),
    (one(TEXT | {"oneOf": [{"const": "a", "title": "A"}] * 2}), [[*X, "oneOf", 1, "const"]]),
    (one(TEXT | {"oneOf": [{"const": "a", "title": "A", "type": "string"}]}), [[*X, "oneOf", 0, "type"]]),
    (one(TEXT | {"anyOf": [{"const": "a", "title": "A"}]}), [[*X, "anyOf"]]),
    # choosing several
    (one({"type": "array"}), [[*X, "items"]]),
    (one({"type": "array", "items": {"type": "string"}}), [[*X, "items", "enum"]]),
    (one({"type": "array", "items": {"type": "number", "enum": ["a"]}}), [[*X, "items", "type"]]),
    (one({"type": "array", "items": {"enum": ["a"]}}), [[*X, "items", "type"]]),
    (one({"type": "array", "items": {"type": "string", "oneOf": []}}), [[*X, "items", "oneOf"], [*X, "items", "enum"]]),
    (one({"type": "array", "items": MANY}), [[*X, "items", "items"], [*X, "items", "enum"], [*X, "items", "type"]]),
    (one(MANY | {"minItems": 3}), [[*X, "minItems"]]),
    (one(MANY | {"minItems": 2, "maxItems": 1}), [[*X, "maxItems"]]),
    (one(MANY | {"default": ["c"]}), [[*X, "default"]]),
    (one(MANY | {"default": "a"}), [[*X, "default"]]),
    (one(MANY | {"default": ["a", "a"]}), [[*X, "default"]]),
    (one(MANY | {"minItems": 2, "default": ["a"]}), [[*X, "default"]]),
    (one(MANY | {"uniqueItems": "yes"}), [[*X, "uniqueItems"]]),
    (one(MANY | {"enum": ["a"]}), [[*X, "enum"]]),
    # questions
    ({"questions": [{"id": "a", "kind": "text", "message": "A"}] * 2}, [["params", "questions", 1, "id"]]),
    (question("text", min=3, max=2), [[*Q, "max"]]),
    (question("text", pattern="x"), [[*Q, "pattern"]]),
    (question("text", options=OPTIONS), [[*Q, "options"]]),
    (question("text", required="yes"), [[*Q, "required"]]),
    (question("text", defaultValue=1), [[*Q, "defaultValue"]]),
    (question("text", default="x"), [[*Q, "default"]]),
    (question("text", format="markdown"), [[*Q, "format"]]),
    (question("number", min="x"), [[*Q, "min"]]),
    (question("boolean", defaultValue=0), [[*Q, "defaultValue"]]),
    (question("single-select"), [[*Q, "options"]]),
    (question("single-select", options=[{"id": "a"}]), [[*Q, "options", 0, "label"]]),
    (question("single-select", options=[{"label": "A"}]), [[*Q, "options", 0, "id"]]),
    (question("single-select", options=[OPTIONS[0], OPTIONS[0]]), [[*Q, "options", 1, "id"]]),
    (question("single-select", options=[OPTIONS[0] | {"recommended": 1}]), [[*Q, "options", 0, "recommended"]]),
    (question("single-select", options=OPTIONS, min=1), [[*Q, "min"]]),
    (question("single-select", options=OPTIONS, defaultValue="a"), [[*Q, "defaultValue"]]),
    (question("multi-select", options=OPTIONS, min=3), [[*Q, "min"]]),
    (question("multi-select", options=OPTIONS, allowFreeformInput=True, min=4), [[*Q, "min"]]),
    (question("multi-select", options=OPTIONS, max=0, required=True), [[*Q, "max"]]),
]  # fmt: skip


def places(params: Json) -> list[list[Any]]:
    with pytest.raises(Invalid) as refused:
        kinds.get("form").clean(params)
    assert all(str(found["message"]).endswith(".") for found in refused.value.errors)
    return [list(found["loc"]) for found in refused.value.errors]  # type: ignore[call-overload]


@pytest.mark.parametrize(("params", "expected"), REFUSED, ids=range(len(REFUSED)))
def test_what_no_form_may_ask_is_refused_at_its_place(params: Json, expected: list[list[Any]]):
    assert places(params) == expected


# T69: schemas as bombs


def deep(levels: int) -> Json:
    schema: Json = {"type": "object", "properties": {}}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"x": schema}}
    return schema


ABC = [f"option {number}" for number in range(200)]
BOMBS: dict[str, Json] = {
    "ten thousand properties": of_schema({f"p{number}": TEXT for number in range(10_000)}),
    "a hundred thousand values": one(TEXT | {"enum": [str(number) for number in range(100_000)]}),
    "many options in many fields": of_schema({f"p{n}": {"type": "string", "enum": ABC} for n in range(4)}),
    "ten thousand names that do not exist": {"schema": {"x" * 500 + str(number): 1 for number in range(10_000)}},
    "ten thousand parameters": {f"x{number}": 1 for number in range(10_000)},
    "objects in objects": {"schema": deep(100)},
    "a loop of references": of_schema({"x": {"$ref": "#/properties/x"}}),
    "a thousand questions": {"questions": [{"id": str(n), "kind": "text", "message": "?"} for n in range(1000)]},
    "ten thousand wrong requirements": of_schema({}, *map(str, range(10_000))),
    "a huge label": one(TEXT | {"title": "x" * 1_000_000}),
    "a huge name": of_schema({"x" * 1_000_000: TEXT}),
    "a huge pattern": one(TEXT | {"pattern": "a" * 100_000}),
    "repetitions of repetitions": one(TEXT | {"pattern": "(((a{100}){100}){100}){100}"}),
    "groups in groups": one(TEXT | {"pattern": "(" * 140 + ")" * 140}),
}


@pytest.mark.parametrize("name", BOMBS)
def test_t69_a_schema_that_is_a_bomb_is_refused_at_once_and_briefly(name: str):
    began = time.thread_time()
    found = places(BOMBS[name])
    assert time.thread_time() - began < 0.2
    assert 0 < len(found) <= 20
    assert len(str(found)) < 20_000


# Each would keep a backtracking engine busy for longer than anybody lives, or for a second and more.
SLOW = [
    "(a+)+$",
    "^(a+)+$",
    "(a|a)*$",
    "(a|aa)+$",
    "^(([a-z])+.)+[A-Z]$",
    "(.*)(.*)(.*)(.*)(.*)x",
    "(a?){20}a{20}b",
    r"(\w*)*\d",
]


@pytest.mark.parametrize("pattern", SLOW)
def test_t69_no_pattern_stalls_the_server(pattern: str):
    asked = visit(one(TEXT | {"pattern": pattern}))
    kind = kinds.get("form")
    for typed in ("a" * 50 + "!", "a" * 2000, "ab" * 999 + "!"):
        began = time.thread_time()
        with suppress(Invalid):
            kind.check_answer(asked, Answer({"q0": [typed]}))
        assert time.thread_time() - began < 0.05, typed[:60]


@pytest.mark.parametrize(
    "pattern", [r"(a)\1", "(?=a)b", "(?!a)b", "(?<=a)b", "(?<!a)b", r"(?<n>a)\k<n>", "(?i:a)", "a**"]
)
def test_t69_what_only_backtracking_can_match_is_refused_at_create(pattern: str):
    assert places(one(TEXT | {"pattern": pattern})) == [[*X, "pattern"]]


def test_t69_the_biggest_form_that_is_allowed_is_answered_in_one_go():
    texts = {f"p{number}": TEXT for number in range(47)}
    lists = {f"q{number}": {"type": "array", "items": {"type": "string", "enum": ABC}} for number in range(3)}
    asked, kind = visit(of_schema({**texts, **lists})), kinds.get("form")
    answer = {f"q{number}": ["x" * 2000] for number in range(47)} | {f"q{47 + number}": ABC for number in range(3)}
    assert sum(map(len, answer.values())) < 1000  # Django's own limit
    kind.check_answer(asked, Answer(answer))
    assert len(kind.resume(asked, Answer(answer)).result["content"]) == 50  # type: ignore[union-attr, index]
