"""The SDK's calls of a provider's API through the service."""

from __future__ import annotations

import asyncio

import httpx2
import pytest

from elicit_flows.models import Connection
from elicit_flows.sdk import (
    ConflictError,
    Elicit,
    ElicitError,
    InvalidRequestError,
    NotFoundError,
    SyncElicit,
    check_answered,
)
from tests.doubles.server import json_response
from tests.proxied.conftest import Api
from tests.support.rows import Known
from tests.support.serving import Served


def test_a_request_returns_the_apis_answer_whatever_its_status(
    served: Served, known: Known, held: Connection, upstream: Api
) -> None:
    upstream.scripted["/v2/gone"] = json_response({"message": "gone"}, 404)
    with SyncElicit(served.url, known.who.api_key) as elicit:
        answer = elicit.request(held.pk, "GET", "/me", params={"a": "1"}, headers={"X-Version": "2"})
        assert answer.json() == {"path": "/v2/me", "query": {"a": "1"}, "method": "GET"}
        assert upstream.last.headers["x-version"] == "2"
        posted = elicit.request(held.pk, "POST", "/files", json={"name": "x"}, host=upstream.host)
        assert posted.status_code == 200
        assert upstream.last.body == b'{"name":"x"}'
        assert elicit.request(held.pk, "GET", "/gone").json() == {"message": "gone"}


def test_a_callers_own_authorization_is_not_sent_in_whichever_case(
    served: Served, known: Known, held: Connection, upstream: Api
) -> None:
    own = {"authorization": "Bearer own", "elicit-api-host": "elsewhere.example"}
    with SyncElicit(served.url, known.who.api_key) as elicit:
        assert elicit.request(held.pk, "GET", "/me", headers=own, host=upstream.host).status_code == 200


def test_what_the_service_refuses_is_an_error(served: Served, known: Known, held: Connection) -> None:
    with SyncElicit(served.url, known.who.api_key) as elicit:
        with pytest.raises(NotFoundError):
            elicit.request("cn_none", "GET", "/me")
        with pytest.raises(ElicitError, match="bad_path"):
            elicit.request(held.pk, "GET", "//evil.example")
        Connection.objects.update(status="reauthorization_required")
        with pytest.raises(ConflictError, match="reauthorization_required"):
            elicit.request(held.pk, "GET", "/me")


def test_a_service_that_does_not_answer_is_an_error() -> None:
    with SyncElicit("http://127.0.0.1:9", "k" * 32) as elicit, pytest.raises(ElicitError, match="unreachable"):
        elicit.request("cn_1", "GET", "/me")


async def _both(url: str, key: str, connection: str) -> tuple[object, object]:
    async with Elicit(url, key) as elicit, elicit.api(connection) as api:
        async with api.stream("GET", "/me") as answer:
            pieces = [piece async for piece in answer.aiter_bytes()]
        return check_answered(await api.get("/files")).json(), b"".join(pieces)


def test_an_http_client_for_the_api_streams(served: Served, known: Known, held: Connection, upstream: Api) -> None:
    said, streamed = asyncio.run(_both(served.url, known.who.api_key, held.pk))
    assert said == {"path": "/v2/files", "query": {}, "method": "GET"}
    assert b"/v2/me" in bytes(streamed)  # type: ignore[call-overload]
    with SyncElicit(served.url, known.who.api_key) as elicit, elicit.api(held.pk, host=upstream.host) as api:
        assert check_answered(api.get("/me")).json()["path"] == "/v2/me"
        with pytest.raises(ElicitError, match="bad_path"):
            check_answered(api.get("/%2e%2e/x"))
        assert isinstance(api, httpx2.Client)


LEADS_AWAY = ["/../token", "/x/../../report", "/../../../../v1/agent", "me"]


@pytest.mark.parametrize("path", LEADS_AWAY)
def test_t163_a_path_that_leads_out_of_the_api_is_no_other_call_of_the_service(
    served: Served, known: Known, held: Connection, path: str
) -> None:
    with SyncElicit(served.url, known.who.api_key) as elicit:
        with pytest.raises(InvalidRequestError, match="bad_path"):
            elicit.request(held.pk, "POST", path, json={})
        with pytest.raises(InvalidRequestError, match="bad_path"):
            elicit.request(held.pk, "DELETE", "/..")
    held.refresh_from_db()
    assert held.status == "active"


async def _asked_of(url: str, key: str, connection: str, at: str) -> httpx2.Response:
    async with Elicit(url, key) as elicit, elicit.api(connection) as api:
        return await api.post(at, json={})


def test_t163_the_http_client_for_the_api_gives_the_agents_key_to_nobody_else(
    served: Served, known: Known, held: Connection, upstream: Api
) -> None:
    """A library follows the links of an API, such as that of its next page, and these are absolute."""
    proxy = f"{served.url}/v1/connections/{held.pk}/proxy"
    for at in (f"{upstream.url}/v2/files?page=2", f"{proxy}/../token", f"{served.url}/v1/agent", f"{proxy}ed/x"):
        with SyncElicit(served.url, known.who.api_key) as elicit, elicit.api(held.pk) as api:
            with pytest.raises(InvalidRequestError, match="bad_path"):
                api.post(at, json={})
            assert api.get(f"{proxy}/files").json()["path"] == "/v2/files"
        with pytest.raises(InvalidRequestError, match="bad_path"):
            asyncio.run(_asked_of(served.url, known.who.api_key, held.pk, at))
    assert known.who.api_key not in str([one.headers for _, one in upstream.requests])
