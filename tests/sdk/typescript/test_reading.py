"""What both clients read of one answer of the service."""

from __future__ import annotations

import json

import pytest

from elicit_flows.sdk import exchange
from tests.sdk.typescript.source import printed

pytestmark = pytest.mark.limit(120)

EXCHANGED = {
    "access_token": "at", "token_type": "Bearer", "issued_token_type": "t", "expires_in": None, "scope": "a b",
    "metadata": {"instance_url": "https://i.example/"}, "resource": "https://mcp.example/mcp",
}  # fmt: skip
PROGRAM = """
const { exchanged } = await import("SRC/reading.ts");
const { accessToken, tokenType, expiresAt, scopes, metadata, resource } = exchanged(GIVEN);
console.log(JSON.stringify([accessToken, tokenType, expiresAt, scopes, metadata, resource]));
"""


def test_an_exchanged_token_says_the_only_resource_that_it_is_for() -> None:
    token = exchange.read(EXCHANGED)
    python = [token.access_token, token.token_type, token.expires_at, list(token.scopes), token.metadata]
    assert printed(PROGRAM.replace("GIVEN", json.dumps(EXCHANGED))) == [*python, "https://mcp.example/mcp"]
