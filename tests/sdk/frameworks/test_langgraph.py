"""docs/how-to/frameworks/langgraph.md, with LangGraph itself."""

from __future__ import annotations

from tests.sdk.frameworks.contract import TwoCallsContract


class TestLangGraph(TwoCallsContract):
    name = "langgraph"
    page = "how-to/frameworks/langgraph.md"
