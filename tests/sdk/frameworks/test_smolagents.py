"""docs/how-to/frameworks/smolagents.md, with smolagents itself."""

from __future__ import annotations

from tests.sdk.frameworks.contract import Contract


class TestSmolagents(Contract):
    name = "smolagents"
    page = "how-to/frameworks/smolagents.md"
