"""docs/how-to/frameworks/crewai.md, with CrewAI itself."""

from __future__ import annotations

from elicit_flows.sdk.testing import ScriptedUser
from tests.sdk.frameworks.contract import Author, Contract, says
from tests.sdk.hooks import Hooks

SECOND = """
    @listen(choose)
    @flows.confirm("Really, really?")
    def sure(self, said):
        return said.output

    @listen(sure)
"""


class TestCrewAI(Contract):
    name = "crewai"
    page = "how-to/frameworks/crewai.md"

    def test_two_guards_of_a_flow_are_answered_one_after_the_other(
        self, author: Author, hooks: Hooks, alice: ScriptedUser
    ) -> None:
        agent = author.folder / "agent.py"
        agent.write_text(agent.read_text().replace("\n    @listen(choose)\n", SECOND))
        app = author.receives(hooks)
        [link] = author.links("start.py")
        alice.submit(link)
        [_, second] = says(app, hooks.service.url).split(hooks.service.url, 1)
        assert "is gone" not in app.output()
        alice.submit(hooks.service.url + second.split()[0])
        says(app, "reports is gone")
        assert len(author.asked()) == 2
