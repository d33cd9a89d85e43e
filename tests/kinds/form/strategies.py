"""Schemas as somebody might write them, good and not, and what somebody might send."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from elicit_flows.domain.values import Json

WORDS = ("type", "properties", "required", "string", "object", "array", "integer", "boolean", "enum", "oneOf", "items")
MEMBERS = (*WORDS, "anyOf", "const", "title", "default", "pattern", "minLength", "maximum", "kind", "id", "message")
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=8)
    | st.sampled_from(MEMBERS)
)
ANYTHING = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(MEMBERS), inner, max_size=6)
)

PATTERNS = ["^[a-z]+$", "[0-9]", r"\d{2,4}", "a|b", r"^\w+\s?\w*$"]
VALUES = ["a", "b", "Bern", "two words", "é", "1", "yes"]


def _optional(**members: st.SearchStrategy[Any]) -> st.SearchStrategy[Json]:
    return st.fixed_dictionaries({}, optional=members)


def _merged(fixed: Json, *parts: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    return st.tuples(*parts).map(lambda found: {**fixed, **{k: v for part in found for k, v in part.items()}})


def _ordered(low: str, high: str, most: int) -> st.SearchStrategy[Json]:
    pairs = st.tuples(st.integers(0, most), st.integers(0, most)).map(sorted)
    both = pairs.map(lambda pair: {low: pair[0], high: pair[1]})
    return st.just({}) | both | both.map(lambda one: {low: one[low]})


TITLE = _optional(title=st.sampled_from(["One", "Two words"]), description=st.sampled_from(["Help", "More help"]))
OFFERED = st.lists(st.sampled_from(VALUES), min_size=1, max_size=5, unique=True)
TITLED = OFFERED.map(lambda values: [{"const": value, "title": value.upper()} for value in values])

PROPERTY = st.one_of(
    _merged({"type": "string"}, TITLE, _ordered("minLength", "maxLength", 6)),
    _merged({"type": "string"}, TITLE, _optional(pattern=st.sampled_from(PATTERNS))),
    _merged({"type": "string"}, _optional(format=st.sampled_from(["email", "uri", "date", "date-time"]))),
    _merged({"type": "number"}, TITLE, _ordered("minimum", "maximum", 9)),
    _merged({"type": "integer"}, TITLE, _ordered("minimum", "maximum", 9)),
    _merged({"type": "boolean"}, TITLE, _optional(default=st.booleans())),
    _merged({"type": "string"}, TITLE, OFFERED.map(lambda values: {"enum": values})),
    _merged({"type": "string"}, TITLE, TITLED.map(lambda options: {"oneOf": options})),
    _merged(
        {"type": "array"}, TITLE, OFFERED.map(lambda values: {"items": {"type": "string", "enum": values}}),
        _optional(minItems=st.just(1), maxItems=st.integers(1, 5)),
    ),
    _merged({"type": "array"}, TITLED.map(lambda options: {"items": {"anyOf": options}})),
)  # fmt: skip


@st.composite
def schemas(draw: st.DrawFn) -> Json:
    """A good one."""
    properties = draw(st.dictionaries(st.sampled_from(["a", "b_c", "dE", "f g"]), PROPERTY, max_size=4))
    required = draw(st.lists(st.sampled_from(sorted(properties)), unique=True)) if properties else []
    return {"type": "object", "properties": properties, "required": required}


TYPED = [
    "", " ", "abc", "12", "-3", "3.5", "1e9", "yes", "no", "a@b.c", "https://e.com/x", "2026-01-31", "2026-01-31T10:00",
    "+02:00", "a\r\nb", "\0", " own", *VALUES,
]  # fmt: skip
BODIES = st.dictionaries(
    st.sampled_from([f"q{place}{more}" for place in range(5) for more in ("", "-own", "-zone")]) | st.text(max_size=4),
    st.lists(st.sampled_from(TYPED) | st.text(max_size=12), max_size=3),
    max_size=12,
)
