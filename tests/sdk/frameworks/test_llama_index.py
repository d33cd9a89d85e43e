"""docs/how-to/frameworks/llama-index.md, with LlamaIndex itself."""

from __future__ import annotations

from tests.sdk.frameworks.contract import TwoCallsContract


class TestLlamaIndex(TwoCallsContract):
    name = "llama-index"
    page = "how-to/frameworks/llama-index.md"
