"""docs/how-to/frameworks/openai-agents.md, with the OpenAI Agents SDK itself."""

from __future__ import annotations

from tests.sdk.frameworks.contract import TwoCallsContract


class TestOpenAIAgents(TwoCallsContract):
    name = "openai-agents"
    page = "how-to/frameworks/openai-agents.md"
