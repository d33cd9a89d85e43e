"""Blocks that need a set-up of their own: a site's assertion, a webhook receiver, a project with tests."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import OKPKey
from standardwebhooks import Webhook

from tests.docs.page import found
from tests.support.process import PROJECT, clean_env

pytestmark = pytest.mark.slow


def test_the_assertion_of_the_page_has_what_the_service_reads() -> None:
    """tests/journey/test_vouching.py shows that the service accepts such an assertion."""
    [block] = found("how-to/own-sign-in.md", "site")
    names: dict[str, Any] = {}
    exec(compile(block.text, "docs/how-to/own-sign-in.md", "exec"), names)
    key = OKPKey.generate_key("Ed25519", {"kid": "k1"})
    request = SimpleNamespace(GET={"state": "s-1", "elicitation": "el_1"})
    made = names["assertion_for"](SimpleNamespace(id="u-1", name="Alice"), request, key)
    read = jwt.decode(made, key, algorithms=["Ed25519"])
    assert (read.header["typ"], read.header["kid"]) == ("vouch+jwt", "k1")
    assert read.claims.keys() >= {"iss", "sub", "aud", "iat", "exp", "jti", "state", "elicitation", "name"}
    assert read.claims["exp"] - read.claims["iat"] == 60


def test_the_receiver_of_the_page_takes_what_is_signed_and_nothing_else() -> None:
    [block] = found("how-to/webhooks.md", "webhook")
    secret, body = "whsec_" + "A" * 43 + "=", b'{"id": "ev_1", "type": "elicitation.completed", "data": {}}'
    handled: list[Any] = []
    names: dict[str, Any] = {"webhook_secret": secret, "seen": set(), "handle": handled.append}
    exec(compile(block.text, "docs/how-to/webhooks.md", "exec"), names)
    now = datetime.now(UTC)
    headers = {"webhook-id": "ev_1", "webhook-timestamp": str(int(now.timestamp()))}
    headers["webhook-signature"] = Webhook(secret).sign("ev_1", now, body.decode())
    assert [names["receive"](headers, body) for _ in range(2)] == [204, 204]
    assert [event.id for event in handled] == ["ev_1"]
    assert names["receive"](headers, body + b" ") == 400


@pytest.mark.limit(240)
def test_the_tests_of_the_page_pass(tmp_path: Path) -> None:
    files = [block.text for block in found("how-to/test-your-agent.md", "pytest")]
    for name, text in zip(["conftest.py", "test_my_agent.py", "my_agent.py"], files, strict=True):
        (tmp_path / name).write_text(text)
    env = clean_env({"PYTHONPATH": f"{PROJECT}:{tmp_path}", "ELICIT_CHECKOUT": str(PROJECT)})
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:django", str(tmp_path)]
    ran = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "2 passed" in ran.stdout
