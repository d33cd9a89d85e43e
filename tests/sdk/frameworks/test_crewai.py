"""docs/how-to/frameworks/crewai.md, with CrewAI itself."""

from __future__ import annotations

from tests.sdk.frameworks.contract import Contract


class TestCrewAI(Contract):
    name = "crewai"
    page = "how-to/frameworks/crewai.md"
