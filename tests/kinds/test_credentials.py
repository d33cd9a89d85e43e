"""Kind credentials keeps what every kind promises, and what was typed shows nowhere."""

from __future__ import annotations

from typing import Any

import pytest

from elicit_flows import kinds
from elicit_flows.errors import Invalid
from elicit_flows.values import Answer, Claim, Json, Secret, Visit
from tests.kinds.contract import PageContract

KIND = kinds.get("credentials")
KEY = {"name": "key", "label": "API key"}
TEAM = {"name": "team", "label": "Team", "secret": False, "help": "As in the address."}
AT = "params"


def visit() -> Visit:
    asked = KIND.clean({"fields": [KEY, TEAM]})
    return Visit("el_1", Claim("https://idp.test", "alice"), asked, None, "http://127.0.0.1/callback/credentials")


def full(field: Json) -> Json:
    return {"secret": True, "help": None} | field


class TestCredentials(PageContract):
    name = "credentials"
    secrets = ("sk-typed",)
    good: list[tuple[Json, Json]] = [
        ({"fields": [KEY]}, {"fields": [full(KEY)]}),
        ({"fields": [KEY, TEAM]}, {"fields": [full(KEY), TEAM]}),
    ]
    bad: list[tuple[Json, list[list[Any]]]] = [
        ({}, [[AT, "fields"]]),
        ({"fields": []}, [[AT, "fields"]]),
        ({"fields": {}}, [[AT, "fields"]]),
        ({"fields": [KEY] * 21}, [[AT, "fields"]]),
        ({"fields": ["key"]}, [[AT, "fields", 0]]),
        ({"fields": [{}]}, [[AT, "fields", 0, "name"], [AT, "fields", 0, "label"]]),
        ({"fields": [KEY, KEY]}, [[AT, "fields", 1, "name"]]),
        ({"fields": [KEY | {"name": "Key"}]}, [[AT, "fields", 0, "name"]]),
        ({"fields": [KEY | {"name": "a" * 41}]}, [[AT, "fields", 0, "name"]]),
        ({"fields": [KEY | {"name": "csrf-token"}]}, [[AT, "fields", 0, "name"]]),
        ({"fields": [KEY | {"label": "two\nlines"}]}, [[AT, "fields", 0, "label"]]),
        ({"fields": [KEY | {"secret": 1}]}, [[AT, "fields", 0, "secret"]]),
        ({"fields": [KEY | {"help": "x" * 501}]}, [[AT, "fields", 0, "help"]]),
        ({"fields": [KEY | {"value": "x"}]}, [[AT, "fields", 0, "value"]]),
    ]
    wrong: list[tuple[dict[str, list[str]], str | None]] = [
        ({}, "key"), ({"key": ["sk-typed"]}, "team"), ({"key": ["  "], "team": ["blue"]}, "key"),
        ({"key": ["sk-typed", "sk-typed"], "team": ["blue"]}, "key"), ({"key": ["x" * 8193], "team": ["b"]}, "key"),
        ({"key": ["sk\0typed"], "team": ["blue"]}, "key"),
    ]  # fmt: skip
    right = [{"key": ["sk-typed"], "team": ["blue"]}, {"key": [" sk-typed\r\n"], "team": ["blue"]}]

    @pytest.fixture
    def visit(self) -> Visit:
        return visit()


def test_the_values_travel_wrapped_and_are_no_part_of_the_result() -> None:
    outcome = KIND.resume(visit(), Answer({"key": [" sk-typed\n"], "team": ["blue"]}))
    assert outcome.credentials == {"key": Secret("sk-typed"), "team": Secret("blue")}  # type: ignore[union-attr]
    assert "sk-typed" not in repr(outcome)
    assert outcome.result is None  # type: ignore[union-attr]


def test_a_refusal_repeats_nothing_of_what_was_typed() -> None:
    with pytest.raises(Invalid) as refused:
        KIND.check_answer(visit(), Answer({"key": ["sk-typed\0"]}))
    assert "sk-typed" not in str(refused.value.errors)
