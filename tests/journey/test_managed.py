"""Enterprise-managed authorization: Alice's organisation decides which MCP servers she may use, and nobody sends her to
them. Its identity provider and the servers' authorization server are the certified library, the server is the vendor's.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from tests.cast import ALICE, BOB, program
from tests.support import box_config
from tests.support.box import AgentClient, Box
from tests.support.http_user import HttpUser
from tests.support.op import Op
from tests.support.persona import Persona
from tests.support.ports import free_port
from tests.support.process import PROJECT, Process

pytestmark = pytest.mark.slow

READS, WRITES = "notes.read", "notes.write"
EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
TRUSTED, SECOND, OTHER = program("trusted"), program("second"), program("other")
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.fixture(scope="module")
def org(new_op: Callable[..., Op]) -> Op:
    """The organisation's identity provider."""
    return new_op(name="org", role="identity")


@pytest.fixture(scope="module")
def keeper(org: Op, new_op: Callable[..., Op]) -> Op:
    """The authorization server of the MCP servers, which takes the organisation's word."""
    settings = {"registration": True, "jwt_access_tokens": True, "trusts": org.issuer}
    return new_op(name="keeper", role="oauth", scopes=[READS, WRITES], **settings)


@pytest.fixture(scope="module")
def servers(keeper: Op, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """The addresses of three MCP servers."""
    folder = tmp_path_factory.mktemp("servers")
    ports = [free_port() for _ in range(3)]
    started = []
    for port in ports:
        command = [sys.executable, "-m", "tests.journey.notes_server", str(port), keeper.issuer]
        started.append(Process(command, folder / f"{port}.log", cwd=PROJECT))
        started[-1].start()
    addresses = [f"http://127.0.0.1:{port}/mcp" for port in ports]
    for process, address in zip(started, addresses, strict=True):
        process.wait_until(lambda address=address: _challenges(address), "the MCP server answers")
    keeper.change(resources=addresses)
    yield addresses
    for process in started:
        process.stop()


def _challenges(address: str) -> bool:
    try:
        return httpx2.post(address, json={}, trust_env=False, timeout=30).status_code == 401
    except httpx2.TransportError:
        return False


@pytest.fixture(scope="module")
def service(new_box: Callable[..., Box], org: Op, servers: list[str]) -> Box:
    return managed(new_box("embedded"), org, servers)


def managed(box: Box, org: Op, servers: list[str], refusal: str = "page") -> Box:
    """The same box where the organisation decides about the first two servers, for two of three agents."""
    hosts = [address.split("/")[2] for address in servers]
    more: dict[str, Any] = {"managed_hosts": hosts[:2], "managed_refusal": refusal}
    table = box_config.identity_provider(org, box.url, slug="org", **more)
    secret, redirect = box_config.IDENTITY_SECRET, f"{box.url}/login/org/callback"
    org.add_client(table["client_id"], redirect, secret=secret, grant_types=["authorization_code", EXCHANGE])
    allowed: dict[str, Any] = {"identity_providers": ["org"], "mcp_servers": ["*"]}
    trusted = [box_config.agent(one, managed_access=True, **allowed) for one in (TRUSTED, SECOND)]
    box.apply({"identity_provider": [table], "agent": [*trusted, box_config.agent(OTHER, **allowed)]})
    return box


def allow(org: Op, keeper: Op, servers: list[str], client_id: str, **more: Any) -> None:
    """What the organisation's administrators decide: ``subjects`` and ``scopes``; all of them if it is not said."""
    entry = {"audience": keeper.issuer, "client_id": client_id, **more}
    org.change(managed=dict.fromkeys(servers, entry))


@pytest.fixture(scope="module")
def client_id(service: Box, org: Op, keeper: Op, servers: list[str]) -> str:
    """This service at the authorization server, where it registers with the first person who goes there as usual."""
    user = HttpUser()
    with AgentClient(service.url, OTHER) as agent:
        asked = ask(agent, org, servers[2])
        press_on(user, asked["url"])
        assert agent.get(f"/v1/elicitations/{asked['id']}").json()["status"] == "completed"
    user.close()
    (registered,) = keeper.control("registered")
    return str(registered["client_id"])


@pytest.fixture
def agent(service: Box, org: Op, keeper: Op, servers: list[str], client_id: str) -> Iterator[AgentClient]:
    """The agent with managed access, at a service where Alice's organisation allows her everything."""
    org.reset()
    keeper.reset()
    keeper.change(resources=servers, trusts=org.issuer)
    allow(org, keeper, servers, client_id)
    with AgentClient(service.url, TRUSTED) as client:
        yield client
        for row in client.get("/v1/connections").json()["data"]:
            client.delete(f"/v1/connections/{row['id']}")


def ask(agent: AgentClient, org: Op, server: str, sub: str = ALICE.sub, **more: Any) -> dict[str, Any]:
    subject = {"iss": org.issuer, "sub": sub}
    body = {"kind": "oauth", "subject": subject, "message": "Notes", "params": {"mcp": server}, **more}
    answer = agent.post("/v1/elicitations", json=body)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def press_on(user: Persona, link: str, *last: str, who: str = "alice") -> None:
    user.open(link)
    user.carry_on("signin", who, "continue", *(last or ("allow", "same")))


def connect(agent: AgentClient, org: Op, server: str, user: Persona) -> dict[str, Any]:
    """The first time: Alice signs in at her organisation, and presses one button here."""
    asked = ask(agent, org, server)
    press_on(user, asked["url"], "nothing more")
    return dict(agent.get(f"/v1/elicitations/{asked['id']}").json())


def notes_of(agent: AgentClient, done: dict[str, Any], server: str) -> str:
    """What the vendor's server says to the connection's token."""
    token = agent.post(f"/v1/connections/{done['result']['connection']}/token").json()
    assert token["resource"] == server
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_notes", "arguments": {}}}
    call["params"] |= {"_meta": META}  # type: ignore[operator]
    headers = {
        "authorization": f"Bearer {token['access_token']}", "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "list_notes",
    }  # fmt: skip
    return httpx2.post(server, json=call, headers=headers, trust_env=False, timeout=30).text


def test_alice_presses_one_button_and_is_sent_nowhere(
    agent: AgentClient, org: Op, keeper: Op, servers: list[str], http_user: HttpUser
) -> None:
    done = connect(agent, org, servers[0], http_user)
    assert (done["status"], done["reused"]) == ("completed", False)
    assert http_user.page_name == "done"
    assert keeper.counts().get("authorization", 0) == 0
    assert "the notes of alice" in notes_of(agent, done, servers[0])


def test_the_next_server_needs_no_page(
    agent: AgentClient, org: Op, keeper: Op, servers: list[str], http_user: HttpUser
) -> None:
    connect(agent, org, servers[0], http_user)
    done = ask(agent, org, servers[1])
    assert done["status"] == "completed"
    assert "the notes of alice" in notes_of(agent, done, servers[1])


def fresh(agent: AgentClient, done: dict[str, Any]) -> httpx2.Response:
    """A token that is valid for as long as can be asked for."""
    return agent.post(f"/v1/connections/{done['result']['connection']}/token", json={"min_ttl": 3600})


def test_the_next_token_is_asked_of_the_organisation_again(
    agent: AgentClient, org: Op, keeper: Op, servers: list[str], http_user: HttpUser
) -> None:
    keeper.change(access_token_ttl=4)
    done = connect(agent, org, servers[0], http_user)
    first = fresh(agent, done).json()["access_token"]
    time.sleep(2.5)
    before = org.counts()[f"token.{EXCHANGE}"]
    assert fresh(agent, done).json()["access_token"] != first
    assert (org.counts()[f"token.{EXCHANGE}"], keeper.counts().get("token.refresh_token", 0)) == (before + 1, 0)


def test_t227_what_the_organisation_takes_back_gives_no_further_token(
    agent: AgentClient, org: Op, keeper: Op, servers: list[str], client_id: str, http_user: HttpUser
) -> None:
    keeper.change(access_token_ttl=4)
    done = connect(agent, org, servers[0], http_user)
    allow(org, keeper, servers, client_id, subjects=["bob"])
    time.sleep(2.5)
    answer = fresh(agent, done)
    assert (answer.status_code, answer.json()["code"]) == (409, "reauthorization_required")
    (row,) = [one for one in agent.get("/v1/connections").json()["data"] if one["id"] == done["result"]["connection"]]
    assert (row["status"], row["last_refresh_error"]) == ("reauthorization_required", "organisation_refused")


def test_t227_no_token_is_used_for_longer_than_an_hour_without_asking(
    agent: AgentClient, org: Op, keeper: Op, servers: list[str], http_user: HttpUser
) -> None:
    keeper.change(access_token_ttl=86400)
    done = connect(agent, org, servers[0], http_user)
    ends = datetime.fromisoformat(fresh(agent, done).json()["expires_at"])
    assert ends <= datetime.now(UTC) + timedelta(hours=1)


def test_who_is_refused_may_connect_as_usual(
    agent: AgentClient, org: Op, keeper: Op, servers: list[str], client_id: str, http_user: HttpUser
) -> None:
    allow(org, keeper, servers, client_id, subjects=["bob"])
    asked = ask(agent, org, servers[0])
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice")
    assert "Your organisation decides" in http_user.text
    http_user.press("continue")
    assert (http_user.page_name, agent.get(f"/v1/elicitations/{asked['id']}").json()["status"]) == (
        "consent",
        "pending",
    )
    assert "Next, you sign in at 127.0.0.1" in " ".join(http_user.text.split())
    http_user.carry_on("alice", "continue", "allow", "same")
    assert agent.get(f"/v1/elicitations/{asked['id']}").json()["status"] == "completed"


def test_or_nobody_connects_in_another_way(
    agent: AgentClient, service: Box, org: Op, keeper: Op, servers: list[str], client_id: str, http_user: HttpUser
) -> None:
    managed(service, org, servers, refusal="fail")
    try:
        allow(org, keeper, servers, client_id, subjects=["bob"])
        done = connect(agent, org, servers[0], http_user)
        assert (done["status"], done["error"]["code"]) == ("failed", "organisation_refused")
        assert keeper.counts().get("authorization", 0) == 0
        assert "does not allow" in http_user.text
    finally:
        managed(service, org, servers)


@pytest.mark.parametrize(
    "claims",
    [{"aud": "https://other.example"}, {"client_id": "another"}, {"sub": "bob"}, {"resource": "https://other.example"}],
    ids=["audience", "client", "person", "resource"],
)
def test_t226_an_assertion_for_something_else_is_presented_to_nobody(
    agent: AgentClient, org: Op, keeper: Op, servers: list[str], client_id: str, http_user: HttpUser,
    claims: dict[str, str],
) -> None:  # fmt: skip
    allow(org, keeper, servers, client_id, claims=claims)
    done = connect(agent, org, servers[0], http_user)
    assert done["status"] != "completed"
    assert (org.counts()[f"token.{EXCHANGE}"], keeper.counts().get(f"token.{BEARER}", 0)) == (1, 0)


def test_t228_an_agent_gets_no_token_of_a_user_who_has_not_let_it(
    agent: AgentClient, service: Box, org: Op, servers: list[str], http_user: HttpUser
) -> None:
    with AgentClient(service.url, SECOND) as second:
        connect(second, org, servers[0], http_user)
        assert ask(agent, org, servers[0])["status"] == "pending", "she has only let another agent"
        assert ask(second, org, servers[1])["status"] == "completed"
        assert ask(second, org, servers[1], sub=BOB.sub)["status"] == "pending", "another person has let nobody"
    with AgentClient(service.url, OTHER) as other:
        assert ask(other, org, servers[0])["status"] == "pending", "no managed access"


def test_t228_what_the_user_has_ended_is_asked_again(
    agent: AgentClient, service: Box, org: Op, servers: list[str], http_user: HttpUser
) -> None:
    done = [connect(agent, org, servers[0], http_user), ask(agent, org, servers[1])]
    assert [one["status"] for one in done] == ["completed", "completed"]
    http_user.open(f"{service.url}/account")
    http_user.press("revoke")
    both = [agent.get(f"/v1/connections/{one['result']['connection']}").json() for one in done]
    assert {one["status"] for one in both} == {"active", "revoked"}
    for one in both:
        assert ask(agent, org, one["mcp"])["status"] == ("completed" if one["status"] == "active" else "pending")


def test_t124_an_identity_provider_that_hangs_delays_only_who_asks_it(
    agent: AgentClient, service: Box, org: Op, servers: list[str], http_user: HttpUser
) -> None:
    for server in servers[:2]:
        assert connect(agent, org, server, http_user)["status"] == "completed"
    org.reset()
    org.fault("token", delay_ms=20_000)
    with ThreadPoolExecutor(8) as pool, AgentClient(service.url, OTHER) as other:
        assert ask(other, org, servers[0])["status"] == "pending"
        slow = [pool.submit(ask, agent, org, servers[1], reuse="never") for _ in range(6)]
        until = time.monotonic() + 30
        while org.counts().get("token", 0) < 4 and time.monotonic() < until:
            time.sleep(0.1)
        assert ask(other, org, servers[0])["status"] == "pending"
        assert not all(one.done() for one in slow), "the other agent did not wait for it"
        assert {one.result()["status"] for one in slow} == {"pending"}
        began = time.monotonic()
        ask(agent, org, servers[1], reuse="never")
        assert time.monotonic() - began < 4, "one that has just not answered is not waited for again"
    org.reset()
