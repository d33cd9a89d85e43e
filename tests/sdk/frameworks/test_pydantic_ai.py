"""docs/how-to/frameworks/pydantic-ai.md, with Pydantic AI itself."""

from __future__ import annotations

from tests.sdk.frameworks.contract import TwoCallsContract


class TestPydanticAI(TwoCallsContract):
    name = "pydantic-ai"
    page = "how-to/frameworks/pydantic-ai.md"
