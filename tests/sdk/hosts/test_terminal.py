"""The person at a terminal, and scripts in YAML, as answers of a host."""

from __future__ import annotations

from typing import Any

import pytest

from elicit_flows.sdk.hosts import Scripted, Terminal

pytestmark = pytest.mark.anyio
SCHEMA = {
    "type": "object",
    "properties": {
        "plan": {"type": "string", "enum": ["free", "pro"], "title": "Plan"},
        "seats": {"type": "integer", "default": 1},
        "sure": {"type": "boolean"},
        "extras": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
        "note": {"type": "string"},
    },
    "required": ["plan", "sure"],
}


def asked(**params: Any) -> dict[str, Any]:
    return {"method": "elicitation/create", "params": {"message": "Which?", **params}}


class At:
    """A terminal at which somebody types ``lines``; ``seen`` is what it showed."""

    def __init__(self, *lines: str) -> None:
        self.lines, self.seen = list(lines), ""
        self.answer = Terminal(self.read, self.write)

    def read(self, prompt: str) -> str:
        self.write(prompt)
        if not self.lines:
            raise EOFError
        return self.lines.pop(0)

    def write(self, text: str) -> None:
        self.seen += f"{text}\n"


async def test_a_form_is_asked_line_by_line_until_each_fits() -> None:
    at = At("yes", "accept", "gold", "pro", "", "", "maybe", "y", "a, b", "")
    assert await at.answer("k", asked(requestedSchema=SCHEMA)) == {
        "action": "accept",
        "content": {"plan": "pro", "seats": 1, "sure": True, "extras": ["a", "b"]},
    }
    assert "Plan (free, pro): " in at.seen
    assert at.seen.count("That does not fit.") == 3


async def test_what_a_question_says_of_itself_is_shown_before_it_is_asked() -> None:
    at = At("accept", "Rome")
    city = {"type": "string", "title": "City", "description": "Where to? For example: Rome\x1b[2J"}
    await at.answer("k", asked(requestedSchema={"type": "object", "properties": {"city": city}}))
    assert "Where to? For example: Rome\N{REPLACEMENT CHARACTER}[2J\nCity: " in at.seen


async def test_a_link_is_shown_with_its_host_and_answered_with_a_word() -> None:
    at = At("Decline")
    assert await at.answer("k", asked(mode="url", url="https://flows.example.com/c/el_1")) == {"action": "decline"}
    assert "https://flows.example.com/c/el_1\nThis link leads to flows.example.com.\n" in at.seen


async def test_a_link_to_be_careful_of_is_told_and_one_that_must_not_be_opened_is_declined() -> None:
    at = At("accept")
    assert await at.answer("k", asked(mode="url", url="https://аpple.example/c")) == {"action": "accept"}
    assert "https://xn--pple-43d.example/c\nThis link leads to xn--pple-43d.example.\nCareful: The name" in at.seen
    at = At()
    assert await at.answer("k", asked(mode="url", url="javascript:alert(1)")) == {"action": "decline"}
    assert "only https and http are opened. It is declined." in at.seen


async def test_what_a_server_says_does_not_steer_the_terminal() -> None:
    at = At("cancel")
    await at.answer("k", asked(message="\x1b[2Jfoo\rbar\x9b1m\u202e", url="https://a.example/\x1b]0;x\x07"))
    assert not {"\x1b", "\r", "\x9b", "\x07", "\u202e"} & set(at.seen)


async def test_the_end_of_the_input_cancels() -> None:
    assert await At().answer("k", asked(requestedSchema=SCHEMA)) == {"action": "cancel"}


async def test_a_script_may_be_yaml() -> None:
    answer = Scripted.from_yaml("Which plan?: {plan: pro, seats: 3}\nDelete: decline\n")
    schema = {"properties": {"plan": {}, "seats": {}}, "required": ["plan"]}
    assert (await answer("k", asked(message="Which plan?", requestedSchema=schema)))["content"] == {
        "plan": "pro",
        "seats": 3,
    }
    assert await answer("k", asked(message="Delete it?")) == {"action": "decline"}


@pytest.mark.parametrize(
    "text", ["- accept", "Which?: maybe", "Which?: [1]", "1: accept", "!!python/name:os.system x: 1"]
)
def test_yaml_that_is_no_script_is_refused(text: str) -> None:
    with pytest.raises(Exception, match=r"Map words|could not determine a constructor") as refused:
        Scripted.from_yaml(text)
    assert type(refused.value).__name__ in {"ValueError", "ConstructorError"}


async def test_a_number_is_one_that_json_has() -> None:
    at = At("accept", "nan", "inf", "-1e999", "2.5")
    schema = {"type": "object", "required": ["share"], "properties": {"share": {"type": "number"}}}
    assert await at.answer("k", asked(requestedSchema=schema)) == {"action": "accept", "content": {"share": 2.5}}


async def test_a_required_list_that_may_be_empty_is_answered_with_an_empty_line() -> None:
    items = {"type": "string", "enum": ["a", "b"]}
    properties = {"any": {"type": "array", "items": items}, "one": {"type": "array", "items": items, "minItems": 1}}
    at = At("accept", "", "", "b")
    said = await at.answer(
        "k", asked(requestedSchema={"type": "object", "required": [*properties], "properties": properties})
    )
    assert said == {"action": "accept", "content": {"any": [], "one": ["b"]}}


async def test_an_option_with_a_comma_can_be_chosen_from_a_list() -> None:
    items = {"type": "string", "enum": ["Oslo, Norway", "Rome", "Rome, Italy"]}
    at = At("accept", "Rome, Oslo, Norway")
    said = await at.answer(
        "k", asked(requestedSchema={"type": "object", "properties": {"to": {"type": "array", "items": items}}})
    )
    assert said == {"action": "accept", "content": {"to": ["Rome", "Oslo, Norway"]}}


@pytest.mark.parametrize(
    ("prop", "wrong", "right", "value"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 9}, ["0", "10"], "9", 9),
        ({"type": "number", "minimum": 0, "maximum": None}, ["-0.1", "1e999"], "0", 0.0),
        ({"type": "string", "minLength": 2, "maxLength": 3}, ["a", "abcd"], "abc", "abc"),
        ({"type": "string", "format": "email"}, ["alice"], "alice@example.org", "alice@example.org"),
        ({"type": "string", "format": "date"}, ["1.2.2026", "2026-02-30"], "2026-02-28", "2026-02-28"),
        ({"type": "string", "format": "of-its-own"}, [], "a", "a"),
    ],
)
async def test_an_answer_is_asked_for_again_until_it_is_what_the_server_takes(
    prop: dict[str, Any], wrong: list[str], right: str, value: Any
) -> None:
    at = At("accept", *wrong, right)
    said = await at.answer(
        "k", asked(requestedSchema={"type": "object", "required": ["it"], "properties": {"it": prop}})
    )
    assert said == {"action": "accept", "content": {"it": value}}
    assert at.seen.count("That does not fit.") == len(wrong)
    assert f"it ({prop['format']}): " in at.seen if "format" in prop else "it: " in at.seen
