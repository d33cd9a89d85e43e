"""The schemas that the other tests use are complete, and they refuse wrong messages."""

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
