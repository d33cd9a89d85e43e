"""T138: requests that no browser and no agent sends are answered with a 4xx, and do not fill the log."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import os
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest
from django.db import OperationalError
from webauthn.helpers import bytes_to_base64url

from config.logs import JsonFormatter, LimitedHandler
from elicit_flows.identity import ceremonies
from elicit_flows.identity.errors import SignInRefused
from tests.support import rows
from tests.support.rows import question
from tests.support.serving import Served

UTF7 = "%2BAAA-"  # NUL, in a charset that says it without the byte
PART = b'content-disposition: form-data; name="provider"\r\ncontent-transfer-encoding: base64'
MULTIPART = b"--x\r\n" + PART + b"\r\n\r\nAGFh\r\n--x--\r\n"
PARTS, TEXT = "multipart/form-data", "text/plain; charset=utf-7"


def typed(content_type: str, content: bytes = b"") -> dict[str, Any]:
    return {"content": content, "headers": {"content-type": content_type}}


HOSTILE: dict[str, tuple[str, str, dict[str, Any]]] = {
    "NUL in a form": ("POST", "/login", {"data": {"provider": "\0"}}),
    "NUL in a field's name": ("POST", "/login", {"data": {"\0": "x"}}),
    "NUL in a part": ("POST", "/login", typed(f"{PARTS}; boundary=x", MULTIPART)),
    "NUL in a code": ("POST", "/device", {"data": {"code": "\0"}}),
    "NUL in a vouch": ("POST", "/login/corp/vouch", {"data": {"assertion": "\0"}}),
    "NUL in another charset": ("GET", f"/v1/elicitations?sub={UTF7}", typed(TEXT)),
    "half a pair in another charset": ("GET", "/v1/elicitations?sub=%2B2AA-", typed(TEXT)),
    "NUL in a cookie": ("GET", "/account", {"headers": {"cookie": 'sessionid="\\000aaaaaaaaaaaaaaaa"'}}),
    "NUL in JSON": ("POST", "/v1/elicitations", {"json": question(message="\0")}),
    "NUL in a token": ("POST", "/v1/token", {"data": {"grant_type": "\0"}}),
    "deep JSON": ("POST", "/v1/elicitations", typed("application/json", b"[" * 60_000)),
    "a host that is none": ("GET", "/account", {"headers": {"host": "evil.example"}}),
    "a host that is none, to the API": ("GET", "/v1/agent", {"headers": {"host": "evil.example"}}),
    "a host with a space": ("GET", "/account", {"headers": {"host": "a b"}}),
    "no multipart at all": ("POST", "/login", typed(PARTS, b"x")),
    "another charset of a form": ("POST", "/login", typed("application/x-www-form-urlencoded; charset=utf-16", b"a=b")),
}


@pytest.fixture
def written() -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """The lines that the service has written to its log, as it is set."""
    stream = io.StringIO()
    handler = LimitedHandler(stream)
    handler.setFormatter(JsonFormatter())
    logging.getLogger().addHandler(handler)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    logging.getLogger().removeHandler(handler)
    handler.close()


@pytest.fixture
def asking(on_postgres: str, serve: Callable[..., Served]) -> Iterator[httpx2.Client]:
    served = serve()
    rows.provider()
    with rows.agent().client(served.url) as client:
        yield client


@pytest.mark.slow
@pytest.mark.limit(120)
def test_t138_no_hostile_request_is_answered_with_5xx(
    asking: httpx2.Client, written: Callable[[], list[dict[str, Any]]]
) -> None:
    for what, (method, path, content) in HOSTILE.items():
        answer = asking.request(method, path, **content)
        assert 400 <= answer.status_code < 500, (what, answer.status_code)
    assert not [line for line in written() if "trace" in line or line["level"] in ("error", "critical")]


def test_t138_a_server_that_offers_websockets_is_told_no(served: Served) -> None:
    """Ours does not; another ASGI server may."""
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(served.service({"type": "websocket", "path": "/account"}, receive, send))
    assert sent == [{"type": "websocket.close", "code": 1000}]


@pytest.mark.slow
def test_t138_a_hundred_bad_hosts_are_a_few_short_lines(
    asking: httpx2.Client, written: Callable[[], list[dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(100):
        assert asking.get("/account", headers={"host": f"evil-{number}.example"}).status_code == 400
        assert asking.post("/inbound/none", content=b"x").status_code == 404
    lines = [line for line in written() if line["logger"] != "uvicorn.access"]
    assert 0 < len(lines) <= 40, "ten of each kind"
    assert sum(len(json.dumps(line)) for line in lines) < 20_000


def test_t138_what_was_left_out_is_counted_a_minute_later(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("config.logs.time.monotonic", lambda: now[0])
    stream = io.StringIO()
    handler = LimitedHandler(stream, burst=2)
    handler.setFormatter(JsonFormatter())
    record = logging.LogRecord("django.security.DisallowedHost", logging.ERROR, "f", 1, "Invalid host", (), None)
    for _ in range(7):
        handler.handle(record)
    assert len(stream.getvalue().splitlines()) == 2
    now[0] += 61
    handler.handle(logging.LogRecord("a", logging.INFO, "f", 1, "another", (), None))
    *_, summed, another = map(json.loads, stream.getvalue().splitlines())
    assert (summed["message"], summed["suppressed"], another["message"]) == ("Invalid host", 5, "another")
    for _ in range(4):
        handler.handle(record)
    handler.close()
    assert json.loads(stream.getvalue().splitlines()[-1])["suppressed"] == 2, "and at the end of the process"


def test_t138_a_database_that_is_away_is_one_line_without_a_trace() -> None:
    stream = io.StringIO()
    handler = LimitedHandler(stream, burst=3)
    handler.setFormatter(JsonFormatter())
    for _ in range(50):
        try:
            raise OperationalError("connection refused\nIs the server running?")
        except OperationalError as error:
            info = (type(error), error, error.__traceback__)
        record = logging.LogRecord("django.request", logging.ERROR, "f", 1, "%s: %s", ("Unavailable", "/c/x"), info)
        record.status_code = 503
        handler.handle(record)
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert len(lines) == 3
    assert lines[0]["message"] == "Unavailable: /c/x: OperationalError: connection refused"
    assert "trace" not in lines[0]


def test_t138_a_fault_of_ours_keeps_its_trace_once_for_each_place() -> None:
    stream = io.StringIO()
    handler = LimitedHandler(stream, burst=1)
    handler.setFormatter(JsonFormatter())
    for number in range(10):
        try:
            _ = os.environ[f"no such variable {number}"]
        except KeyError as error:
            info = (type(error), error, error.__traceback__)
        record = logging.LogRecord("django.request", logging.ERROR, "f", 1, "Internal Server Error", (), info)
        record.status_code = 500
        handler.handle(record)
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [("trace" in line, line["level"]) for line in lines] == [(True, "error")]


@pytest.mark.parametrize("read", ["read", "made"])
@pytest.mark.parametrize(
    "deep", ["[" * 19_000, json.dumps({"id": "x", "response": {}}), "{}", "[]", "nothing", "1" * 5000]
)
def test_t138_no_passkey_is_too_odd_to_be_refused(read: str, deep: str) -> None:
    place = ceremonies.Place("https://flows.example.com", "Elicit Flows")
    with pytest.raises(SignInRefused):
        _ = ceremonies.read(deep) if read == "read" else ceremonies.made(place, deep, "challenge")


@pytest.mark.parametrize("part", ["clientDataJSON", "attestationObject", "authenticatorData"])
@pytest.mark.parametrize("inner", [b"[" * 10_000, b"\x81" * 10_000, b"\x9b" + b"\xff" * 8, b"\xbf", b"{}", b""])
def test_t138_nor_what_stands_inside_of_one(part: str, inner: bytes) -> None:
    place = ceremonies.Place("https://flows.example.com", "Elicit Flows")
    said = {"type": "webauthn.create", "challenge": "Y2hhbGxlbmdl", "origin": "https://flows.example.com"}
    usual = {
        "clientDataJSON": json.dumps(said).encode(),
        "attestationObject": b"\xa0", "authenticatorData": b"", "signature": b"", "userHandle": b"alice",
    }  # fmt: skip
    response = {name: bytes_to_base64url(value) for name, value in (usual | {part: inner}).items()}
    sent = json.dumps({"id": "AAAA", "rawId": "AAAA", "type": "public-key", "response": response})
    with pytest.raises(SignInRefused):
        ceremonies.made(place, sent, "challenge")
    with pytest.raises(SignInRefused):
        ceremonies.used(place, ceremonies.read(sent), "challenge", sub="alice", public_key="AAAA", sign_count=0)
