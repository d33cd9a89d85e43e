"""The console, in front of a service that follows a script."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest

from tests.sandbox.browser import Browser
from tests.sandbox.conftest import KEY, SERVICE
from tests.sdk.fake import COMPLETED, ELICITATION, FakeService, Reply, problem
from tests.support import process
from tests.support.process import clean_env, fork_server

pytestmark = pytest.mark.slow

Start = Callable[..., str]
CONNECTIONS = ("GET", "/v1/connections")
ONE = ("GET", "/v1/elicitations/el_1")
TOKEN = {"access_token": "not-one-of-acmes", "token_type": "Bearer", "expires_at": None, "scopes": ["files.read"]}
CONNECTION = {"id": "cn_1", "provider": "acme", "subject": ELICITATION["subject"], "scopes": [], "status": "active"}


def connections(*rows: dict[str, object]) -> Reply:
    return Reply({"data": list(rows), "next_cursor": None})


def test_it_asks_as_an_agent_and_shows_the_link(service: FakeService, start: Start, browser: Browser) -> None:
    root = start("--service-url", service.url)
    service.on(*CONNECTIONS, connections())
    service.on("POST", "/v1/elicitations", Reply(ELICITATION, 201))
    service.on(*ONE, *[Reply(ELICITATION)] * 2)

    front = browser.open(f"{root}/")
    assert "SANDBOX" in front.text
    page = browser.press("ask", user="bob", kind="oauth")

    asked = service.asked[1]
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.body["subject"] == {"iss": root, "sub": "bob"}
    assert asked.body["params"] == {"provider": "acme", "scopes": ["files.read"]}
    assert asked.body["return_url"] == f"{root}/back"
    assert 'href="http://127.0.0.1/c/el_1"' in page.text
    assert '<noscript><meta http-equiv="refresh"' in page.text
    assert browser.actions == ["cancel"]
    assert browser.open(f"{root}/back").headers["Location"] == "/asked/el_1"


def test_it_sees_the_end_and_uses_the_token(service: FakeService, start: Start, browser: Browser) -> None:
    root = start("--service-url", service.url)
    service.on(*ONE, Reply(COMPLETED))
    service.on("POST", "/v1/connections/cn_1/token", Reply(TOKEN))
    page = browser.open(f"{root}/asked/el_1?after_seq=2")
    assert service.asked[0].query == {"wait": "20", "after_seq": "2"}
    assert 'data-status="completed"' in page.text
    assert "data-next" not in page.text
    assert "refresh" not in page.text.split("<details>")[0]
    page = browser.press("files")
    assert "Acme answered 401" in page.text, "the token went to Acme, which does not know it"
    assert TOKEN["access_token"] not in page.text


def test_it_asks_for_money_and_gives_it_back(service: FakeService, start: Start, browser: Browser) -> None:
    root = start("--service-url", service.url)
    paid = {"payment": "pa_1", "amount": 500, "currency": "usd", "status": "paid", "receipt_url": "https://pay/r"}
    service.on(*CONNECTIONS, *[connections()] * 2)
    service.on("POST", "/v1/elicitations", Reply(ELICITATION | {"kind": "payment"}, 201))
    service.on(*ONE, Reply(COMPLETED | {"kind": "payment", "result": paid}))
    service.on("POST", "/v1/payments/pa_1/refunds", Reply({"id": "re_1", "status": "pending"}, 201))
    browser.open(f"{root}/")
    page = browser.press("ask", user="alice", kind="payment")
    asked = service.asked[1]
    assert asked.body["kind"] == "payment"
    assert asked.body["params"] == {"amount": 500, "currency": "usd", "description": "Quarterly report"}
    assert "Paid: 5.00 USD." in page.text
    assert 'href="https://pay/r"' in page.text
    browser.press("refund")
    assert (service.asked[3].method, service.asked[3].path) == ("POST", "/v1/payments/pa_1/refunds")


def test_it_takes_back_and_revokes(service: FakeService, start: Start, browser: Browser) -> None:
    root = start("--service-url", service.url)
    service.on(*ONE, Reply(ELICITATION), Reply(ELICITATION | {"status": "cancelled"}))
    service.on("POST", "/v1/elicitations/el_1/cancel", Reply(ELICITATION | {"status": "cancelled"}))
    service.on(*CONNECTIONS, connections(CONNECTION, CONNECTION | {"id": "cn_2", "status": "revoked"}), connections())
    service.on("DELETE", "/v1/connections/cn_1", Reply(status=204))
    browser.open(f"{root}/asked/el_1")
    assert 'data-status="cancelled"' in browser.press("cancel").text
    page = browser.open(f"{root}/")
    assert page.text.count('data-action="revoke"') == 1
    assert "None yet." in browser.press("revoke").text


def test_a_refusal_is_a_page(service: FakeService, start: Start, browser: Browser, sandbox: str) -> None:
    root = start("--service-url", service.url)
    service.on(*CONNECTIONS, problem(401, "unauthenticated"))
    page = browser.open(f"{root}/")
    assert page.status_code == 502
    assert "It is unauthenticated" in page.text
    page = browser.open(f"{sandbox}/")
    assert page.status_code == 502
    assert f"The service at {SERVICE} does not answer" in page.text


def test_every_page_is_strict_and_says_sandbox(sandbox: str, browser: Browser) -> None:
    for path in ("/", "/nowhere", "/authorize", "/static/watch.js"):
        page = browser.open(f"{sandbox}{path}")
        policy = page.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert f"form-action 'self' {SERVICE};" in policy
        if page.headers["Content-Type"].startswith("text/html"):
            assert "<strong>SANDBOX</strong>" in page.text
            assert "· SANDBOX</title>" in page.text


@pytest.mark.parametrize("headers", [{"Origin": "http://evil.test"}, {"Origin": "null"}, {"Host": "evil.test"}])
def test_other_sites_cannot_press_its_buttons(sandbox: str, headers: dict[str, str]) -> None:
    refused = httpx2.post(f"{sandbox}/ask", data={"user": "alice"}, headers=headers)
    assert refused.status_code in (400, 403)


def run(*arguments: str, key: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sandbox", *arguments]
    return process.run(command, clean_env({"ELICIT_API_KEY": key} if key else {}), fork_server())


@pytest.mark.parametrize("key", ["sk_live_" + "a" * 32, "el-live-" + "a" * 32, "LIVE_" + "a" * 32])
def test_it_refuses_a_key_that_looks_live(key: str, tmp_path: Path) -> None:
    refused = run("--port", "0", key=key)
    (tmp_path / "key").write_text(key)
    from_file = run("--port", "0", "--key-file", str(tmp_path / "key"))
    for ended in (refused, from_file):
        assert ended.returncode == 1
        assert "looks like a live key" in ended.stderr
        assert key not in ended.stderr


def test_a_taken_port_is_one_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = run("--port", str(port))
    assert ended.returncode == 1
    assert ended.stderr == f"sandbox: Cannot listen on 127.0.0.1:{port}: Address already in use.\n"


def test_without_a_key_it_says_how_to_get_one(start: Start, tmp_path: Path) -> None:
    ended = tmp_path / "none"
    root = start("--key-file", str(ended), environment={})
    page = httpx2.get(f"{root}/")
    assert page.status_code == 200
    assert "make run" in page.text
    assert str(ended) in page.text


@pytest.mark.parametrize("kind", ["credentials", "form", "confirm", "link"])
def test_it_asks_for_every_kind(service: FakeService, start: Start, browser: Browser, kind: str) -> None:
    root = start("--service-url", service.url)
    service.on(*CONNECTIONS, connections())
    service.on("POST", "/v1/elicitations", Reply(ELICITATION | {"kind": kind}, 201))
    service.on(*ONE, Reply(COMPLETED | {"kind": kind, "result": {}}))
    browser.open(f"{root}/")
    assert "Done" in browser.press("ask", user="alice", kind=kind).text
    assert service.asked[1].body["kind"] == kind
    if kind == "link":
        assert service.asked[1].body["params"] == {"url": f"{root}/terms", "completion": "on_return"}


def test_what_was_typed_is_fetched_and_not_shown(service: FakeService, start: Start, browser: Browser) -> None:
    root = start("--service-url", service.url)
    service.on(*ONE, Reply(COMPLETED | {"kind": "credentials", "result": {"connection": "cn_1"}}))
    service.on("POST", "/v1/connections/cn_1/secret", Reply({"fields": {"api_key": "sk-typed"}}))
    browser.open(f"{root}/asked/el_1")
    page = browser.press("secret")
    assert "8 characters" in page.text
    assert "sk-typed" not in page.text


def test_the_terms_lead_back_to_the_service_and_nowhere_else(sandbox: str, browser: Browser) -> None:
    for back in (f"{SERVICE}.evil.test/", "https://evil.test/", "javascript:alert(1)", ""):
        assert "I have read them" not in browser.open(f"{sandbox}/terms?elicit_return={back}").text
    assert (
        f'href="{SERVICE}/callback/link?state=s"'
        in browser.open(f"{sandbox}/terms?elicit_return={SERVICE}/callback/link?state=s").text
    )
