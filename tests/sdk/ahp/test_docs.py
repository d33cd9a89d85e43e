"""The lines of docs/how-to/ahp-host.md are run."""

from __future__ import annotations

import ast
import asyncio
import re
from typing import Any

import pytest

from elicit_flows.domain.values import Json
from elicit_flows.sdk.testing.service import Service
from elicit_flows.sdk.testing.user import ScriptedUser
from tests.support.process import PROJECT

PAGE = (PROJECT / "docs/how-to/ahp-host.md").read_text(encoding="utf-8")


def test_the_lines_of_the_page(
    elicit_box: Service, alice: ScriptedUser, unconnected: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ELICIT_URL", elicit_box.url)
    monkeypatch.setenv("ELICIT_API_KEY", elicit_box.api_key)
    told: list[str] = []
    [block] = re.findall(r"```python ahp\n(.*?)```", PAGE, re.DOTALL)

    async def run() -> dict[str, Any]:
        def dispatch(action: Json) -> None:
            told.append(action["type"])
            if action["type"] == "chat/inputRequested":
                asyncio.get_running_loop().run_in_executor(None, alice.allow, action["request"]["url"])

        names: dict[str, Any] = {"user": alice.claim, "dispatch": dispatch, "client_id": "laptop"}
        names["action"] = {"type": "chat/inputCompleted", "requestId": "el_none", "response": "accept"}
        await eval(compile(block, "docs/how-to/ahp-host.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
        return names

    left = asyncio.run(run())
    assert left["token"].token_type == "Bearer"
    assert left["reason"] == "There is no request with this id in this chat."
    assert told[-1] == "session/inputNeededRemoved"
