"""docs/how-to/frameworks/openai-agents.md, with the OpenAI Agents SDK itself."""

from __future__ import annotations

import pytest

from tests.sdk.frameworks.contract import Author, TwoCallsContract


class TestOpenAIAgents(TwoCallsContract):
    name = "openai-agents"
    page = "how-to/frameworks/openai-agents.md"

    def test_a_call_for_which_nobody_is_asked_does_not_pause(self, author: Author) -> None:
        """The SDK would pause where it changes or refuses arguments, and no answer would resume the run."""
        agent = author.folder / "agent.py"
        agent.write_text(agent.read_text().replace('confirm("Really delete the folder?")', "ask(lambda folder: None)"))
        author.model_calls("wipe", folder="reports", unknown=1)
        author.model_calls("wipe")
        assert author.links("start.py") == []
        [kept] = author.folder.glob("run-*.json")
        assert "reports is gone" in kept.read_text()
        assert "An error occurred while running the tool" in kept.read_text()

    @pytest.mark.parametrize("said", ["{folder", "[1]", "null"])
    def test_a_call_whose_arguments_are_no_object_keeps_no_link_from_its_user(self, author: Author, said: str) -> None:
        app = author.folder / "my_app.py"
        app.write_text(app.read_text().replace("json.dumps(given)", 'given.get("said") or json.dumps(given)'))
        author.model_calls("wipe", said=said)
        author.model_calls("wipe", folder="reports")
        assert len(author.links("start.py")) == 1
