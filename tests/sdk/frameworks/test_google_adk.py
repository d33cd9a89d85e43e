"""docs/how-to/frameworks/google-adk.md, with the Agent Development Kit itself."""

from __future__ import annotations

from tests.sdk.frameworks.contract import TwoCallsContract


class TestGoogleADK(TwoCallsContract):
    name = "google-adk"
    page = "how-to/frameworks/google-adk.md"
