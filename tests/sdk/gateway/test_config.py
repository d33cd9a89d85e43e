"""The gateway's file: what is wrong is said with its place, and what the user reads cannot be changed by a model."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from pathlib import Path

import pytest

from elicit_flows.domain.values import Json
from elicit_flows.sdk import Elicit, Elicitation
from elicit_flows.sdk.cli import main
from elicit_flows.sdk.gateway.config import Config, ConfigError, read
from elicit_flows.sdk.gateway.file_guards import Asked, AskError, Put, asked, filled, own
from elicit_flows.sdk.gateway.forwarded import Forwarded
from elicit_flows.sdk.gateway.gateway import Gateway
from elicit_flows.sdk.gateway.listing import Listing, check_names
from elicit_flows.sdk.gateway.names import exposed
from elicit_flows.sdk.gateway.peers import Peers
from elicit_flows.sdk.gateway.server_sign_in import headers_of, own_sign_ins
from elicit_flows.sdk.gateway.wire import REMOVED, Client, request_for, result_for, without
from elicit_flows.sdk.mcp.messages import NotRun
from elicit_flows.sdk.outcomes import Completed
from tests.sdk.fake import COMPLETED

ONE = '\n[servers.a]\ncommand = "a"\n'
HERS = '\n[user]\niss = "https://idp.test"\nsub = "alice"\n'
WIPE = '[[servers.a.tools.wipe]]\nask = "confirm"\nmessage = "Wipe?"\n'
OWN = 'sign_in = { issuer = "https://b.test", resource = "https://a/own" }\n'
SIGNED_IN = '[servers.a.client_credentials]\nissuer = "<issuer>"\nclient_id = "c"\nclient_secret_env = "S"\n'
TWO = '[servers.b]\ncommand = "b"\n'


def told(tmp_path: Path, text: str) -> Config:
    file = tmp_path / "guard.toml"
    file.write_text(text)
    return read(file)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name =", "This is no TOML"),
        (ONE, "name: Field required"),
        ('name = "g"\nnaem = 1' + ONE, "naem: There is no such setting."),
        ('name = "g"' + ONE + "comand = 1", "servers.a.comand: There is no such setting."),
        ('name = "g"\n[servers.a]', "servers.a: Give command or url, and not both."),
        ('name = "g"\n[servers.a_b]\ncommand = "a"', "servers.a_b: String should match"),
        ('name = "g"\n[servers.a]\nurl = "ftp://x"', "url: Give an address that begins with http"),
        ('name = "g"\n[servers.a]\nurl = "http://x"\nargs = ["a"]', "args: This is for a server with command."),
        ('name = "g"' + ONE + 'headers = { a = "b" }', "headers: This is for a server with url."),
        (
            'name = "g"' + ONE + SIGNED_IN.replace("<issuer>", "https://i.test"),
            "client_credentials: This is for a server with url.",
        ),
        (
            'name = "g"\n[servers.a]\nurl = "http://x"\nheaders_from = { authorization = "X" }\n'
            + SIGNED_IN.replace("<issuer>", "https://i.test"),
            "client_credentials: These give the Authorization header",
        ),
        (
            'name = "g"\n[servers.a]\nurl = "http://x"\n' + SIGNED_IN.replace("<issuer>", "http://i.test"),
            "servers.a.client_credentials: issuer: Give an address that begins with https://",
        ),
        ('name = "g"' + ONE + WIPE, "user: Say whom the guards ask"),
        ('name = "g"\n[listen]\nport = 1\nhost = "0.0.0.0"' + HERS + ONE, "listen.host: Without listen.issuer"),
        ('name = "g"\n[listen]\nport = 1\nissuer = "https://i.test"' + ONE, "listen: Give issuer and resource"),
        (
            'name = "g"\n[listen]\nport = 1\nissuer = "http://i.test"\nresource = "https://g/mcp"' + ONE,
            "listen: issuer: Give an address that begins with https://, because its keys come from there.",
        ),
        (
            'name = "g"\n[listen]\nport = 1' + ONE + OWN.replace("https://b", "http://b"),
            "servers.a.sign_in: issuer: Give an address that begins with https://, because its keys come from there.",
        ),
        ('name = "g"' + ONE + "sign_in = {}\n", "servers.a.sign_in: Give issuer and resource, or user."),
        ('name = "g"' + ONE + OWN, "servers.a.sign_in.issuer: Access tokens come on HTTP."),
        (
            'name = "g"\n[listen]\nport = 1\nissuer = "https://i.test"\nresource = "https://b/own"' + ONE + OWN,
            "a path of",
        ),
        ('name = "g"\n[listen]\nport = 1\nhost = "0.0.0.0"' + ONE + OWN + TWO, "listen.host: Without listen.issuer"),
        ('name = "g"' + HERS + ONE + WIPE + "mesage = 1", "servers.a.tools.wipe.0: mesage: There is no such option"),
        (
            'name = "g"' + HERS + ONE + '[[servers.a.tools.w]]\nask = "nod"',
            "servers.a.tools.w.0.ask: Give one of oauth",
        ),
        ('name = "g"' + HERS + ONE + WIPE + 'argument = "token"', "confirm brings nothing that could be put there"),
        (
            'name = "g"' + HERS + ONE + '[[servers.a.tools.w]]\nask = "oauth"\nprovider = "acme"\nheader = "X"',
            "servers.a.tools.w.0.header: This is for a server with url.",
        ),
        (
            'name = "g"' + HERS + '\n[servers.a]\nurl = "http://x"\n[[servers.a.tools.w]]\nask = "oauth"\n'
            'provider = "acme"\nheader = "Mcp-Session-Id"',
            "'Mcp-Session-Id' cannot be given to a server",
        ),
        (
            'name = "g"' + HERS + ONE + '[[servers.a.tools.w]]\nask = "credentials"\nfields = [{ name = "key", label = '
            '"Key" }]\nmessage = "Key?"\nargument = { api_key = "kye" }',
            "servers.a.tools.w.0: There is no field 'kye'.",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError) as wrong:
        told(tmp_path, text)
    assert said in str(wrong.value)


@pytest.mark.parametrize(
    "uri",
    ["n://{a{b}c}", "n://{a", "n://a}", "n://{{a}}", "n://{}", "n://{a b}", "n://{a%7Bb}", "n://{a｛b}", "n://{a/b}"],
)
def test_t181_braces_that_make_no_template_are_refused(tmp_path: Path, uri: str) -> None:
    """Every server reads them in its own way, so the guard might be asked for nothing."""
    guard = f'[[servers.a.resources."{uri}"]]\nask = "confirm"\nmessage = "Show?"\n'
    for text in (guard, f'[servers.a.resources]\n"{uri}" = []\n'):
        with pytest.raises(ConfigError) as wrong:
            told(tmp_path, 'name = "g"' + HERS + ONE + text)
        assert f"servers.a.resources.{uri}: " in str(wrong.value)
        assert "braces" in str(wrong.value)


def test_t181_a_brace_of_an_address_is_guarded_as_it_is_escaped(tmp_path: Path) -> None:
    """A server may list an address with one as it stands."""
    guard = '[[servers.a.resources."n://a%7Bb"]]\nask = "confirm"\nmessage = "Show?"\n'
    config = told(tmp_path, 'name = "g"' + HERS + ONE + guard)
    listing = Listing(config, found={"a": {"resources": {}}}, names={("a", "resources"): {"n://a{b"}})
    check_names(config, listing)
    for uri in ("n://a{b", "n://a%7bb", "n://a%7Bb"):
        assert Gateway(config, {}, listing).asked("resources", "a", uri), uri


@pytest.mark.parametrize("uri", ["n://{+a}", "n://x{/a,b*}", "n://x{?q:3,r}", "n://{user-id}/{名}{.ext}{;v}{#f}{&g}"])
def test_a_template_may_have_all_that_templates_have(tmp_path: Path, uri: str) -> None:
    guard = f'[[servers.a.resources."{uri}"]]\nask = "confirm"\nmessage = "Show?"\n'
    assert told(tmp_path, 'name = "g"' + HERS + ONE + guard).servers["a"].guards["resources", uri]


def test_each_server_has_its_own_way_to_know_the_user(tmp_path: Path) -> None:
    """Of two issuers, each is asked for the tokens at its own address alone, and nobody is the user of both."""
    top = 'name = "g"\n[listen]\nport = 1\nhost = "0.0.0.0"\nissuer = "https://i.test"\nresource = "https://a/mcp"\n'
    hers = '[servers.c]\ncommand = "c"\nsign_in = { user = { iss = "https://idp.test", sub = "alice" } }\n'
    found = told(tmp_path, top + ONE + OWN + WIPE + TWO + WIPE.replace("servers.a", "servers.b") + hers).by_path
    assert {path: (one.listen.issuer, one.listen.resource, list(one.servers)) for path, one in found.items()} == {
        "/mcp": ("https://i.test", "https://a/mcp", ["b", "c"]),
        "/mcp/a": ("https://b.test", "https://a/own", ["a"]),
    }
    assert found["/mcp/a"].user_of("a") is None
    assert [found["/mcp"].user_of(name) for name in "bc"] == [None, ("https://idp.test", "alice")]
    alone = told(tmp_path, top.partition("issuer")[0] + ONE + OWN + WIPE)
    assert list(alone.by_path) == ["/mcp/a"], "each caller has a token, so others may reach the address"


def test_the_command_ends_with_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["guard", "--config", str(tmp_path / "none.toml")]) == 1
    assert "No such file" in capsys.readouterr().err


def test_a_key_comes_from_the_environment_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = told(tmp_path, 'name = "g"\n[service]\napi_key_env = "KEY_OF_GUARD"' + ONE)
    monkeypatch.delenv("KEY_OF_GUARD", raising=False)
    with pytest.raises(ConfigError, match=r"service\.api_key_env: There is no environment variable KEY_OF_GUARD"):
        assert config.api_key
    monkeypatch.setenv("KEY_OF_GUARD", "key")
    assert config.api_key == "key"


def test_t180_a_name_that_several_servers_have_is_nobodys() -> None:
    names = exposed({"a": ["wipe", "look"], "b": ["wipe", "a_wipe"]})
    assert names == {
        "look": ("a", "look"),
        "a_wipe": ("a", "wipe"),
        "b_wipe": ("b", "wipe"),
        "b_a_wipe": ("b", "a_wipe"),
    }
    assert exposed({"a": ["wipe"]}, ["a"]) == {"a_wipe": ("a", "wipe")}


def test_t182_a_token_is_taken_out_of_every_text() -> None:
    token = 'to"ken-1234'
    said = {"content": [{"text": f'got {token} and {{"t": "to\\"ken-1234"}}'}], token: 1, "n": None}
    clean = without([token, "x"], said)
    assert clean == {"content": [{"text": f'got {REMOVED} and {{"t": "{REMOVED}"}}'}], REMOVED: 1, "n": None}


def test_t182_a_secret_that_begins_with_another_is_taken_out_whole() -> None:
    """Such as a key that begins with the name of the team, which the user gave too."""
    assert without(["team", "team-5f3a"], ["team-5f3a", "my team"]) == [REMOVED, f"my {REMOVED}"]


def confirm(message: str) -> Asked:
    return asked({"ask": "confirm", "message": message, "words": {"detail": "In {path}"}}, "here")


def test_t183_a_message_shows_arguments_in_quotes_that_they_cannot_leave() -> None:
    question = confirm("Wipe {path} {{now}} {more}?")(path="a”?\n\u202eNo, look “b", self={"x": [1]})
    assert question.message == 'Wipe “a"? No, look "b” {now} (not given)?'
    assert question.params["detail"] == 'In “a"? No, look "b”'
    assert confirm("Wipe {self}?")(self={"x": [1]}).message == 'Wipe “{"x": [1]}”?'


@pytest.mark.parametrize("text", ["{path.__class__}{", "{0!r}", "{}", "{a:>9}", "a }"])
def test_t183_a_message_looks_nothing_up(text: str) -> None:
    with pytest.raises(AskError, match=r"here: .*Name an argument in braces"):
        confirm(text)
    assert filled("{path.__class__}", {"path": "x"}) == "(not given)"


def test_t183_an_argument_too_long_to_be_read_asks_nobody() -> None:
    with pytest.raises(NotRun, match=r"refused: .*501 characters"):
        confirm("Wipe {path}?")(path="a" * 501)


def test_messages_fit_the_era_of_who_gets_them() -> None:
    assert result_for("2025-11-25", "tools/list", {"tools": [], "ttlMs": 1, "new": 1}) == {"tools": [], "new": 1}
    modern = result_for("2026-07-28", "tools/list", {"tools": [], "new": 1})
    assert modern == {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "tools": [], "new": 1}
    params = {"name": "x", "new": 1, "_meta": {"io.modelcontextprotocol/clientInfo": {}, "own": 2, "progressToken": 3}}
    assert request_for("2025-11-25", params, {}, {}) == {"name": "x", "new": 1, "_meta": {"own": 2}}


def test_t180_a_yes_to_one_servers_tool_is_none_to_anothers() -> None:
    async def send(arguments: Json, outcomes: list[Completed]) -> Json:
        return {}

    digests = {Forwarded.to((server, "wipe"), send, schema=False).digest("alice") for server in ("a", "b", "a")}
    assert len(digests) == 2


def test_t183_a_place_that_stays_empty_is_not_the_models() -> None:
    schema = {"type": "object", "properties": {"plan": {"type": "string"}}}
    form = asked({"ask": "form", "message": "Which?", "schema": schema, "argument": {"plan": "plan"}}, "here")
    assert own({"plan": "forged", "what": "x"}, (form,)) == {"what": "x"}


@pytest.mark.parametrize(("typed", "sent"), [("k-1 ", "k-1"), ("k-1…", None), ("k-1\nX: y", None), ("k-1\u200b", None)])
def test_t182_what_a_header_cannot_hold_is_refused_before_it_is_sent(typed: str, sent: str | None) -> None:
    """The library would end the connection of all calls, and write what the user gave to the log."""
    schema = {"type": "object", "properties": {"key": {"type": "string"}}}
    form = asked({"ask": "form", "message": "Which?", "schema": schema, "header": {"X-Key": "key"}}, "here")
    done = Completed(Elicitation.read(COMPLETED | {"kind": "form", "result": {"content": {"key": typed}}}))
    elicit, put = Elicit("http://127.0.0.1:1", "key"), Put()
    with pytest.raises(NotRun, match="a character that no header can have") if sent is None else nullcontext():
        asyncio.run(form.put(elicit, done, put, "https://a.test/mcp"))
    assert put.headers == ({} if sent is None else {"X-Key": sent})


@pytest.mark.parametrize(
    "server", ['command = "a"\nenv_from = ["NONE"]', 'url = "http://x"\nheaders_from = { X = "NONE" }']
)
def test_a_variable_that_is_not_there_is_said_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], server: str
) -> None:
    monkeypatch.setenv("ELICIT_API_KEY", "key-of-the-tests")
    file = tmp_path / "guard.toml"
    file.write_text(f'name = "g"\n[servers.a]\n{server}\n')
    assert main(["guard", "--check", "--config", str(file)]) == 1
    assert "There is no environment variable NONE, or it is empty." in capsys.readouterr().err.splitlines()[0]


def test_the_line_end_behind_a_key_from_a_file_is_not_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library refuses it with an error that has the key in it."""
    monkeypatch.setenv("KEY", "Bearer key-1\n")
    config = told(tmp_path, 'name = "g"\n[servers.a]\nurl = "http://x"\nheaders_from = { X-Key = "KEY" }\n')
    assert headers_of(config, "a", {})["X-Key"] == "Bearer key-1"


def test_t258_no_client_sees_the_gateways_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("S", "its secret")
    signed_in = SIGNED_IN.replace("<issuer>", "https://i.test")
    config = told(tmp_path, 'name = "g"\n[servers.a]\nurl = "https://a.test/mcp"\n' + signed_in)
    sign_ins = own_sign_ins(config)
    peers = Peers(config, Client({}, {}, modern=False), None, lambda *_: False, sign_ins)
    for token in ("first-token", "renewed-token"):
        sign_ins["a"].tokens.append(token)
        assert peers.shown({"text": f"I got {token}."}) == {"text": f"I got {REMOVED}."}
