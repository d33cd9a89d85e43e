"""A1: a yes that was given to one server is taken by another with the same API key, user and tool."""

from __future__ import annotations

from collections.abc import Callable

from elicit_flows.sdk.testing import ScriptedUser
from tests.sdk.mcp.conftest import Tools
from tests.sdk.mcp.raw import text
from tests.sdk.mcp.test_cases import called, link_in


def test_t122_a_yes_to_one_server_runs_no_other_servers_tool(
    new_tools: Callable[..., Tools], alice: ScriptedUser, newer: bool
) -> None:
    """She was asked by crm; payroll, which asked nothing, acts on it."""
    crm, payroll = (new_tools(name=name, settings={"hold": 1}) for name in ("crm", "payroll"))
    disk = {"disk": f"payslips {newer}"}
    alice.submit(link_in(text(called(crm, newer, "wipe", disk, can={}))))
    answer = text(called(payroll, newer, "wipe", disk, can={}))
    assert (payroll.ran, answer[:8]) == ([], "waiting:")
