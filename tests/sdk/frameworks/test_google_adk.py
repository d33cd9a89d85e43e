"""docs/how-to/frameworks/google-adk.md, with the Agent Development Kit itself."""

from __future__ import annotations

from tests.sdk.frameworks.contract import Contract


class TestGoogleADK(Contract):
    name = "google-adk"
    page = "how-to/frameworks/google-adk.md"
