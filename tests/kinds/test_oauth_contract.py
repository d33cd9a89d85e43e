"""Kind oauth passes the contract of every kind."""

from __future__ import annotations

from typing import Any

import pytest

from elicit_flows.domain.values import Json, Visit
from tests.doubles.provider import Provider
from tests.kinds import connecting
from tests.kinds.contract import ProviderContract


class TestOAuth(ProviderContract):
    name = "oauth"
    secrets = ("s3cret",)
    good: list[tuple[Json, Json]] = [
        ({"provider": "acme"}, {"provider": "acme", "scopes": []}),
        ({"provider": "acme", "scopes": ["a", "b", "a"]}, {"provider": "acme", "scopes": ["a", "b"]}),
        (
            {"provider": "Acme_2-x", "scopes": ["https://www.googleapis.com/auth/drive", "read:user", "a,b"]},
            {"provider": "Acme_2-x", "scopes": ["https://www.googleapis.com/auth/drive", "read:user", "a,b"]},
        ),
    ]
    bad: list[tuple[Json, list[list[Any]]]] = [
        ({}, [["params", "provider"]]),
        ({"provider": ""}, [["params", "provider"]]),
        ({"provider": None}, [["params", "provider"]]),
        ({"provider": 7}, [["params", "provider"]]),
        ({"provider": ["acme"]}, [["params", "provider"]]),
        ({"provider": "a/b"}, [["params", "provider"]]),
        ({"provider": "ac\u0301me"}, [["params", "provider"]]),
        ({"provider": "acme\x00"}, [["params", "provider"]]),
        ({"provider": "acme\n"}, [["params", "provider"]]),
        ({"provider": "a" * 65}, [["params", "provider"]]),
        ({"provider": "acme", "scopes": "a b"}, [["params", "scopes"]]),
        ({"provider": "acme", "scopes": None}, [["params", "scopes"]]),
        ({"provider": "acme", "scopes": {}}, [["params", "scopes"]]),
        ({"provider": "acme", "scopes": [""]}, [["params", "scopes", 0]]),
        ({"provider": "acme", "scopes": ["a", "b c"]}, [["params", "scopes", 1]]),
        ({"provider": "acme", "scopes": ["a", 7, "é"]}, [["params", "scopes", 1], ["params", "scopes", 2]]),
        ({"provider": "acme", "scopes": ['a"b', "a\\b"]}, [["params", "scopes", 0], ["params", "scopes", 1]]),
        ({"provider": "acme", "scopes": [["a"]]}, [["params", "scopes", 0]]),
        ({"provider": "acme", "scopes": ["a" * 257]}, [["params", "scopes", 0]]),
        ({"provider": "acme", "scopes": ["a\n"]}, [["params", "scopes", 0]]),
        ({"provider": "acme", "scopes": [f"s{n}" for n in range(51)]}, [["params", "scopes"]]),
        ({"scopes": [1], "x": 1}, [["params", "x"], ["params", "provider"], ["params", "scopes", 0]]),
    ]

    @pytest.fixture
    def proof(self, provider: Provider) -> dict[str, list[str]]:
        return {"iss": [provider.issuer]}

    @pytest.fixture
    def visit(self, provider: Provider) -> Visit:
        return connecting.visit(connecting.by_issuer(provider))
