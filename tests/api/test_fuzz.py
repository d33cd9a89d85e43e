"""Random requests to every address of the API: the answer is never an error of the service (5xx)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elicit_flows.models import Agent
from tests.api.described import Described
from tests.support import rows
from tests.support.rows import question
from tests.support.serving import Served

pytestmark = pytest.mark.slow

# Text as JSON and addresses may carry it: everything but halves of surrogate pairs, which have tests of their own.
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
value = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4), max_leaves=12,
)  # fmt: skip
odd = st.sampled_from([
    "", "0", "-1", "1e9", "null", "true", "٣", "%00", "\0", "../..", "a" * 5000, "'; DROP TABLE x; --", "{{7*7}}",
    "\u202e", "\ud7ff", "🎉", " ", "9" * 30, "el_" + "A" * 32, "pending", "2026-01-01T00:00:00Z~x*y", "1.x",
])  # fmt: skip
METHODS = st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"])
HEADERS = {
    "accept": ["*/*", "application/json", "text/html, */*;q=0.1", "application/problem+json;q=0", ""],
    "content-type": ["application/json", "application/json; charset=UTF-8", "text/plain", "multipart/form-data", "x"],
    "idempotency-key": ["k", "k" * 255, "k" * 256, "a b", "\"'"],
    "last-event-id": ["", "0", "x.y", "1.AAAA"],
    "x-forwarded-for": ["127.0.0.1", "not an address", "::1, 10.0.0.1"],
    "range": ["bytes=0-", "lines=1"],
    "if-none-match": ["*"],
}  # fmt: skip


@st.composite
def changed(draw: st.DrawFn) -> Any:
    """A good body with one or two values replaced, at any depth."""
    body: Any = json.loads(json.dumps(question(metadata={"a": [1]}, return_url=None, expires_in=60)))
    for _ in range(draw(st.integers(0, 2))):
        place = body
        key = draw(st.sampled_from(sorted(place)) | text)
        while isinstance(place.get(key), dict) and place[key] and draw(st.booleans()):
            place = place[key]
            key = draw(st.sampled_from(sorted(place)) | text)
        place[key] = draw(value | odd)
    return body


@st.composite
def requests(draw: st.DrawFn, templates: dict[str, list[str]]) -> dict[str, Any]:
    """One request to one of the addresses: path, query, headers and body each good, odd or nonsense."""
    path = draw(st.sampled_from(sorted(templates)))
    names = [*templates[path] * 3, "x"]
    while "{" in path:
        before, _, rest = path.partition("{")
        path = before + quote(draw(odd | text), safe="") + rest.partition("}")[2]
    query = draw(st.lists(st.tuples(st.sampled_from(names), odd | text | st.integers().map(str)), max_size=3))
    chosen = draw(st.sets(st.sampled_from(sorted(HEADERS)), max_size=2))
    headers = {name: draw(st.sampled_from(HEADERS[name])) for name in chosen}
    body = draw(st.none() | changed().map(_dumped) | value.map(_dumped) | st.binary(max_size=200))
    return {
        "method": draw(METHODS), "url": path, "params": [(name, given) for name, given in query if name != "wait"],
        "headers": {"content-type": "application/json", **headers}, "content": body,
    }  # fmt: skip


@st.composite
def creates(draw: st.DrawFn) -> dict[str, Any]:
    """A create that is nearly good."""
    kind = draw(st.sampled_from(["application/json"] * 4 + ["text/plain", "application/json; charset=latin-1"]))
    headers = {"content-type": kind, "idempotency-key": draw(st.sampled_from(HEADERS["idempotency-key"]))}
    body = draw(changed().map(_dumped) | st.sampled_from([b"", b"{", b"[]", b'{"kind": "\xff"}', b"\0"]))
    return {"method": "POST", "url": "/v1/elicitations", "headers": headers, "content": body}


def _dumped(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


EXCHANGE = ("POST", "/v1/token")


def fuzz(api: httpx2.Client, url: str, examples: int) -> None:
    described = Described.at(url)
    templates: dict[str, list[str]] = {"/v1/{x}": [], "/v1/elicitations/{x}/draft/{y}": []}
    for path, item in described.root["paths"].items():
        parameters = [one for call in item.values() for one in call["parameters"]]
        templates[path] = sorted({one["name"] for one in parameters if one["in"] == "query"})
    seen: set[int] = set()

    @settings(max_examples=examples, database=None, suppress_health_check=list(HealthCheck))
    @given(requests(templates) | creates())
    def whatever(sent: dict[str, Any]) -> None:
        answer = api.request(**sent)
        seen.add(answer.status_code)
        assert answer.status_code < 500, (sent, answer.text)
        assert answer.headers["cache-control"] == "no-store"
        if (sent["method"], sent["url"]) == EXCHANGE and "error" in answer.json():
            assert answer.status_code in {400, 401, 429}, "OAuth's own shape (RFC 6749, section 5.2)"
        elif answer.status_code >= 400 and sent["method"] != "HEAD":
            assert answer.headers["content-type"] == "application/problem+json", (sent, answer.text)
            assert answer.json()["status"] == answer.status_code
        elif answer.status_code < 300 and sent["method"] != "HEAD":
            described.check(answer)

    whatever()
    assert seen >= {201, 400, 404, 405, 415, 422}, "it came far enough to be refused in every way"


@pytest.fixture
def own_things(api: httpx2.Client) -> None:
    api.post("/v1/elicitations", json=question())


def test_t68_whatever_is_sent_no_answer_is_a_5xx(served: Served, api: httpx2.Client, own_things: None) -> None:
    fuzz(api, served.url, 400)


def test_t68_whatever_is_sent_no_answer_is_a_5xx_on_postgres(on_postgres: str, serve: Callable[..., Served]) -> None:
    served = serve()
    rows.provider()
    known = rows.agent()
    Agent.objects.filter(pk=known.row.pk).update(webhook_url="http://127.0.0.1:9/hooks")
    with known.client(served.url) as api:
        api.post("/v1/elicitations", json=question())
        fuzz(api, served.url, 400)


WAITS = st.sampled_from(["0", "00", "0 ", "+0", "-0", "0.0", "x", "", "٠", "0&wait=0", "999999999999999999999"])


def test_t68_nor_where_requests_wait(served: Served, api: httpx2.Client, own_things: None) -> None:
    @settings(max_examples=150, database=None, suppress_health_check=list(HealthCheck))
    @given(WAITS.filter(lambda wait: not wait.startswith("9")), odd | text, odd | text, st.booleans())
    def whatever(wait: str, one: str, other: str, events: bool) -> None:
        path = "/v1/events" if events else f"/v1/elicitations/{quote(one, safe='') or 'x'}"
        names = ("after", "limit") if events else ("after_seq", "x")
        query = (
            f"wait={wait if wait.startswith('0&') else quote(wait)}&{names[0]}={quote(other)}&{names[1]}={quote(one)}"
        )
        answer = api.get(f"{path}?{query}")
        assert answer.status_code in {200, 400, 404, 422}, (path, query, answer.text)
        if answer.status_code >= 400:
            assert answer.headers["content-type"] == "application/problem+json"

    whatever()
