"""T66, T68: which request bodies are accepted, and which values an agent cannot set."""

from __future__ import annotations

import gzip
import json

import httpx2
import pytest

from elicit_flows.api.elicitations import MAX_METADATA
from elicit_flows.models import Elicitation, Provider
from tests.support import rows
from tests.support.rows import Known, question
from tests.support.sweeps import spread

JSON = {"content-type": "application/json"}
GOOD = json.dumps(question()).encode()


def holding(text: str) -> bytes:
    """A good body but for ``text``, raw, as the metadata."""
    return GOOD[:-1] + b', "metadata": ' + text.encode("utf-8", "surrogatepass") + b"}"


BODIES: dict[str, tuple[bytes, dict[str, str], set[int]]] = {
    "empty": (b"", JSON, {422}),
    "10 MB": (b'{"kind": "' + b"x" * 10_000_000 + b'"}', JSON, {413}),
    "just over the limit": (holding('"' + "x" * 65_536 + '"'), JSON, {413}),
    "over the limit of the server": (b" " * 1_000_001, JSON, {413}),
    "16 levels deep in the metadata": (holding('{"a":' * 16 + "1" + "}" * 16), JSON, {400}),
    "lists, 10,000 deep": (holding("[" * 10_000 + "]" * 10_000), JSON, {400}),
    "objects, 10,000 deep": (holding('{"a":' * 10_000 + "1" + "}" * 10_000), JSON, {400}),
    "only opening brackets": (b"[" * 60_000, JSON, {400}),
    "only closing brackets": (b"]" * 60_000, JSON, {400}),
    "a string that does not end": (b'{"kind": "' + b"\\" * 50_001, JSON, {400}),
    "NUL, escaped": (holding('{"a": "\\u0000"}'), JSON, {400}),
    "NUL as a name": (holding('{"\\u0000": 1}'), JSON, {400}),
    "NUL in a list": (holding('{"a": ["\\u0000"]}'), JSON, {400}),
    "NUL, raw": (holding('{"a": "\0"}'), JSON, {400}),
    "NUL in the message": (json.dumps(question(message="a\0b")).encode(), JSON, {400}),
    "half a surrogate pair, escaped": (holding('{"a": "\\ud800"}'), JSON, {400}),
    "the other half as a name": (holding('{"\\udfff": 1}'), JSON, {400}),
    "a surrogate in the bytes": (holding('{"a": "\ud800"}'), JSON, {400}),
    "invalid UTF-8": (holding('{"a": "x"}').replace(b'"x"', b'"\xff\xfe"'), JSON, {400}),
    "UTF-16": (GOOD.decode().encode("utf-16"), JSON, {400}),
    "byte order mark": (b"\xef\xbb\xbf" + GOOD, JSON, {400}),
    "NaN": (holding('{"a": NaN}'), JSON, {400}),
    "Infinity": (holding('{"a": -Infinity}'), JSON, {400}),
    "1e400": (holding('{"a": 1e400}'), JSON, {400}),
    "a number of 21 digits": (holding('{"a": ' + "9" * 21 + "}"), JSON, {400}),
    "a number of 5,000 digits": (holding('{"a": ' + "9" * 5_000 + "}"), JSON, {400}),
    "a name twice": (GOOD[:-1] + b', "kind": "oauth"}', JSON, {400}),
    "a name twice, inside": (holding('{"a": 1, "a": 2}'), JSON, {400}),
    "a name twice, one escaped": (GOOD[:-1] + b', "\\u006bind": "oauth"}', JSON, {400}),
    "a comment": (GOOD[:-1] + b" /* */ }", JSON, {400}),
    "a trailing comma": (GOOD[:-1] + b",}", JSON, {400}),
    "two documents": (GOOD + GOOD, JSON, {400}),
    "single quotes": (GOOD.replace(b'"', b"'"), JSON, {400}),
    "a list": (b"[" + GOOD + b"]", JSON, {400}),
    "null": (b"null", JSON, {400}),
    "a string": (b'"oauth"', JSON, {400}),
    "gzip": (gzip.compress(GOOD), JSON | {"content-encoding": "gzip"}, {415}),
    "a gzip bomb": (gzip.compress(b" " * 20_000_000), JSON | {"content-encoding": "gzip"}, {415}),
    "brotli by name": (GOOD, JSON | {"content-encoding": "br"}, {415}),
    "no type": (GOOD, {}, {415}),
    "text": (GOOD, {"content-type": "text/plain"}, {415}),
    "a form": (b"kind=oauth", {"content-type": "application/x-www-form-urlencoded"}, {415}),
    "a multipart form": (b"--x--", {"content-type": "multipart/form-data; boundary=x"}, {415}),
    "another charset": (GOOD, {"content-type": "application/json; charset=utf-16"}, {415}),
    "nearly the type": (GOOD, {"content-type": "application/jsonp"}, {415}),
    "metadata over its limit": (holding(json.dumps({"a": "x" * 9_000})), JSON, {422}),
    "metadata is a list": (holding("[]"), JSON, {422}),
}  # fmt: skip


def test_where_json_ends_is_said_in_one_sentence(api: httpx2.Client) -> None:
    refused = api.post("/v1/elicitations", content=b'{"kind": "a\0"}', headers=JSON)
    assert refused.json()["detail"] == "The body is not JSON: Invalid control character at line 1, column 12."


@pytest.mark.parametrize("name", BODIES)
def test_t68_no_body_is_too_odd_for_a_clear_answer(api: httpx2.Client, name: str) -> None:
    body, headers, expected = BODIES[name]
    answer = api.post("/v1/elicitations", content=body, headers=headers)
    assert answer.status_code in expected, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == answer.status_code
    assert not Elicitation.objects.exists()


@pytest.mark.parametrize("name", spread(list(BODIES), 8))
def test_t68_nor_where_a_body_may_be_left_out(api: httpx2.Client, known: Known, drive_row: Provider, name: str) -> None:
    body, headers, expected = BODIES[name]
    held = rows.connection(known, drive_row).pk
    answer = api.post(f"/v1/connections/{held}/token", content=body, headers=headers)
    assert answer.status_code in expected | {422} or (name == "empty" and answer.status_code == 200), answer.text
    assert "access_token" not in answer.text or name == "empty"


def test_metadata_is_measured_in_the_bytes_that_are_sent(api: httpx2.Client) -> None:
    room = MAX_METADATA - len('{"note":""}')
    for text, status in (("é" * (room // 2), 201), ("x" * room, 201), ("x" * (room + 1), 422), ("é" * 4096, 422)):
        asked = api.post("/v1/elicitations", json=question(metadata={"note": text}))
        assert (asked.status_code, text[0]) == (status, text[0])


ODD: tuple[object, ...] = (
    1e308,
    5e-324,
    -0.0,
    99999999999999999999,
    "\x7f\x01",
    "\uffff",
    {"": {"": []}},
    "\u2028\u202e",
    [[[[[[[[[[[[[[]]]]]]]]]]]]]],
)


def comes_back(api: httpx2.Client, value: object) -> None:
    asked = api.post("/v1/elicitations", json=question(metadata={"v": value}))
    assert asked.status_code == 201, asked.text
    # as most readers of JSON take numbers: PostgreSQL writes 1e308 out in full
    said = api.get(f"/v1/elicitations/{asked.json()['id']}").json(parse_int=float)["metadata"]
    assert said == json.loads(json.dumps({"v": value}), parse_int=float)


def test_t68_odd_values_that_are_json_come_back(api: httpx2.Client) -> None:
    for value in ODD:
        comes_back(api, value)


def test_t68_odd_values_come_back_from_postgres_too(postgres_client: httpx2.Client) -> None:
    for value in ODD:
        comes_back(postgres_client, value)


PROTECTED: dict[str, object] = {
    "id": "el_mine", "object": "x", "status": "completed", "action": "accept", "url": "https://evil.example",
    "result": {}, "error": None, "reused": True, "seq": 9, "created_at": "2020-01-01T00:00:00Z",
    "expires_at": "2099-01-01T00:00:00Z", "finished_at": None, "agent": 1, "agent_id": 1, "iss": "x", "sub": "x",
    "state": "x", "claim": {}, "provider": "drive", "fingerprint": "x", "idempotency_key": "x", "settling_since": None,
    "consumed_at": "2026-01-01T00:00:00Z", "consumed_by": "x",
    "pk": "el_mine", "_state": {}, "__class__": "x",
}  # fmt: skip


@pytest.mark.parametrize("name", spread(list(PROTECTED), 8))
def test_t66_a_field_that_is_not_the_agents_to_set_is_refused(api: httpx2.Client, name: str) -> None:
    answer = api.post("/v1/elicitations", json={**question(), name: PROTECTED[name]})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["loc"] == [name]
    assert not Elicitation.objects.exists()


@pytest.mark.parametrize("place", ["subject", "params"])
def test_t66_nor_one_level_down(api: httpx2.Client, place: str) -> None:
    body = question()
    answer = api.post("/v1/elicitations", json={**body, place: {**body[place], "status": "completed"}})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["loc"] == [place, "status"]


@pytest.mark.parametrize("method", ["PATCH", "PUT", "POST"])
def test_t66_nothing_can_be_set_afterwards(api: httpx2.Client, method: str) -> None:
    asked = api.post("/v1/elicitations", json=question()).json()
    before = Elicitation.objects.values().get()
    for path in ("", "/cancel", "/complete", "/consume", "/note"):
        if (method, path) != ("POST", "/cancel"):
            answer = api.request(method, f"/v1/elicitations/{asked['id']}{path}", json=PROTECTED)
            assert answer.status_code in {405, 409, 422}
    assert Elicitation.objects.values().get() == before


@pytest.mark.parametrize(
    ("change", "loc"),
    [
        ({"kind": "telepathy"}, ["kind"]), ({"kind": 1}, ["kind"]), ({"kind": "o" * 33}, ["kind"]),
        ({"message": ""}, ["message"]), ({"message": "x" * 2001}, ["message"]), ({"message": None}, ["message"]),
        ({"subject": "alice"}, ["subject"]), ({"subject": {"iss": rows.ISSUER}}, ["subject", "sub"]),
        ({"subject": {"iss": rows.ISSUER, "sub": ""}}, ["subject", "sub"]),
        ({"subject": {"iss": rows.ISSUER, "sub": "x" * 256}}, ["subject", "sub"]),
        ({"subject": {"iss": rows.ISSUER, "sub": 7}}, ["subject", "sub"]),
        ({"subject": {"iss": rows.ISSUER + "/", "sub": "alice"}}, ["subject", "iss"]),
        ({"params": []}, ["params"]), ({"params": {}}, ["params", "provider"]),
        ({"params": {"provider": "nobody"}}, ["params", "provider"]),
        ({"params": {"provider": "drive", "scopes": "a b"}}, ["params", "scopes"]),
        ({"params": {"provider": "drive", "scopes": ["a b"]}}, ["params", "scopes", 0]),
        ({"expires_in": 0}, ["expires_in"]), ({"expires_in": 30 * 86400 + 1}, ["expires_in"]),
        ({"expires_in": "900"}, ["expires_in"]), ({"expires_in": 1.5}, ["expires_in"]),
        ({"expires_in": True}, ["expires_in"]), ({"reuse": "always"}, ["reuse"]),
        ({"return_url": "https://not-registered.example"}, ["return_url"]), ({"metadata": None}, ["metadata"]),
    ],
)  # fmt: skip
def test_a_wrong_value_is_refused_at_its_place(api: httpx2.Client, change: dict[str, object], loc: list[str]) -> None:
    answer = api.post("/v1/elicitations", json={**question(), **change})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid")
    assert answer.json()["errors"][0]["loc"] == loc
    assert answer.json()["errors"][0]["message"]
