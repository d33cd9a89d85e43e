"""Acme's API keys."""

from __future__ import annotations

import re
import tomllib

import httpx2

from elicit_flows.lib.pattern import Pattern
from sandbox.settings import DEMO
from tests.sandbox.browser import Browser
from tests.sandbox.test_console import CONNECTIONS, ELICITATION, ONE, Start, connections
from tests.sdk.fake import COMPLETED, FakeService, Reply


def check(sandbox: str, authorization: str) -> int:
    return httpx2.get(f"{sandbox}/acme/check", headers={"Authorization": authorization}, trust_env=False).status_code


def test_a_key_that_was_made_is_good_and_no_other_is(sandbox: str, browser: Browser) -> None:
    assert "data-key" not in browser.open(f"{sandbox}/acme/keys").text
    found = re.search(r"<code data-key>([^<]+)", browser.press("make_key").text)
    assert found is not None
    key = found[1]
    (provider,) = [row for row in tomllib.loads(DEMO.read_text())["provider"] if row["slug"] == "acme-key"]
    assert Pattern(provider["fields"][0]["pattern"]).search(key)
    assert check(sandbox, f"Bearer {key}") == 200
    for wrong in (f"Bearer {key}0", f"Basic {key}", key, "Bearer acme_" + "0" * 32, ""):
        assert check(sandbox, wrong) == 401


def test_the_console_asks_for_one(service: FakeService, start: Start, browser: Browser) -> None:
    root = start("--service-url", service.url)
    result = {"connection": "cn_1"}
    service.on(*CONNECTIONS, connections())
    service.on("POST", "/v1/elicitations", Reply(ELICITATION | {"kind": "credentials"}, 201))
    service.on(*ONE, Reply(COMPLETED | {"kind": "credentials", "result": result}))
    browser.open(f"{root}/")
    browser.press("ask", user="alice", kind="acme_key")
    assert service.asked[1].body["kind"] == "credentials"
    assert service.asked[1].body["params"] == {"provider": "acme-key"}
    assert browser.actions == ["secret", "revoke"]
