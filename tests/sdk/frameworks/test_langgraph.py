"""docs/how-to/frameworks/langgraph.md, with LangGraph itself."""

from __future__ import annotations

from tests.sdk.frameworks.contract import WebhookContract


class TestLangGraph(WebhookContract):
    name = "langgraph"
    page = "how-to/frameworks/langgraph.md"
