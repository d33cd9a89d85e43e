"""docs/how-to/frameworks/claude-agent-sdk.md, with the SDK itself and the program that it drives."""

from __future__ import annotations

import json
import subprocess

from elicit_flows.sdk.testing import ScriptedUser
from tests.sdk.frameworks.contract import Author, Contract, says
from tests.sdk.hooks import Hooks


class TestClaudeAgentSDK(Contract):
    name = "claude-agent-sdk"
    page = "how-to/frameworks/claude-agent-sdk.md"

    def test_of_two_calls_of_one_turn_the_second_is_made_again_after_the_first(
        self, author: Author, hooks: Hooks, alice: ScriptedUser
    ) -> None:
        for folder in ("reports", "letters"):
            author.model_calls("wipe", folder=folder)
        app = author.receives(hooks)
        [link] = author.links("start.py")
        alice.submit(link)
        [_, second] = says(app, hooks.service.url).split(hooks.service.url, 1)
        assert "letters is gone" not in app.output()
        alice.submit(hooks.service.url + second.split()[0])
        assert "reports is gone" in says(app, "letters is gone")
        assert len(author.asked()) == 2

    def test_a_session_that_asks_for_no_permission_runs_nothing_that_is_guarded(self, author: Author) -> None:
        """In a turn with several calls Claude Code may ignore that one is deferred."""
        data = {"session_id": "s", "tool_name": "wipe", "tool_input": {}, "tool_use_id": "toolu_1"}
        data["permission_mode"] = "bypassPermissions"
        (author.folder / "mode.py").write_text(
            "import asyncio, json\nfrom agent import guard\n"
            f"print(json.dumps(asyncio.run(guard.hooks[0]({data!r}, None, None))))\n"
        )
        ran = subprocess.run(
            [author.python, "mode.py"], cwd=author.folder, env=author.env, capture_output=True, text=True, check=False
        )
        assert json.loads(ran.stdout)["hookSpecificOutput"]["permissionDecision"] == "deny", ran.stderr
        assert author.asked() == []
