"""The example for everybody: its caller signs in at an authorization server, and is asked for themselves.

The ``mcp`` library's client does the signing in; the authorization server is the service's identity provider too.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

import anyio.to_thread
import httpx2
import pytest
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

from elicit_flows.sdk.testing import ScriptedUser
from tests.sdk.mcp.clients import Host, every_era, talking, text
from tests.sdk.mcp.conftest import Server
from tests.support.box import AgentClient, Box
from tests.support.http_user import HttpUser
from tests.support.op import Op

pytestmark = pytest.mark.anyio
BACK = "http://127.0.0.1:9/back"  # nobody listens there: the person's browser stops before it
CLIENT = "mcp-desk"


class Desk:
    """What a client keeps of one person: its registration, which is there before, and the tokens."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client = OAuthClientInformationFull(
            client_id=CLIENT, redirect_uris=[BACK], token_endpoint_auth_method="none"
        )

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


@pytest.fixture(scope="module")
def agent(embedded_box: Box, corp_server: Op) -> AgentClient:
    corp_server.add_client(CLIENT, BACK)
    return embedded_box.fresh_agent()


@pytest.fixture(scope="module")
def open_server(
    agent: AgentClient,
    embedded_box: Box,
    corp_server: Op,
    servers: list[Server],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Server]:
    service = SimpleNamespace(url=embedded_box.url, api_key=agent.api_key, sandbox_url="http://127.0.0.1:9")
    log = tmp_path_factory.mktemp("mcp") / "log"
    command = lambda port: [sys.executable, "examples/mcp_server.py", "--port", str(port)]  # noqa: E731
    server = Server(service, log, command, MCP_ISSUER=corp_server.issuer)
    servers.append(server)
    corp_server.change(resources=[server.url], jwt_access_tokens=True)
    yield server.start()
    corp_server.reset()


def signing_in(url: str, person: HttpUser, name: str) -> OAuthClientProvider:
    async def go(address: str) -> None:
        def sign_in() -> None:
            person.stop_at = BACK
            person.open(address)
            for button in (name, "allow"):
                if not person.stopped and button in person.actions():
                    person.press(button)

        await anyio.to_thread.run_sync(sign_in)

    async def back() -> AuthorizationCodeResult:
        given = {key: value for key, (value,) in parse_qs(urlsplit(person.location).query).items()}
        assert "code" in given, person.text or given
        return AuthorizationCodeResult(code=given["code"], state=given["state"], iss=given.get("iss"))

    about = OAuthClientMetadata(client_name="Desk", redirect_uris=[BACK], token_endpoint_auth_method="none")
    return OAuthClientProvider(url, about, Desk(), go, back)


@pytest.mark.slow
@every_era
async def test_who_signs_in_is_asked_for_themselves(
    open_server: Server, agent: AgentClient, corp_server: Op, new_http_user: Callable[..., HttpUser], era: str
) -> None:
    alice = ScriptedUser(corp_server.issuer, "alice")
    host = Host(lambda url: alice.submit(url, plan="pro"))
    auth = signing_in(open_server.url, new_http_user(), "alice")
    async with (
        httpx2.AsyncClient(auth=auth, trust_env=False, timeout=30) as http,
        talking(streamable_http_client(open_server.url, http_client=http), era, host) as client,
    ):
        assert text(await client.call_tool("choose_plan", {})) == "done: the plan is pro"
    alice.close()
    [asked] = [one for one in agent.get("/v1/elicitations").json()["data"] if one["url"] in host.links]
    assert asked["subject"] == {"iss": corp_server.issuer, "sub": "alice"}


async def test_without_a_token_nobody_is_served(open_server: Server) -> None:
    async with httpx2.AsyncClient(trust_env=False) as http:
        answer = await http.post(open_server.url, json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    assert answer.status_code == 401
    assert "resource_metadata=" in answer.headers["www-authenticate"]
