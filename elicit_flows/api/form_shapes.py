"""What OpenAPI says of a form's questions and answers. ``kinds.form`` is what reads them, and the tests hold the two to
each other.
"""

from __future__ import annotations

from typing import Annotated, Literal

from ninja import Schema
from pydantic import Field

from elicit_flows.api.schemas import Absent, Root, Strict
from elicit_flows.kinds.form.limits import MAX_FIELDS, MAX_HELP, MAX_KEY, MAX_LABEL, MAX_OPTIONS, MAX_VALUE

Key = Annotated[str, Field(min_length=1, max_length=MAX_KEY)]
Value = Annotated[str, Field(min_length=1, max_length=MAX_VALUE)]
Values = Annotated[list[Value], Field(min_length=1, max_length=MAX_OPTIONS)]
Label = Annotated[str, Field(min_length=1, max_length=MAX_LABEL)]
Help = Annotated[str, Field(min_length=1, max_length=MAX_HELP)]
Count = Annotated[int, Field(ge=0)]
TextFormat = Literal["email", "uri", "date", "date-time"]


class _Property(Strict):
    title: Label | Absent = Field(None, description="The question's label. When left out: the property's name.")
    description: Help | Absent = Field(None, description="A text below the label.")


class TitledValue(Strict):
    const: Value
    title: Label
    description: Help | Absent = None


class StringProperty(_Property):
    """A text, or with ``enum`` or ``oneOf`` one of these values."""

    type: Literal["string"]
    default: str | Absent = None
    minLength: Count | Absent = None
    maxLength: Count | Absent = None
    pattern: str | Absent = None
    format: TextFormat | Absent = None
    enum: Values | Absent = None
    enumNames: list[Label] | Absent = None
    oneOf: Annotated[list[TitledValue], Field(min_length=1, max_length=MAX_OPTIONS)] | Absent = None


class NumberProperty(_Property):
    type: Literal["number"]
    default: float | Absent = None
    minimum: float | Absent = None
    maximum: float | Absent = None


class IntegerProperty(_Property):
    type: Literal["integer"]
    default: int | Absent = None
    minimum: float | Absent = None
    maximum: float | Absent = None


class BooleanProperty(_Property):
    type: Literal["boolean"]
    default: bool | Absent = None


class ArrayItems(Strict):
    """Give either ``enum`` or ``anyOf``."""

    type: Literal["string"] | Absent = None
    enum: Values | Absent = None
    anyOf: Annotated[list[TitledValue], Field(min_length=1, max_length=MAX_OPTIONS)] | Absent = None


class ArrayProperty(_Property):
    """Several of the values in ``items``."""

    type: Literal["array"]
    items: ArrayItems
    default: list[str] | Absent = None
    minItems: Count | Absent = None
    maxItems: Count | Absent = None
    uniqueItems: bool | Absent = None


class FormProperty(
    Root[
        Annotated[
            StringProperty | NumberProperty | IntegerProperty | BooleanProperty | ArrayProperty,
            Field(discriminator="type"),
        ]
    ]
):
    """The question of one property."""


class FormSchema(Strict):
    """One flat object, as MCP restricts JSON Schema for forms."""

    type: Literal["object"] | Absent = None
    properties: Annotated[dict[str, FormProperty], Field(max_length=MAX_FIELDS)] | Absent = None
    required: list[str] | Absent = None
    title: Label | Absent = None
    description: Help | Absent = None
    schema_: str | Absent = Field(None, alias="$schema")
    additionalProperties: bool | Absent = None


class _Question(Strict):
    id: Key
    message: Help = Field(description="The text of the question.")
    title: Label | Absent = None
    required: bool | Absent = None


class TextQuestion(_Question):
    kind: Literal["text"]
    format: TextFormat | Absent = None
    min: Count | Absent = Field(None, description="The fewest characters.")
    max: Count | Absent = Field(None, description="The most characters.")
    defaultValue: str | Absent = None


class NumberQuestion(_Question):
    kind: Literal["number"]
    min: float | Absent = None
    max: float | Absent = None
    defaultValue: float | Absent = None


class IntegerQuestion(_Question):
    kind: Literal["integer"]
    min: float | Absent = None
    max: float | Absent = None
    defaultValue: int | Absent = None


class BooleanQuestion(_Question):
    kind: Literal["boolean"]
    defaultValue: bool | Absent = None


class Choice(Strict):
    id: Value
    label: Label
    description: Help | Absent = None
    recommended: bool | Absent = None


class _Select(_Question):
    options: list[Choice] = Field(min_length=1, max_length=MAX_OPTIONS)
    allowFreeformInput: bool | Absent = Field(None, description="Whether the user may write an answer of their own.")


class SingleSelectQuestion(_Select):
    kind: Literal["single-select"]


class MultiSelectQuestion(_Select):
    kind: Literal["multi-select"]
    min: Count | Absent = Field(None, description="The fewest choices.")
    max: Count | Absent = Field(None, description="The most choices.")


class FormQuestion(
    Root[
        Annotated[
            TextQuestion
            | NumberQuestion
            | IntegerQuestion
            | BooleanQuestion
            | SingleSelectQuestion
            | MultiSelectQuestion,
            Field(discriminator="kind"),
        ]
    ]
):
    """One question of a list."""


_SHARED = "Whether you see answers while they are written."


class SchemaForm(Strict):
    """The questions as a JSON Schema."""

    schema_: FormSchema = Field(alias="schema")
    order: list[str] | None = Field(None, description="The order of the properties on the page.")
    shared: bool | None = Field(None, description=_SHARED)


class QuestionsForm(Strict):
    """The questions as AHP has them."""

    questions: list[FormQuestion] = Field(max_length=MAX_FIELDS)
    shared: bool | None = Field(None, description=_SHARED)


class SchemaFormAsked(Schema):
    schema_: FormSchema = Field(alias="schema")
    order: list[str]
    shared: Literal[True] | Absent = Field(None, description="Left out if the draft is not shared.")


class QuestionsFormAsked(Schema):
    questions: list[FormQuestion]
    shared: Literal[True] | Absent = Field(None, description="Left out if the draft is not shared.")


class FormParams(Root[SchemaForm | QuestionsForm]):
    """A form: give either ``schema`` or ``questions``."""


class FormAsked(Root[SchemaFormAsked | QuestionsFormAsked]):
    """The form as it is asked."""


class FreeformChoice(Schema):
    """The answer to a question that allows one's own text. ``value`` is a list for multi-select."""

    value: str | list[str] | None
    freeformValues: list[str]


class FormValue(Root[str | float | bool | list[str] | FreeformChoice]):
    """The answer to one question, of the type that the question has."""


class FormResult(Schema):
    """``skipped``: why a question is not answered, by the questions where the user said so."""

    content: dict[str, FormValue]
    skipped: dict[str, str] | Absent = None
