"""Before a server that lists nothing to whom it does not know: the vendor's library, with a certified authorization
server. The gateway signs in for the lists, and calls with the token of the user whom the guard asked.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

from elicit_flows.sdk.cli import main
from elicit_flows.sdk.gateway.config import ClientCredentialsSection
from elicit_flows.sdk.gateway.server_sign_in import ClientCredentials, TokenError
from tests.cast import program
from tests.sdk.mcp.clients import LEGACY, MODERN, Host, talking, text
from tests.support import box_config
from tests.support.box import Box
from tests.support.op import Op
from tests.support.persona import Persona
from tests.support.ports import free_port
from tests.support.process import PROJECT, Process, until

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

READS, WRITES = "notes.read", "notes.write"
CALLER = program("gateway")
CLIENT, SECRET = "desk-gateway", "secret-of-the-gateway-for-tests-only-000"
VARIABLE = "NOTES_CLIENT_SECRET"
CREDENTIALS = """
[servers.notes.client_credentials]
issuer = "<issuer>"
client_id = "<client>"
client_secret_env = "NOTES_CLIENT_SECRET"
scopes = ["notes.read", "notes.write"]
"""
FIXED = 'headers_from = { Authorization = "FIXED" }'
FILE = """
name = "desk"
[service]
url = "<service>"
[user]
iss = "<corp>"
sub = "alice"
[servers.notes]
url = "<notes>"
"""
GUARDS = """
[servers.notes.tools]
"*" = []
[[servers.notes.tools.list_notes]]
ask = "oauth"
provider = "notes"
scopes = ["notes.read"]
header = "Authorization"
[[servers.notes.tools.fail]]
ask = "oauth"
provider = "notes"
scopes = ["notes.read"]
header = "Authorization"
[servers.notes.prompts]
"*" = []
[servers.notes.resources]
"*" = []
"""


@pytest.fixture(scope="module")
def keeper(new_op: Callable[..., Op]) -> Op:
    """The authorization server of the MCP server."""
    made = new_op(name="keeper", role="oauth", registration=True, scopes=[READS, WRITES], jwt_access_tokens=True)
    made.add_client(CLIENT, secret=SECRET, grant_types=["client_credentials"], response_types=[])
    return made


@pytest.fixture(scope="module")
def notes(keeper: Op, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the MCP server."""
    port = free_port()
    address = f"http://127.0.0.1:{port}/mcp"
    keeper.change(resources=[address])
    command = [sys.executable, "-m", "tests.journey.notes_server", str(port), keeper.issuer]
    process = Process(command, tmp_path_factory.mktemp("notes") / "log", cwd=PROJECT)
    process.start()

    def answers() -> bool:
        try:
            return httpx2.post(address, json={}, trust_env=False, timeout=30).status_code == httpx2.codes.UNAUTHORIZED
        except httpx2.TransportError:
            return False

    until(answers, "the MCP server answers")
    yield address
    process.stop()


@pytest.fixture(scope="module")
def ahead(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Has the seconds by which the service's clock is ahead."""
    file = tmp_path_factory.mktemp("clock") / "ahead"
    file.write_text("0")
    return file


@pytest.fixture(scope="module")
def service(new_box: Callable[..., Box], keeper: Op, notes: str, ahead: Path) -> Box:
    box = new_box("embedded", settings={"TEST_CLOCK_FILE": str(ahead)})
    row = {"slug": "notes", "name": "Notes", "issuer": keeper.issuer, "registration": "dynamic", "scopes": [READS]}
    box.apply({"provider": [row | {"resources": [notes]}], "agent": [box_config.agent(CALLER)]})
    return box


@pytest.fixture
def file(keeper: Op, notes: str, tmp_path: Path) -> Callable[..., Path]:
    """A gateway's file, with ``more`` at its end."""

    def write(more: str, service: str = "http://127.0.0.1:9", corp: str = "https://corp.test") -> Path:
        text, made = FILE + more, tmp_path / "guard.toml"
        told = {"<service>": service, "<corp>": corp, "<notes>": notes, "<issuer>": keeper.issuer, "<client>": CLIENT}
        for mark, value in told.items():
            text = text.replace(mark, value)
        made.write_text(text)
        return made

    return write


@pytest.mark.parametrize(("how", "era"), [(CREDENTIALS, MODERN), (CREDENTIALS, LEGACY), (FIXED, LEGACY)])
async def test_t258_the_gateway_lists_in_its_own_name_and_calls_in_the_users(
    file: Callable[..., Path], service: Box, corp: Op, sign_in: ClientCredentials, notes: str, ahead: Path,
    new_http_user: Callable[..., Persona], how: str, era: str,
) -> None:  # fmt: skip
    def press_on(link: str) -> None:
        alice.open(link)
        alice.carry_on("signin", "alice", "continue", "allow", "same")

    alice, host = new_http_user(), Host(press_on)
    config = file(how + GUARDS, service.url, corp.issuer)
    fixed = f"Bearer {await sign_in.token()}"
    started = StdioServerParameters(
        command=sys.executable,
        args=["-m", "elicit_flows.sdk.cli", "guard", "--config", str(config)],
        env={"ELICIT_API_KEY": CALLER.api_key, "PYTHONPATH": str(PROJECT), VARIABLE: SECRET, "FIXED": fixed},
    )
    async with talking(started, era, host) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == {"list_notes", "write_note", "fail"}
        assert host.links == []
        assert text(await client.call_tool("list_notes")) == "the notes of alice"
        assert text(await client.call_tool("write_note", {"text": "hello"})) == "wrote hello", "nothing is asked for it"
        assert text(await client.call_tool("list_notes")) == "the notes of alice"
        if how == FIXED:  # which could not be renewed
            return
        httpx2.post(notes.replace("/mcp", "/refuse"), trust_env=False).raise_for_status()
        ahead.write_text(str(int(ahead.read_text()) + 40))  # a token is renewed at most every 30 seconds
        asked = len(host.links)
        assert text(await client.call_tool("list_notes")) == "the notes of alice", "its token was refused"
        assert len(host.links) == asked
        ahead.write_text(str(int(ahead.read_text()) + 40))
        await a_call_that_was_run_is_not_sent_again(client, notes)
        ahead.write_text(str(int(ahead.read_text()) + 40))  # for whoever comes next


async def test_scopes_that_the_users_token_lacks_are_said_and_not_asked_for(
    file: Callable[..., Path], service: Box, corp: Op, new_http_user: Callable[..., Persona]
) -> None:
    """The file says what users are asked for, and not the server."""

    def press_on(link: str) -> None:
        alice.open(link)
        alice.carry_on("signin", "alice", "continue", "allow", "same")

    alice, host = new_http_user(), Host(press_on)
    config = file(CREDENTIALS + GUARDS.replace("list_notes", "write_note"), service.url, corp.issuer)
    started = StdioServerParameters(
        command=sys.executable,
        args=["-m", "elicit_flows.sdk.cli", "guard", "--config", str(config)],
        env={"ELICIT_API_KEY": CALLER.api_key, "PYTHONPATH": str(PROJECT), VARIABLE: SECRET},
    )
    lacks = "The server 'notes' does not take this user's token: it lacks the scopes notes.write."
    async with talking(started, MODERN, host) as client:
        for _ in range(2):
            with pytest.raises(MCPError, match=lacks):
                await client.call_tool("write_note", {"text": "hello"})
        assert text(await client.call_tool("list_notes")).startswith("the notes of"), "as the gateway itself"


async def a_call_that_was_run_is_not_sent_again(client: Client, notes: str) -> None:
    """Though another call by the same connection is refused meanwhile."""

    def runs() -> int:
        return int(httpx2.get(notes.replace("/mcp", "/runs"), trust_env=False).text)

    async def fails() -> None:
        with pytest.raises(MCPError, match="failed"):
            await client.call_tool("fail")

    before = runs()
    async with anyio.create_task_group() as both:
        both.start_soon(fails)
        await anyio.sleep(0.5)
        assert text(await client.call_tool("list_notes")) == "the notes of alice"
    assert runs() == before + 1


@pytest.mark.parametrize(
    ("more", "secret", "said"),
    [
        (GUARDS, "", "The server 'notes' does not let the gateway in (HTTP 401). Its lists need a sign-in: "),
        (
            'headers = { Authorization = "Bearer wrong" }' + GUARDS, "",
            "(HTTP 401). It does not take the token of client_credentials, or what headers_from gives.",
        ),
        (CREDENTIALS + GUARDS, "", f"client_secret_env: There is no environment variable {VARIABLE}, or it is empty."),
        (CREDENTIALS + GUARDS, "wrong", "notes.client_credentials: <issuer>/token gives no token: invalid_client"),
        (
            CREDENTIALS.replace("<issuer>", "<issuer>/other") + GUARDS, SECRET,
            "client_credentials.issuer: It has no metadata that names a token endpoint (<issuer>/.well-known/oauth-",
        ),
        (CREDENTIALS, SECRET, 'servers.notes.tools."*": Say what is asked for those that the file does not name, or'),
    ],
    ids=["nothing", "header", "no-secret", "wrong-secret", "wrong-issuer", "not-all-named"],
)  # fmt: skip
def test_what_is_wrong_with_the_sign_in_is_said_at_the_start(
    file: Callable[..., Path],
    keeper: Op,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    more: str,
    secret: str,
    said: str,
) -> None:
    monkeypatch.setenv("ELICIT_API_KEY", "key-of-the-tests")
    monkeypatch.setenv(VARIABLE, secret)
    assert main(["guard", "--check", "--config", str(file(more))]) == 1
    told = capsys.readouterr().err
    assert said.replace("<issuer>", keeper.issuer) in told
    assert "Traceback" not in told


@pytest.fixture
def sign_in(keeper: Op, notes: str) -> ClientCredentials:
    section = ClientCredentialsSection(
        issuer=keeper.issuer, client_id=CLIENT, client_secret_env=VARIABLE, scopes=[READS, WRITES]
    )
    return ClientCredentials("here", section, SECRET, notes)


async def test_a_token_is_renewed_when_it_ends_and_when_it_is_refused(
    sign_in: ClientCredentials, keeper: Op, notes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with httpx2.AsyncClient(auth=sign_in, trust_env=False) as http:
        for _ in range(2):
            assert (await http.post(notes, json={})).status_code != httpx2.codes.UNAUTHORIZED
        [first] = sign_in.tokens
        monkeypatch.setattr(sign_in, "_renew_at", 0.0)
        await http.post(notes, json={})
        assert len(set(sign_in.tokens)) == 2
        sign_in.tokens.append("no token of the issuer's")
        assert (await http.post(notes, json={})).status_code != httpx2.codes.UNAUTHORIZED
        assert len(set(sign_in.tokens)) == 3
        assert first not in sign_in.tokens, "only the latest are kept"


async def test_t258_the_gateways_token_goes_to_its_server_alone_and_never_in_place_of_a_users(
    sign_in: ClientCredentials, keeper: Op, notes: str
) -> None:
    async with httpx2.AsyncClient(auth=sign_in, trust_env=False) as http:
        other = await http.get(f"{keeper.issuer}/jwks")
        assert "authorization" not in other.request.headers
        hers = await http.post(notes, json={}, headers={"Authorization": "Bearer hers"})
        assert (hers.status_code, hers.request.headers["authorization"]) == (401, "Bearer hers")
    assert not sign_in.tokens


async def test_a_secret_is_not_sent_to_an_address_that_others_can_read() -> None:
    with pytest.raises(ValueError, match="begins with https://"):
        ClientCredentialsSection(issuer="http://idp.test", client_id=CLIENT, client_secret_env=VARIABLE)


async def test_t258_a_secret_is_sent_to_nobody_but_the_issuer_that_the_file_names(keeper: Op, notes: str) -> None:
    """RFC 8414, section 3.3: its metadata has the very same identifier."""
    told = {"client_id": CLIENT, "client_secret_env": VARIABLE}
    named = ClientCredentialsSection(issuer=keeper.issuer, **told)
    with pytest.raises(TokenError, match="invalid_client"):
        await ClientCredentials("here", named, "wrong", notes).token()
    alike = ClientCredentialsSection(issuer=f"{keeper.issuer}/", **told)
    with pytest.raises(TokenError, match=f"here.issuer: The metadata at .* is of {keeper.issuer}, not of "):
        await ClientCredentials("here", alike, SECRET, notes).token()
