"""A yes belongs to who asked: two servers with the same key, user and tool, and two processes of one server."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from elicit_flows.sdk.mcp import McpFlows
from elicit_flows.sdk.testing import ScriptedUser, Service
from tests.sdk.mcp.conftest import Tools
from tests.sdk.mcp.raw import Json, Legacy, Modern, text
from tests.sdk.mcp.test_cases import called, link_in, seen

DISK = {"disk": "payslips"}


@pytest.fixture(scope="module")
def crm(new_tools: Callable[..., Tools]) -> Tools:
    return new_tools(name="crm")


@pytest.fixture(scope="module")
def payroll(new_tools: Callable[..., Tools]) -> Tools:
    return new_tools(name="payroll")


@pytest.fixture(scope="module")
def tools(crm: Tools) -> Tools:
    return crm


def asked(server: Tools, newer: bool, disk: Json = DISK) -> str:
    """The link that a client without links of its own is given."""
    return link_in(text(called(server, newer, "wipe", disk, can={})))


def test_t122_a_yes_to_one_server_runs_no_other_servers_tool(
    crm: Tools,
    payroll: Tools,
    alice: ScriptedUser,
    elicit_box: Service,
    newer: bool,
) -> None:
    disk = {"disk": f"payslips {newer}"}
    first = asked(crm, newer, disk)
    alice.submit(first)
    second = asked(payroll, newer, disk)
    assert second != first
    assert payroll.ran == []
    with elicit_box.sync_elicit() as elicit:
        assert seen(elicit, first).consumed_at is None, "it is still crm's to act on"
    assert text(called(crm, newer, "wipe", disk, can={})) == f"done: wiped {disk['disk']}"
    assert text(called(payroll, newer, "wipe", disk, can={})).startswith("waiting:")


def test_t122_a_no_to_one_server_is_none_to_another(crm: Tools, payroll: Tools, alice: ScriptedUser) -> None:
    disk = {"disk": "a no"}
    alice.decline(asked(crm, False, disk))
    assert text(called(crm, False, "wipe", disk, can={})).startswith("declined:")
    assert text(called(payroll, False, "wipe", disk, can={})).startswith("waiting:")


def test_t122_another_client_of_the_same_user_is_asked_anew(crm: Tools) -> None:
    """Nobody signs in, and the author of the server says who the user is."""
    disk = {"disk": "two clients"}
    links = {link_in(text(Legacy(crm.url, {}, name=name).call("wipe", disk))) for name in ("desk", "phone", "desk")}
    assert len(links) == 2


def test_two_processes_of_one_server_ask_the_same_question(
    crm: Tools,
    new_tools: Callable[..., Tools],
    alice: ScriptedUser,
    newer: bool,
) -> None:
    disk = {"disk": f"balanced {newer}"}
    twin = new_tools(name="crm")
    link = asked(crm, newer, disk)
    assert asked(twin, newer, disk) == link
    alice.submit(link)
    assert text(called(twin, newer, "wipe", disk, can={})).startswith("done:")


def test_a_name_in_the_settings_is_the_servers(crm: Tools, new_tools: Callable[..., Tools]) -> None:
    disk = {"disk": "named"}
    other, same = (new_tools(name=name, settings={"server": "hr"}) for name in ("crm", "payroll"))
    assert asked(other, False, disk) == asked(same, False, disk) != asked(crm, False, disk)


@pytest.mark.parametrize("name", ["", None])
def test_t122_a_server_without_a_name_asks_nobody_until_it_has_one(
    new_tools: Callable[..., Tools],
    newer: bool,
    name: str | None,
) -> None:
    nameless = new_tools(name=name, security=False)
    answer = called(nameless, newer, "wipe", DISK, can={})
    assert answer["result"]["isError"] is True
    assert text(answer).startswith("refused: This server has no name")
    assert 'McpFlows(server="…")' in text(answer)
    assert nameless.ran == []


def test_the_address_that_its_tokens_are_for_tells_a_server_too(
    new_tools: Callable[..., Tools], elicit_box: Service
) -> None:
    people = {"alice": ["desk", "alice"]}
    told = {"name": None, "security": False, "user": None, "people": people, "issuer": elicit_box.sandbox_url}
    links = {link_in(text(Modern(new_tools(**told).url, "alice").call("wipe", DISK, can={}))) for _ in range(2)}
    assert len(links) == 2, "each has its own address"


@pytest.mark.parametrize("name", ["", "  ", 7])
def test_t122_an_empty_name_is_refused_when_the_guards_are_made(name: str) -> None:
    with pytest.raises(ValueError, match="server: Give the server a name of its own"):
        McpFlows(server=name)
