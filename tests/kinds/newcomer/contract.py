"""Kind rating keeps what every kind promises."""

from __future__ import annotations

from typing import Any

import pytest

from elicit_flows.domain.values import Claim, Json, Visit
from tests.kinds.contract import PageContract


class TestRating(PageContract):
    name = "rating"
    good: list[tuple[Json, Json]] = [({"of": "The trip"}, {"of": "The trip"})]
    bad: list[tuple[Json, list[list[Any]]]] = [({}, [["params", "of"]]), ({"of": 5}, [["params", "of"]])]
    right = [{"stars": ["1"]}, {"stars": ["5"]}]
    wrong: list[tuple[dict[str, list[str]], str | None]] = [
        ({}, "stars"),
        ({"stars": ["6"]}, "stars"),
        ({"stars": ["1", "2"]}, "stars"),
    ]

    @pytest.fixture
    def visit(self) -> Visit:
        return Visit(
            "el_1", Claim("https://idp.test", "alice"), {"of": "The trip"}, None, "http://127.0.0.1/callback/r"
        )
