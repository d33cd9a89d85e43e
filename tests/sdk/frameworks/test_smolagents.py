"""docs/how-to/frameworks/smolagents.md, with smolagents itself."""

from __future__ import annotations

from tests.sdk.frameworks.contract import TwoCallsContract


class TestSmolagents(TwoCallsContract):
    name = "smolagents"
    page = "how-to/frameworks/smolagents.md"
