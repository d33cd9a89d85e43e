"""Forms given as Python types: what is asked, and the answer as that type."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from enum import Enum, IntEnum
from typing import Annotated, Any, Literal, NotRequired, Optional

import pytest
from annotated_types import Gt
from pydantic import BaseModel, Field, field_validator
from typing_extensions import TypedDict  # pydantic takes typing's own since Python 3.12

from elicit_flows.sdk import Answered, Completed, InvalidAnswerError
from elicit_flows.sdk.questions import Plain
from elicit_flows.sdk.shapes import Elicitation
from elicit_flows.sdk.testing import ScriptedUser, Service
from elicit_flows.sdk.typed_forms import form_of
from tests.sdk.fake import COMPLETED

pytestmark = pytest.mark.anyio


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Size(IntEnum):
    SMALL = 1
    LARGE = 2


class Order(BaseModel):
    """What you would like."""

    plan: Literal["free", "pro"]
    color: Color = Color.BLUE
    size: Size
    seats: Annotated[int, Field(gt=0, le=50, title="How many?", examples=[3, 5])] = 1
    start: date | None = None
    note: Optional[str]  # noqa: UP045  authors write this too
    extras: set[Color] = set()
    rounds: list[Literal[1, 2]] = []


@dataclass
class Trip:
    city: Annotated[str, Field(description="Where to?", examples=["Rome"])]
    nights: Annotated[float, Gt(0)] = 2
    breakfast: bool = field(default=False)


class Reply(TypedDict):
    stars: Literal[1, 2, 3]
    why: NotRequired[str]


def done(content: dict[str, Any]) -> Completed:
    return Completed(Elicitation.read(COMPLETED | {"kind": "form", "result": {"content": content}}))


def test_a_model_becomes_the_flat_schema_of_mcp() -> None:
    asked = Plain().form(Order, message="Which?")
    schema = asked.params["schema"]
    assert schema == {
        "type": "object",
        "description": "What you would like.",
        "required": ["plan", "size"],
        "properties": {
            "plan": {"type": "string", "enum": ["free", "pro"]},
            "color": {"type": "string", "enum": ["red", "blue"], "default": "blue"},
            "size": {"type": "string", "enum": ["1", "2"]},
            "seats": {
                "type": "integer",
                "minimum": 1,
                "maximum": 50,
                "title": "How many?",
                "description": "For example: 3, 5",
                "default": 1,
            },
            "start": {"type": "string", "format": "date"},
            "note": {"type": "string"},
            "extras": {
                "type": "array",
                "items": {"type": "string", "enum": ["red", "blue"]},
                "uniqueItems": True,
                "default": [],
            },
            "rounds": {"type": "array", "items": {"type": "string", "enum": ["1", "2"]}, "default": []},
        },
    }
    assert asked.params["order"] == list(Order.model_fields)


def test_the_answer_has_the_type_that_was_given() -> None:
    given = {"plan": "pro", "size": "2", "start": "2026-11-23", "extras": ["red"], "rounds": ["2"]}
    outcome = form_of(Order).answered(done(given))
    assert outcome.data == Order(
        plan="pro", size=Size.LARGE, start=date(2026, 11, 23), note=None, extras={Color.RED}, rounds=[2]
    )
    assert outcome
    assert outcome.result["content"] == given


def test_so_has_that_of_a_dataclass_and_of_a_typed_dict() -> None:
    assert form_of(Trip).schema["properties"]["city"]["description"] == "Where to? For example: Rome"
    assert 0 < form_of(Trip).schema["properties"]["nights"]["minimum"] < 1e-300
    assert form_of(Trip).answered(done({"city": "Rome", "nights": 3})).data == Trip("Rome", 3.0, False)
    assert form_of(Reply).schema["required"] == ["stars"]
    assert form_of(Reply).answered(done({"stars": "3"})).data == {"stars": 3}


class Inner(BaseModel):
    street: str


class Nested(BaseModel):
    home: Inner


class Either(BaseModel):
    age: int | str


class Many(BaseModel):
    names: list[str]


class Called(BaseModel):
    call: Callable[[], None]


class Keys(BaseModel):
    password: str


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (Nested, r"Nested\.home: A form has one answer for each question"),
        (Either, r"Either\.age: A form has one answer for each question"),
        (Called, "No form can ask for Called"),
        (int, "Give a Pydantic model, a dataclass, a TypedDict or a JSON Schema"),
        (Many, r"Many\.names: A form has one answer for each question"),
    ],
)
def test_a_type_that_no_form_can_ask_for_is_said_where_it_is_given(given: Any, why: str) -> None:
    with pytest.raises(TypeError, match=why):
        Plain().form(given, message="Which?")


@pytest.mark.parametrize(("given", "why"), [(object(), "params.schema"), (Keys, "credentials")])
def test_what_the_service_would_refuse_is_refused_as_in_a_schema(given: Any, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        Plain().form(given, message="Which?")


class Even(BaseModel):
    number: int

    @field_validator("number")
    @classmethod
    def _even(cls, number: int) -> int:
        if number % 2:
            raise ValueError("an even number, please")
        return number


def test_t179_an_answer_that_the_types_own_validator_refuses_is_told_without_the_answer() -> None:
    with pytest.raises(InvalidAnswerError, match="number: Value error, an even number, please") as refused:
        form_of(Even).answered(done({"number": 41713}))
    assert refused.value.elicitation.result == {"content": {"number": 41713}}
    assert "41713" not in f"{refused.value}{refused.value.errors}{refused.value.__cause__}"


async def test_a_person_fills_it_in_and_both_clients_return_the_type(
    elicit_service: Service, alice: ScriptedUser
) -> None:
    answers = {"city": "Rome", "nights": "3"}

    def travels(url: str) -> None:
        alice.submit(url, **answers)

    async with elicit_service.elicit() as elicit:
        outcome = await elicit.form(alice.claim, Trip, message="Where?", on_url=travels)
    assert isinstance(outcome, Answered)
    assert outcome.data == Trip("Rome", 3.0, False)
    with elicit_service.sync_elicit() as blocking:
        again = blocking.form(alice.claim, Trip, message="Where?", on_url=travels)
    assert isinstance(again, Answered)
    assert again.data == outcome.data


async def test_without_pydantic_a_type_is_refused_and_a_schema_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "elicit_flows.sdk.typed_forms", None)
    with pytest.raises(TypeError, match=r"elicit-flows\[forms\]"):
        Plain().form(Trip, message="Where?")
    assert Plain().form({"type": "object", "properties": {}}, message="Where?").typed is None
