"""A client's requests to a remote MCP server, with a user's connection. The vendor's client against the vendor's server
is in tests/journey/test_mcp_servers.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import httpx2
import pytest

from elicit_flows.sdk import Elicit, Outcome, Question, outcome_of
from elicit_flows.sdk.mcp import ConnectionAuth, transport
from elicit_flows.sdk.questions import Plain
from elicit_flows.sdk.shapes import Elicitation
from tests.sdk.fake import COMPLETED, FakeService, Reply

MCP = "https://mcp.example.com/mcp"
TOKEN = {
    "access_token": "first",
    "token_type": "Bearer",
    "expires_at": None,
    "scopes": [],
    "metadata": {},
    "resource": MCP,
}
CONNECTION = {
    "id": "cn_1", "provider": "mcp-1", "subject": {"iss": "https://idp.example", "sub": "alice"}, "status": "active",
    "mcp": MCP, "resource": MCP,
}  # fmt: skip
LACKS = {"www-authenticate": 'Bearer error="insufficient_scope", scope="notes.read notes.write"'}

Answer = Callable[[httpx2.Request], httpx2.Response]
pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def _connected(service: FakeService) -> None:
    second = Reply({**TOKEN, "access_token": "second"})
    service.on("POST", "/v1/connections/cn_1/token", Reply(TOKEN), second, second, second)
    service.on("GET", "/v1/connections/cn_1", Reply(CONNECTION))


def completed() -> Outcome:
    return outcome_of(Elicitation.read(COMPLETED))


async def call(auth: ConnectionAuth, answer: Answer, url: str = MCP) -> httpx2.Response:
    async with httpx2.AsyncClient(auth=auth, transport=httpx2.MockTransport(answer)) as client:
        return await client.post(url, json={})


def by_token(**answers: httpx2.Response) -> Answer:
    return lambda request: answers[request.headers.get("authorization", "none").removeprefix("Bearer ")]


async def test_each_request_has_the_token(elicit: Elicit) -> None:
    answer = await call(ConnectionAuth(elicit, "cn_1"), by_token(first=httpx2.Response(200)))
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "url",
    [
        "https://other.example.com/mcp", "https://mcp.example.com/mcp2", "https://mcp.example.com:8443/mcp",
        "http://mcp.example.com/mcp", "https://mcp.example.com/", "https://mcp.example.com/mcp/../other",
        "https://mcp.example.com/mcp/%2e%2e/other", "https://mcp.example.com/mcp/.%2E/other",
    ],
)  # fmt: skip
async def test_t154_the_token_goes_to_its_own_resource_alone(elicit: Elicit, url: str) -> None:
    answer = await call(ConnectionAuth(elicit, "cn_1"), by_token(none=httpx2.Response(401)), url)
    assert "authorization" not in answer.request.headers


@pytest.mark.parametrize("resource", [None, MCP], ids=["any", "its own"])
async def test_t154_a_token_without_a_resource_goes_to_the_address_that_was_given_alone(
    elicit: Elicit, service: FakeService, resource: str | None
) -> None:
    service.on("POST", "/v1/connections/cn_1/token", Reply({**TOKEN, "resource": resource}))
    auth = ConnectionAuth(elicit, "cn_1", url=MCP)
    assert (await call(auth, by_token(first=httpx2.Response(200)))).status_code == 200
    other = await call(auth, by_token(none=httpx2.Response(401)), "https://other.example.com/mcp")
    assert "authorization" not in other.request.headers
    elsewhere = ConnectionAuth(elicit, "cn_1", url="https://other.example.com/mcp")
    refused = await call(elsewhere, by_token(none=httpx2.Response(401), first=httpx2.Response(200)))
    assert "authorization" not in refused.request.headers


@pytest.mark.parametrize("url", [MCP, f"{MCP}/", f"{MCP}/below", f"{MCP}?project=7"])
async def test_what_lies_below_the_resource_gets_the_token(elicit: Elicit, url: str) -> None:
    answer = await call(ConnectionAuth(elicit, "cn_1"), by_token(first=httpx2.Response(200)), url)
    assert answer.status_code == 200


@pytest.mark.parametrize(("status", "sent"), [("active", "second"), ("reauthorization_required", "first")])
async def test_a_refused_token_is_reported_and_replaced_once(
    elicit: Elicit, service: FakeService, status: str, sent: str
) -> None:
    service.on("POST", "/v1/connections/cn_1/report", Reply({**CONNECTION, "status": status}))
    refuses = httpx2.Response(401)
    answer = await call(ConnectionAuth(elicit, "cn_1"), lambda _: refuses)
    assert answer.status_code == 401
    assert answer.request.headers["authorization"] == f"Bearer {sent}"
    assert len([one for one in service.asked if one.path.endswith("/report")]) == 1


async def test_the_user_is_asked_for_scopes_that_are_missing(elicit: Elicit) -> None:
    asked: list[tuple[str, ...]] = []

    async def ask(scopes: tuple[str, ...]) -> Outcome:
        asked.append(scopes)
        return completed()

    answers = by_token(first=httpx2.Response(403, headers=LACKS), second=httpx2.Response(200))
    assert (await call(ConnectionAuth(elicit, "cn_1", ask=ask), answers)).status_code == 200
    assert asked == [("notes.read", "notes.write")]
    refused = by_token(second=httpx2.Response(403, headers=LACKS))
    assert (await call(ConnectionAuth(elicit, "cn_1", ask=ask), refused)).status_code == 403
    assert len(asked) == 2, "asked once for each request, and not for ever"


@pytest.mark.parametrize("refused", [httpx2.Response(403, headers=LACKS), httpx2.Response(401)], ids=["403", "401"])
async def test_requests_that_are_refused_at_the_same_time_ask_once(
    elicit: Elicit, service: FakeService, refused: httpx2.Response
) -> None:
    first, second = Reply(TOKEN), Reply({**TOKEN, "access_token": "second"})
    service.replies.clear()
    service.on("POST", "/v1/connections/cn_1/token", *[first] * 3, *[second] * 3)
    ended = Reply({**CONNECTION, "status": "reauthorization_required"})
    service.on("POST", "/v1/connections/cn_1/report", *[ended] * 3)
    asked: list[tuple[str, ...]] = []

    async def ask(scopes: tuple[str, ...]) -> Outcome:
        asked.append(scopes)
        await asyncio.sleep(0.3)
        return completed()

    auth = ConnectionAuth(elicit, "cn_1", ask=ask)
    answers = by_token(first=refused, second=httpx2.Response(200))
    statuses = [one.status_code for one in await asyncio.gather(*(call(auth, answers) for _ in range(3)))]
    assert statuses == [200] * 3
    assert len(asked) == 1


async def test_scopes_that_the_user_allowed_and_that_did_not_help_are_not_asked_for_again(
    elicit: Elicit, service: FakeService
) -> None:
    service.on("POST", "/v1/connections/cn_1/token", *[Reply({**TOKEN, "access_token": "second"})] * 5)
    asked: list[tuple[str, ...]] = []

    async def ask(scopes: tuple[str, ...]) -> Outcome:
        asked.append(scopes)
        return completed()

    auth, refused = ConnectionAuth(elicit, "cn_1", ask=ask), httpx2.Response(403, headers=LACKS)
    more = httpx2.Response(403, headers={"www-authenticate": 'Bearer error="insufficient_scope", scope="notes.admin"'})
    for _ in range(3):
        assert (await call(auth, lambda _: refused)).status_code == 403
    assert asked == [("notes.read", "notes.write")]
    assert (await call(auth, lambda _: more)).status_code == 403
    assert asked[1:] == [("notes.admin",)]


async def test_without_anybody_to_ask_the_answer_stays_as_it_is(elicit: Elicit) -> None:
    answer = await call(ConnectionAuth(elicit, "cn_1"), by_token(first=httpx2.Response(403, headers=LACKS)))
    assert answer.status_code == 403


async def test_a_connection_to_something_else_has_no_transport(elicit: Elicit, service: FakeService) -> None:
    service.on("GET", "/v1/connections/cn_2", Reply({**CONNECTION, "id": "cn_2", "mcp": None, "provider": "acme"}))
    with pytest.raises(ValueError, match="cn_2 is a connection to acme: say where the MCP server is with url"):
        async with transport(elicit, "cn_2"):
            pass


async def test_a_question_names_a_provider_or_an_mcp_server() -> None:
    asked: Question = Plain().oauth(mcp=MCP, scopes=["notes.read"])
    assert asked.params == {"mcp": MCP, "scopes": ["notes.read"]}
    assert asked.message == f"Connect your account at {MCP}."
    for wrong in ({}, {"provider": "acme", "mcp": MCP}):
        with pytest.raises(TypeError, match="either provider or mcp"):
            Plain().oauth(**wrong)


async def test_the_user_is_asked_again_when_no_token_is_accepted(elicit: Elicit, service: FakeService) -> None:
    service.on("POST", "/v1/connections/cn_1/report", Reply({**CONNECTION, "status": "reauthorization_required"}))
    asked: list[tuple[str, ...]] = []

    async def ask(scopes: tuple[str, ...]) -> Outcome:
        asked.append(scopes)
        return completed()

    answers = by_token(first=httpx2.Response(401), second=httpx2.Response(200))
    assert (await call(ConnectionAuth(elicit, "cn_1", ask=ask), answers)).status_code == 200
    assert asked == [()]
