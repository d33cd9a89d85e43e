"""Every feature of both dialects: a question, what is sent and taken with the value that becomes of it, what is not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from elicit_flows.domain.values import Json
from tests.kinds.form.asked import one, question

Sent = dict[str, list[str]]


@dataclass
class Feature:
    """``taken``: (sent, value), a value of None being no answer; ``refused``: sent. A str stands for the field q0."""

    name: str
    params: Json
    taken: list[tuple[str | Sent, Any]]
    refused: list[str | Sent] = field(default_factory=list)


def sent(given: str | Sent) -> Sent:
    return {"q0": [given]} if isinstance(given, str) else given


def ticked(*values: str, own: str = "") -> Sent:
    return {"q0": list(values), "q0-own": [own]}


def moment(local: str, zone: str = "+00:00") -> Sent:
    return {"q0": [local], "q0-zone": [zone]}


def own(value: str | list[str] | None, *texts: str) -> Json:
    return {"value": value, "freeformValues": list(texts)}


TEXT = {"type": "string"}
NUMBER = {"type": "number"}
WHOLE = {"type": "integer"}
LETTERS = ["a", "b", "c"]
TITLED = [{"const": "a", "title": "A"}, {"const": "b", "title": "B", "description": "The second"}]
OPTIONS = [{"id": "a", "label": "A"}, {"id": "b", "label": "B", "description": "The second", "recommended": True}]

SCHEMA_FEATURES = [
    Feature("string", one(TEXT), [
        ("x", "x"), ("", None), ("  \r\n", None), ({}, None), ("a\r\nb\rc", "a\nb\nc"), (" a ", " a "), ("é😀", "é😀"),
        ("\u200b", None), ("\u202da\u202c", "\u202da\u202c"),
        ("x" * 2000, "x" * 2000),
    ], ["x" * 2001, "a\0b", "a\x1bb", "\x7f"]),
    Feature("required string", one(TEXT, required=True), [("x", "x")], ["", " ", "\u2060\n", {}]),
    Feature("minLength", one(TEXT | {"minLength": 3}), [("abc", "abc"), ("", None), ("😀é😀", "😀é😀")], ["ab", "😀é"]),
    Feature("maxLength", one(TEXT | {"maxLength": 3}), [("abc", "abc"), ("😀é😀", "😀é😀"), ("a\r\nb", "a\nb")],
        ["abcd"]),
    Feature("maxLength of more than we take", one(TEXT | {"maxLength": 90_000}), [("x" * 10_000, "x" * 10_000)], [
        "x" * 10_001,
    ]),
    Feature("whole floats as lengths", one(TEXT | {"minLength": 1.0, "maxLength": 2.0}), [("ab", "ab")], ["abc"]),
    Feature("pattern", one(TEXT | {"pattern": "[0-9]+x"}), [("1x", "1x"), ("--12x--", "--12x--")], ["x", "12"]),
    Feature("anchored pattern", one(TEXT | {"pattern": "^[A-Z]{2}$"}), [("AB", "AB")], ["ABC", "ab", "AB\n"]),
    Feature("format email", one(TEXT | {"format": "email"}), [
        ("a@example.com", "a@example.com"), (" a.b+c@x.example ", "a.b+c@x.example"), ("a@localhost", "a@localhost"),
        ("\u202aa@example.com\u202c\u200b", "a@example.com"),
    ], ["a", "a@", "@b", "a b@c.d", "a@b@c", "a@-b.c", "a@b..c", f"a@{'b' * 64}.c", "a@b.c\nx", "é@b.c"]),
    Feature("format uri", one(TEXT | {"format": "uri"}), [
        ("https://example.com/a?b=c#d", "https://example.com/a?b=c#d"), ("mailto:a@b.c", "mailto:a@b.c"),
        ("urn:isbn:1", "urn:isbn:1"), (" https://e.com/%20 ", "https://e.com/%20"),
        ("\ufeffhttps://e.com/\u200b", "https://e.com/"),
    ], ["example.com", "/a", "https://", "http:x", "https:///a", "https://a b", "https://a/%2",
        "https://a/<b>", "é:a"]),
    Feature("format date", one(TEXT | {"format": "date"}), [("2024-02-29", "2024-02-29")], [
        "2023-02-29", "29.02.2024", "2024-2-9", "20240229", "2024-02-29T10:00", "0000-01-01",
    ]),
    Feature("format date-time", one(TEXT | {"format": "date-time"}), [
        (moment("2026-01-31T14:30"), "2026-01-31T14:30:00Z"),
        (moment("2026-01-31T14:30:15", "+05:45"), "2026-01-31T14:30:15+05:45"),
        (moment("2026-01-31T14:30:15.5", "-02:30"), "2026-01-31T14:30:15.5-02:30"),
        (moment("\u200e2026-01-31T14:30\u200e"), "2026-01-31T14:30:00Z"), (moment(""), None), ({}, None),
    ], [moment("2026-01-31"), moment("2026-02-31T14:30"), moment("2026-01-31T25:00"), moment("x"), "2026-01-31T14:30",
        moment("2026-01-31T14:30", "CET"), moment("2026-01-31T14:30", "+99:00"), moment("2026-01-31T14:30", "+05:60")]),
    Feature("enum", one(TEXT | {"enum": LETTERS}), [("a", "a"), ("", None), ({}, None)], ["d", "A", " a"]),
    Feature("required enum", one(TEXT | {"enum": LETTERS}, required=True), [("a", "a")], ["", {}]),
    Feature("enum with enumNames", one(TEXT | {"enum": LETTERS, "enumNames": ["X", "Y", "Z"]}), [("b", "b")], ["Y"]),
    Feature("oneOf", one(TEXT | {"oneOf": TITLED}), [("a", "a"), ("b", "b")], ["A", "c"]),
    Feature("number", one(NUMBER), [
        ("3", 3), ("3.5", 3.5), ("-0.25", -0.25), (" 7 ", 7), ("1e3", 1000.0), (".5", 0.5), ("5.", 5.0),
        ("\u22123", -3),
        ("٣", 3), ("9" * 20, float("9" * 20)), ("", None),
    ], ["x", "3,5", "1 000", "1e999", "NaN", "Infinity", "0x10", "1_000", "--1", "12kg"]),
    Feature("number bounds", one(NUMBER | {"minimum": -1.5, "maximum": 2}), [
        ("-1.5", -1.5), ("2", 2)], ["-1.6", "2.01"]),
    Feature("integer", one(WHOLE), [
        ("3", 3), ("-3", -3), ("+3", 3), ("9223372036854775807", 2**63 - 1), ("9007199254740993", 2**53 + 1),
    ], ["3.0", "3.5", "x", "9223372036854775808", "1e3", "9" * 5000]),
    Feature("integer bounds", one(WHOLE | {"minimum": 1, "maximum": 2.5}), [("1", 1), ("2", 2)], ["0", "3"]),
    Feature("required integer", one(WHOLE, required=True), [("0", 0)], ["", {}]),
    Feature("boolean", one({"type": "boolean"}), [
        ("yes", True), ("no", False), ("", None), ({}, None)], ["on", "true"]),
    Feature("required boolean", one({"type": "boolean"}, required=True), [("yes", True), ("no", False)], ["", {}]),
    Feature("array of enum", one({"type": "array", "items": {"type": "string", "enum": LETTERS}}), [
        (ticked("a"), ["a"]), (ticked("c", "a"), ["c", "a"]), ({}, None),
    ], [ticked("d"), ticked("a", "a"), ticked("")]),
    Feature("array of anyOf", one({"type": "array", "items": {"anyOf": TITLED}}), [
        (ticked("b"), ["b"])], [ticked("B")]),
    Feature("minItems and maxItems", one({
        "type": "array", "items": {"type": "string", "enum": LETTERS}, "minItems": 2, "maxItems": 2,
        "uniqueItems": True,
    }), [(ticked("a", "b"), ["a", "b"]), ({}, None)], [ticked("a"), ticked("a", "b", "c")]),
    Feature("required array", one({"type": "array", "items": {"anyOf": TITLED}}, required=True), [
        (ticked("a"), ["a"]), ({}, []),
    ], [ticked("x")]),
    Feature("required array that is not empty", one(
        {"type": "array", "items": {"anyOf": TITLED}, "minItems": 1}, required=True
    ), [(ticked("a"), ["a"])], [{}]),
]  # fmt: skip

QUESTION_FEATURES = [
    Feature("text", question("text"), [("x", "x"), ("", None)], ["x" * 2001]),
    Feature("text, required", question("text", required=True), [("x", "x")], [""]),
    Feature("text bounds", question("text", min=2, max=3), [("ab", "ab"), ("", None)], ["a", "abcd"]),
    Feature("text format", question("text", format="email"), [("a@b.c", "a@b.c")], ["a"]),
    Feature("number", question("number", min=0.5, max=2), [("1.5", 1.5), ("2", 2)], ["0", "2.5", "x"]),
    Feature("integer", question("integer", min=1), [("1", 1)], ["0", "1.0"]),
    Feature("boolean", question("boolean", required=True), [("yes", True), ("no", False)], ["", {}]),
    Feature("single-select", question("single-select", options=OPTIONS), [("a", "a"), ("", None)], ["c"]),
    Feature("single-select, free-form", question("single-select", options=OPTIONS, allowFreeformInput=True), [
        (ticked("a"), own("a")), (ticked(" own", own="Mine"), own(None, "Mine")),
        (ticked(own=" Mine "), own(None, "Mine")),
        (ticked(own="a"), own(None, "a")), ({}, None), (ticked(""), None), (ticked("", own="Mine"), own(None, "Mine")),
    ], [ticked("c"), ticked("a", own="Mine"), ticked(" own"), ticked(" own", own="\x07"), ticked(own="x" * 2001)]),
    Feature("single-select, free-form, required", question(
        "single-select", options=OPTIONS, allowFreeformInput=True, required=True
    ), [(ticked("b"), own("b")), (ticked(own="Mine"), own(None, "Mine"))], [{}, ticked("")]),
    Feature("multi-select", question("multi-select", options=OPTIONS), [(ticked("a", "b"), ["a", "b"]), ({}, None)], [
        ticked("c"),
    ]),
    Feature("multi-select, required", question("multi-select", options=OPTIONS, required=True), [
        (ticked("a"), ["a"])], [
        {},
    ]),
    Feature("multi-select bounds", question("multi-select", options=OPTIONS, min=2, max=2), [
        (ticked("a", "b"), ["a", "b"]), ({}, None),
    ], [ticked("a")]),
    Feature("multi-select, free-form", question(
        "multi-select", options=OPTIONS, allowFreeformInput=True, min=2, max=2, required=True
    ), [
        (ticked("a", "b"), own(["a", "b"])), (ticked("a", own="Mine"), own(["a"], "Mine")),
    ], [{}, ticked("a"), ticked(own="Mine"), ticked("a", "b", own="Mine"), ticked("x", own="Mine")]),
]  # fmt: skip

FEATURES = [
    *(("schema, " + one.name, one) for one in SCHEMA_FEATURES),
    *(("questions, " + one.name, one) for one in QUESTION_FEATURES),
]
