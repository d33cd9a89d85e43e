"""The reader of schemas that the other tests here rest on."""

from __future__ import annotations

import pytest

from tests.wires.validator import SCHEMAS, Schema, definitions

MCP = Schema("mcp-2025-11-25.json")
GOOD = {"mode": "url", "message": "Go.", "url": "https://a.test/c/1", "elicitationId": "1"}


@pytest.mark.parametrize("path", sorted(SCHEMAS.glob("*.json")), ids=lambda path: path.name)
def test_every_reference_in_what_was_cut_leads_somewhere(path):
    known = definitions(path.name) | (definitions("ahp.json", "ahp-more.json") if "ahp" in path.name else {})
    text = path.read_text()
    referred = {part.partition('"')[0] for part in text.split("#/$defs/")[1:]}
    assert referred <= set(known)


@pytest.mark.parametrize(
    "changed",
    [{"mode": "link"}, {"message": None}, {"url": "no address"}, {"url": 1}, {"elicitationId": True}, {"_meta": []}],
)
def test_a_wrong_member_is_found(changed):
    assert MCP.fits("ElicitRequestURLParams", GOOD)
    assert not MCP.fits("ElicitRequestURLParams", GOOD | changed)


@pytest.mark.parametrize("name", list(GOOD))
def test_a_missing_member_is_found(name):
    assert not MCP.fits("ElicitRequestURLParams", {key: value for key, value in GOOD.items() if key != name})


@pytest.mark.parametrize(
    ("schema", "value", "good"),
    [
        ({"oneOf": [{"const": 1}, {"type": "integer"}]}, 1, False), ({"oneOf": [{"const": 1}, {"const": 2}]}, 1, True),
        ({"not": {"const": "a"}}, "a", False), ({"not": {"const": "a"}}, "b", True),
        ({"allOf": [{"type": "string"}, {"enum": ["a"]}]}, "b", False), ({"type": ["string", "null"]}, None, True),
        ({"type": "integer"}, True, False), ({"type": "number"}, False, False), ({"type": "integer"}, 2.0, True),
        ({"type": "integer", "minimum": 0}, -1, False), ({"enum": [1]}, True, False),
        ({"items": {"type": "string"}}, ["a", 1], False), ({"additionalProperties": False}, {"a": 1}, False),
        ({"additionalProperties": {"type": "string"}}, {"a": 1}, False), ({"required": ["a"]}, {}, False),
    ],
)  # fmt: skip
def test_each_keyword_is_kept_to(schema, value, good):
    assert (list(MCP.wrong(schema, value, "it")) == []) is good


def test_a_keyword_that_it_does_not_know_is_no_pass():
    with pytest.raises(AssertionError, match="maxLength"):
        list(MCP.wrong({"maxLength": 3}, "long", "it"))
