"""Every error of the API is a problem document (RFC 9457), whichever process and layer it comes from."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any
from urllib.parse import urldefrag

import httpx2
import pytest
from django.db import OperationalError

from elicit_flows import elicitations
from tests.support import rows
from tests.support.rows import Known, question
from tests.support.serving import Served

JSON = {"content-type": "application/json"}
# method, path, what is sent, status, code
ERRORS: list[tuple[str, str, dict[str, Any], int, str]] = [
    ("GET", "/v1/nothing", {}, 404, "not_found"),
    ("GET", "/v1/elicitations/", {}, 404, "not_found"),
    ("GET", "/v1/elicitations/a/b/c", {}, 404, "not_found"),
    ("GET", "/v1/elicitations/none", {}, 404, "not_found"),
    ("GET", "/v1/elicitations/none?wait=1", {}, 404, "not_found"),
    ("GET", "/v1/elicitations/none/draft", {}, 404, "not_found"),
    ("GET", "/v1/elicitations/%00", {}, 400, "bad_request"),
    ("GET", "/v1/elicitations/%00?wait=1", {}, 400, "bad_request"),
    ("GET", "/v1/elicitations/%ED%A0%80", {}, 404, "not_found"),
    ("GET", "/v1/elicitations/%ED%A0%80?wait=1", {}, 404, "not_found"),
    ("GET", "/v1/elicitations/%FF?wait=1", {}, 404, "not_found"),
    ("POST", "/v1/connections/%00/token", {}, 400, "bad_request"),
    ("DELETE", "/v1/connections/none", {}, 404, "not_found"),
    ("POST", "/v1/webhooks/deliveries/none/replay", {}, 404, "not_found"),
    ("PUT", "/v1/elicitations", {}, 405, "method_not_allowed"),
    ("DELETE", "/v1/elicitations/none", {}, 405, "method_not_allowed"),
    ("PATCH", "/v1/events?wait=1", {}, 405, "method_not_allowed"),
    ("POST", "/v1/events?wait=1", {}, 405, "method_not_allowed"),
    ("OPTIONS", "/v1/elicitations", {}, 405, "method_not_allowed"),
    ("TRACE", "/v1/elicitations", {}, 405, "method_not_allowed"),
    ("POST", "/v1/docs", {}, 403, "forbidden"),
    ("POST", "/v1/elicitations", {"content": b" " * 70_000, "headers": JSON}, 413, "too_large"),
    ("POST", "/v1/elicitations", {"content": b" " * 1_000_001, "headers": JSON}, 413, "too_large"),
    ("POST", "/v1/elicitations", {"content": b"a=b"}, 415, "unsupported_media_type"),
    ("POST", "/v1/elicitations", {"content": b"{", "headers": JSON}, 400, "bad_request"),
    ("POST", "/v1/elicitations", {"json": {}}, 422, "invalid"),
    ("GET", "/v1/elicitations?limit=0", {}, 422, "invalid"),
    ("GET", "/v1/elicitations?limit=101", {}, 422, "invalid"),
    ("GET", "/v1/elicitations?limit=x", {}, 422, "invalid"),
    ("GET", "/v1/elicitations?status=x", {}, 422, "invalid"),
    ("GET", "/v1/elicitations?cursor=x", {}, 400, "bad_cursor"),
    ("GET", "/v1/elicitations?iss=a%00b", {}, 400, "bad_request"),
    ("GET", "/v1/elicitations?sub=%00", {}, 400, "bad_request"),
    ("GET", "/v1/connections?provider=%00", {}, 400, "bad_request"),
    ("GET", "/v1/events?wait=1&after=%00", {}, 400, "bad_request"),
    ("GET", "/v1/events?limit=0", {}, 422, "invalid"),
    ("GET", "/v1/events?limit=0&wait=1", {}, 422, "invalid"),
    ("GET", "/v1/events?limit=1001&wait=1", {}, 422, "invalid"),
    ("GET", "/v1/events?wait=-1", {}, 422, "invalid"),
    ("GET", "/v1/events?wait=1.5", {}, 422, "invalid"),
    ("GET", "/v1/events?wait=1&wait=2", {}, 422, "invalid"),
    ("GET", "/v1/events?wait=1&after=a&after=b", {}, 422, "invalid"),
    ("GET", "/v1/events?wait=٣", {}, 422, "invalid"),
    ("GET", "/v1/events?wait=", {}, 422, "invalid"),
    ("GET", "/v1/events?after=x", {}, 400, "bad_cursor"),
    ("GET", "/v1/events?after=x&wait=1", {}, 400, "bad_cursor"),
    ("GET", "/v1/events?after=x", {"headers": {"accept": "text/event-stream"}}, 400, "bad_cursor"),
    ("GET", "/v1/webhooks/deliveries?status=x", {}, 422, "invalid"),
    ("POST", "/v1/tokens", {}, 404, "not_found"),
]  # fmt: skip


def is_problem(answer: httpx2.Response, status: int, code: str) -> None:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["cache-control"] == "no-store"
    body = answer.json()
    assert body.keys() - {"errors"} == {"type", "title", "status", "detail", "code"}
    assert (body["status"], body["code"]) == (status, code)
    assert all(isinstance(body[name], str) and body[name] for name in ("type", "title", "detail"))
    if status == 422:
        assert all(one.keys() == {"loc", "message"} and one["message"] for one in body["errors"])


@pytest.mark.parametrize(("method", "path", "sent", "status", "code"), ERRORS)
def test_an_error_is_a_problem_document(
    api: httpx2.Client, method: str, path: str, sent: dict[str, Any], status: int, code: str
) -> None:
    answer = api.request(method, path, **sent)
    is_problem(answer, status, code)
    if status == 405:
        assert answer.headers["allow"]


def test_an_error_is_a_problem_document_on_postgres_too(postgres_client: httpx2.Client) -> None:
    """PostgreSQL refuses a text with NUL, even in a search."""
    for method, path, sent, status, code in ERRORS:
        is_problem(postgres_client.request(method, path, **sent), status, code)


def test_t114_what_nobody_foresaw_is_a_problem_document_without_a_word_about_it(
    api: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object) -> None:
        raise RuntimeError("the secret reason")

    monkeypatch.setattr(elicitations, "create", broken)
    answer = api.post("/v1/elicitations", json=question())
    is_problem(answer, 500, "internal_error")
    assert "secret" not in answer.text


@pytest.mark.parametrize("path", ["/v1/events?wait=1", "/v1/elicitations/x?wait=1"])
def test_t114_so_it_is_where_requests_wait(
    api: httpx2.Client, known: Known, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    def broken(*args: object) -> None:
        raise RuntimeError("the secret reason")

    monkeypatch.setattr("elicit_flows.events.feed.position", broken)
    monkeypatch.setattr("elicit_flows.api.streaming.longpoll.own_elicitation", broken)
    answer = api.get(path)
    is_problem(answer, 500, "internal_error")
    assert "secret" not in answer.text


def test_t114_on_a_page_it_is_our_mistake_without_a_word_about_it_either(
    api: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object) -> None:
        raise RuntimeError("the secret reason")

    monkeypatch.setattr("elicit_flows.web.session.person", broken)
    answer = api.get("/account")
    assert (answer.status_code, answer.headers["content-type"]) == (500, "text/html; charset=utf-8")
    assert "This is our mistake" in answer.text
    assert "secret" not in answer.text


def test_the_type_of_every_problem_leads_to_its_place_on_the_readable_page(api: httpx2.Client) -> None:
    page = api.get("/v1/docs").text
    for method, path, sent, _, code in ERRORS:
        address, anchor = urldefrag(api.request(method, path, **sent).json()["type"])
        assert address.endswith("/v1/docs")
        assert anchor == f"error-{code}"
        assert f'id="{anchor}"' in page


@pytest.mark.parametrize(
    "head",
    [
        b"GET /v1/events HTTP/1.1\r\nHost: evil.example\r\n",
        b"GET /v1/elicitations HTTP/1.1\r\n",
        b"POST /v1/elicitations HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n",
        b"POST /v1/elicitations HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999999999999999\r\n",
        b"POST /v1/elicitations HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n",
        b"GET /v1/elicitations?wait=1 HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer \xff\xfe\r\n",
        b"GET /v1/elicitations/\xff?wait=1 HTTP/1.1\r\nHost: 127.0.0.1\r\n",
        b"GARBAGE\r\n",
    ],
)  # fmt: skip
def test_a_broken_request_is_no_error_of_the_server(served: Served, head: bytes) -> None:
    host, port = served.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=5) as connection:
        connection.sendall(head + b"Connection: close\r\n\r\n")
        answer = connection.recv(4096)
    assert answer.startswith(b"HTTP/1.1 4"), answer[:200]


def test_the_stranger_reads_the_same_words_as_the_owner(new_client: Callable[..., httpx2.Client], known: Known) -> None:
    del known
    answers = [new_client(rows.agent()).get("/v1/elicitations/none").content for _ in range(2)]
    assert answers[0] == answers[1]


def test_f12_while_the_database_is_away_every_plane_says_when_to_come_back(
    api: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*args: object) -> None:
        raise OperationalError("connection refused")

    monkeypatch.setattr("elicit_flows.lib.compiled_query.prepared_cursor", away)
    for path in ("/v1/elicitations", "/v1/events?wait=1", "/v1/elicitations/none?wait=1"):
        answer = api.get(path)
        is_problem(answer, 503, "unavailable")
        assert int(answer.headers["retry-after"]) > 0
    monkeypatch.setattr("elicit_flows.web.session.person", away)
    page = api.get("/account")
    assert (page.status_code, page.headers["retry-after"]) == (503, "2")
    assert 'data-page="refused"' in page.text
