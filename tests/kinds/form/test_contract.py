"""Kind form passes the contract of every kind, in both dialects."""

from __future__ import annotations

from typing import Any

import pytest

from elicit_flows.domain.values import Json, Visit
from tests.kinds.contract import PageContract
from tests.kinds.form.asked import NAMES, ORDER, QUESTIONS, SCHEMA, visit

Sent = dict[str, list[str]]
LEAST = {"type": "object", "properties": {}}

ENOUGH: Sent = {
    NAMES["name"]: ["Alice"], NAMES["email"]: ["a@example.com"], NAMES["class"]: ["eco"],
    NAMES["extras"]: ["wifi"], NAMES["news"]: ["no"], NAMES["city"]: ["Oslo"],
}  # fmt: skip


class TestSchema(PageContract):
    name = "form"
    good: list[tuple[Json, Json]] = [
        ({"schema": SCHEMA}, {"schema": SCHEMA, "order": ORDER}),
        ({"schema": LEAST}, {"schema": LEAST, "order": []}),
        ({"schema": {}, "questions": None, "order": None}, {"schema": LEAST, "order": []}),
        (
            {"schema": {"type": "object", "title": None, "_meta": {"a": {}}, "required": None, "$schema": "x",
                        "additionalProperties": False, "properties": {"a": {"type": "boolean", "default": None}}}},
            {"schema": {"type": "object", "$schema": "x", "additionalProperties": False,
                        "properties": {"a": {"type": "boolean"}}}, "order": ["a"]},
        ),
    ]  # fmt: skip
    bad: list[tuple[Json, list[list[Any]]]] = [
        ({}, [["params", "schema"]]),
        ({"schema": LEAST, "questions": []}, [["params", "questions"]]),
        ({"schema": []}, [["params", "schema"]]),
        ({"schema": {"type": "array"}}, [["params", "schema", "type"]]),
        ({"schema": LEAST, "order": ["a"]}, [["params", "order"]]),
        ({"questions": [], "order": []}, [["params", "order"]]),
    ]
    right = [ENOUGH, ENOUGH | {NAMES["seat"]: ["a", "b"], NAMES["notes"]: ["one\r\ntwo"]}]
    wrong: list[tuple[Sent, str | None]] = [
        ({}, NAMES["name"]),
        (ENOUGH | {NAMES["name"]: ["A"]}, NAMES["name"]),
        (ENOUGH | {NAMES["extras"]: ["wifi", "wifi"]}, NAMES["extras"]),
        (ENOUGH | {NAMES["city"]: ["Rome", "Oslo"]}, None),
        (ENOUGH | {NAMES["extras"]: ["wifi"] * 4}, None),
    ]

    @pytest.fixture
    def visit(self) -> Visit:
        return visit({"schema": SCHEMA})


class TestQuestions(PageContract):
    name = "form"
    good: list[tuple[Json, Json]] = [
        ({"questions": QUESTIONS}, {"questions": QUESTIONS}),
        ({"questions": []}, {"questions": []}),
        (
            {"questions": [{"id": "a", "kind": "boolean", "message": "Well?", "title": None, "required": None}]},
            {"questions": [{"id": "a", "kind": "boolean", "message": "Well?"}]},
        ),
    ]
    bad: list[tuple[Json, list[list[Any]]]] = [
        ({"questions": {}}, [["params", "questions"]]),
        ({"questions": ["x"]}, [["params", "questions", 0]]),
        (
            {"questions": [{"id": "a", "kind": "radio", "message": "Well?"}, {"kind": "text"}]},
            [
                ["params", "questions", 0, "kind"],
                ["params", "questions", 1, "message"],
                ["params", "questions", 1, "id"],
            ],
        ),
    ]
    right: list[Sent] = [
        {"q0": ["Atlas"], "q3": ["3"], "q5": ["node"]},
        {"q0": ["Atlas"], "q3": ["3"], "q5": [" own"], "q5-own": ["Bun"], "q6": ["lint"], "q6-own": ["Links"]},
    ]
    wrong: list[tuple[Sent, str | None]] = [
        ({"q0": ["Atlas"], "q3": ["3"]}, "q5"),
        ({"q0": ["Atlas"], "q3": ["3"], "q5": [" own"]}, "q5"),
        ({"q0": ["Atlas"], "q3": ["3"], "q5": ["node"], "q5-own": ["Bun"]}, "q5"),
        ({"q0": ["Atlas"], "q3": ["3", "4"], "q5": ["node"]}, None),
        ({"q0": ["Atlas"], "q3": ["3"], "q5": ["node"], "q5-own": ["a", "b"]}, None),
    ]

    @pytest.fixture
    def visit(self) -> Visit:
        return visit({"questions": QUESTIONS})
