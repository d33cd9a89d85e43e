"""docs/how-to/frameworks/claude-agent-sdk.md, with the SDK itself and the program that it drives."""

from __future__ import annotations

from tests.sdk.frameworks.contract import Contract


class TestClaudeAgentSDK(Contract):
    name = "claude-agent-sdk"
    page = "how-to/frameworks/claude-agent-sdk.md"
