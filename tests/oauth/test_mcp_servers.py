"""Remote MCP servers that nobody configured: from the address that an agent names to a token for that server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from elicit_flows import elicitations, vault
from elicit_flows.domain.values import Answer
from elicit_flows.elicitations import Given, NotShownYet
from elicit_flows.models import Connection, Elicitation, Registration
from elicit_flows.models import Provider as ProviderRow
from tests.doubles.mcp_server import McpServer
from tests.doubles.provider import Provider
from tests.oauth.journey import BROWSER, ask, query
from tests.support import rows
from tests.support.rows import Known


@pytest.fixture
def server(double: Provider) -> Iterator[McpServer]:
    """An MCP server whose authorization server lets clients register themselves."""
    double.metadata = {"registration_endpoint": f"{double.url}/register"}
    with McpServer(double.issuer) as running:
        yield running


@pytest.fixture
def known(committed: None) -> Known:
    """An agent that may ask for every MCP server."""
    return allowed("*")


def allowed(*hosts: str) -> Known:
    known = rows.agent()
    known.row.mcp_servers = list(hosts)
    known.row.save()
    return known


def ask_for(known: Known, server: McpServer, **params: Any) -> Elicitation:
    return ask(known, **{"provider": None, "mcp": server.address, "scopes": [], **params})


def shown(row: Elicitation) -> str:
    """The host that the page shows."""
    return str(elicitations.look(row.pk, row.claim).what["host"])


def press(row: Elicitation, button: str = "a-press") -> str:
    """Press until the page has shown where it goes."""
    try:
        url = elicitations.begin(row.pk, row.claim, BROWSER, button, Given({}, shown(row)))
    except NotShownYet:
        url = elicitations.begin(row.pk, row.claim, BROWSER, button, Given({}, shown(row)))
    assert url
    return url


def come_back(double: Provider, row: Elicitation, url: str) -> Elicitation:
    context = query(url)["redirect_uri"].rpartition("/")[2]
    elicitations.resume(context, Answer(double.visit(url)), row.claim, BROWSER)
    row.refresh_from_db()
    return row


def connect(double: Provider, known: Known, server: McpServer, **params: Any) -> Elicitation:
    row = ask_for(known, server, **params)
    return come_back(double, row, press(row))


def test_from_the_address_to_a_token_for_that_server(double: Provider, server: McpServer, known: Known) -> None:
    row = ask_for(known, server)
    assert shown(row) == ""
    with pytest.raises(NotShownYet):
        elicitations.begin(row.pk, row.claim, BROWSER, "a-press", Given())
    assert shown(row) == "127.0.0.1"
    url = press(row)
    assert query(url)["resource"] == server.address
    assert query(url)["code_challenge_method"] == "S256"
    assert come_back(double, row, url).status == "completed"
    assert row.result["resource"] == server.address
    connection = Connection.objects.get()
    assert connection.summary()["resource"] == server.address
    assert double.seen("token")[0].form["resource"] == server.address
    rows.expire(connection)
    assert vault.token(known.row, connection.pk)["resource"] == server.address
    assert double.seen("token")[1].form["resource"] == server.address


def test_a_second_ask_is_answered_by_the_connection(double: Provider, server: McpServer, known: Known) -> None:
    connect(double, known, server)
    again = ask_for(known, server)
    assert (again.status, again.reused) == ("completed", True)


def test_one_registration_serves_all_mcp_servers_of_an_authorization_server(
    double: Provider, server: McpServer, known: Known
) -> None:
    connect(double, known, server)
    row = ask_for(known, server, mcp=f"{server.url}/other")
    assert come_back(double, row, press(row)).status == "completed"
    assert double.calls["register"] == 1
    assert Registration.objects.get().issuer == double.issuer
    assert ProviderRow.objects.exclude(mcp="").count() == 2
    assert {one.resource for one in Connection.objects.all()} == {server.address, f"{server.url}/other"}
