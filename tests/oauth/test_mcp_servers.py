"""Remote MCP servers that nobody configured: from the address that an agent names to a token for that server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from elicit_flows import elicitations, vault
from elicit_flows.domain.errors import (
    BadCallback,
    BadRequest,
    Forbidden,
    Invalid,
    ProviderUnavailable,
    ReauthorizationRequired,
    StartAgain,
)
from elicit_flows.domain.values import Answer
from elicit_flows.elicitations import Given, NotShownYet
from elicit_flows.models import Connection, Elicitation, Registration
from elicit_flows.models import Provider as ProviderRow
from tests.doubles.mcp_server import McpServer
from tests.doubles.provider import Provider
from tests.doubles.server import json_response
from tests.oauth.journey import BROWSER, ask, query
from tests.support import dump, jobs, rows
from tests.support.rows import Known
from tests.support.serving import Served


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


def form(row: Elicitation) -> Given:
    """What the form of the page says when its button is pressed."""
    what = elicitations.look(row.pk, row.claim).what
    return Given({}, what["host"], what["seen"])


def press(row: Elicitation, button: str = "a-press") -> str:
    """Press until the page has shown where it goes."""
    try:
        url = elicitations.begin(row.pk, row.claim, BROWSER, button, form(row))
    except NotShownYet:
        url = elicitations.begin(row.pk, row.claim, BROWSER, button, form(row))
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
    assert form(row).host == ""
    with pytest.raises(NotShownYet):
        elicitations.begin(row.pk, row.claim, BROWSER, "a-press", Given())
    assert form(row).host == "127.0.0.1"
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


def test_more_scopes_are_asked_for_later_beside_those_that_are_there(
    double: Provider, server: McpServer, known: Known
) -> None:
    server.challenge = 'scope="notes.read"'
    first = connect(double, known, server)
    assert first.result["scopes"] == ["notes.read"]
    row = ask_for(known, server, scopes=["notes.write"], connection=first.result["connection"])
    assert row.status == "pending"
    url = press(row)
    assert query(url)["scope"].split() == ["notes.read", "notes.write"]


def test_without_a_word_about_scopes_those_of_the_metadata_are_asked_for(
    double: Provider, server: McpServer, known: Known
) -> None:
    server.metadata["scopes_supported"] = ["notes.read", "notes.write"]
    assert query(press(ask_for(known, server)))["scope"].split() == ["notes.read", "notes.write"]
    assert query(press(ask_for(known, server, scopes=["notes.read"])))["scope"] == "notes.read"


def test_our_document_says_who_we_are_to_the_authorization_server(
    double: Provider, server: McpServer, known: Known, settings: Any, served: Served
) -> None:
    settings.ELICIT_PUBLIC_URL = "https://flows.example.com"
    double.metadata["client_id_metadata_document_supported"] = True
    sent = query(press(ask_for(known, server)))
    assert sent["client_id"].startswith("https://flows.example.com/oauth/as-")
    with httpx2.Client(base_url=served.url, trust_env=False) as anybody:
        said = anybody.get(urlsplit(sent["client_id"]).path).json()
        assert anybody.get(f"/oauth/{ProviderRow.objects.get(mcp__gt='').slug}/client.json").status_code == 404
    assert said["client_id"] == sent["client_id"]
    assert said["redirect_uris"] == [sent["redirect_uri"]]
    assert said["token_endpoint_auth_method"] == "none"
    assert double.calls["register"] == 0


@pytest.fixture
def evil() -> Iterator[Provider]:
    """An authorization server that would like to have what is meant for another."""
    with Provider(client_secret="the-evil-one's-client-secret") as running:
        running.metadata = {"registration_endpoint": f"{running.url}/register"}
        yield running


def test_t151_each_authorization_server_has_a_callback_of_its_own(
    double: Provider, server: McpServer, known: Known, evil: Provider
) -> None:
    """The evil one sends the person on to the honest one, to be handed its code."""
    with McpServer(evil.issuer) as trap:
        honest, trapped = press(ask_for(known, server)), ask_for(known, trap)
        url = press(trapped)
        assert query(honest)["redirect_uri"] != query(url)["redirect_uri"]
        # What the honest one answers comes to the address that it knows, with the state of the trap.
        context = query(honest)["redirect_uri"].rpartition("/")[2]
        stolen = {"state": [query(url)["state"]], "code": ["the-honest-ones-code"]}
        with pytest.raises(BadCallback):
            elicitations.resume(context, Answer(stolen), trapped.claim, BROWSER)
    assert evil.calls["token"] == 0


@pytest.mark.parametrize("claims", [False, True])
def test_t151_no_code_of_an_honest_server_goes_to_the_token_endpoint_of_another(
    double: Provider, server: McpServer, known: Known, evil: Provider, claims: bool
) -> None:
    """The evil one names the honest one's sign-in page, where it has registered a client with our callback address."""
    evil.sends_iss, double.sends_iss = claims, False
    evil.metadata["authorization_endpoint"] = f"{double.url}/authorize"
    evil.scripted["register"] = json_response({"client_id": double.client_id, "client_secret": "s3cret"}, 201)
    with McpServer(evil.issuer) as trap, pytest.raises(BadCallback if claims else ProviderUnavailable):
        connect(double, known, trap)
    assert evil.calls["token"] == 0


@pytest.mark.parametrize("iss", ["honest", None])
def test_t151_an_answer_of_another_issuer_is_refused(
    double: Provider, server: McpServer, known: Known, evil: Provider, iss: str | None
) -> None:
    row = ask_for(known, server)
    url = press(row)
    answer = double.visit(url)
    answer = {**answer, "iss": [evil.issuer]} if iss else {name: answer[name] for name in ("state", "code")}
    with pytest.raises(BadCallback):
        elicitations.resume(query(url)["redirect_uri"].rpartition("/")[2], Answer(answer), row.claim, BROWSER)
    assert double.calls["token"] == 0


def test_t151_a_code_is_not_given_to_an_authorization_server_that_is_named_meanwhile(
    double: Provider, server: McpServer, known: Known, evil: Provider
) -> None:
    row, another = ask_for(known, server), ask_for(known, server)
    url = press(row)
    server.issuers = [evil.issuer]
    press(another)
    with pytest.raises(StartAgain):
        come_back(double, row, url)
    assert (evil.calls["token"], double.calls["token"]) == (0, 0)


def test_t151_no_refresh_token_goes_to_an_authorization_server_that_is_named_later(
    double: Provider, server: McpServer, known: Known, evil: Provider
) -> None:
    connect(double, known, server)
    server.issuers = [evil.issuer]
    press(ask_for(known, server, reuse="never"))
    connection = Connection.objects.get()
    rows.expire(connection)
    with pytest.raises(ReauthorizationRequired):
        vault.token(known.row, connection.pk)
    assert evil.calls["token"] == 0
    assert double.calls["token"] == 1


def test_t151_another_issuer_at_the_same_host_is_another(double: Provider, server: McpServer, known: Known) -> None:
    connect(double, known, server)
    ProviderRow.objects.filter(mcp__gt="").update(issuer=f"{double.issuer}/tenant2")
    connection = Connection.objects.get()
    rows.expire(connection)
    with pytest.raises(ReauthorizationRequired):
        vault.token(known.row, connection.pk)
    assert double.calls["token"] == 1


def test_t151_the_page_shows_both_hosts_before_anybody_goes_there(
    double: Provider, server: McpServer, known: Known, evil: Provider
) -> None:
    row = ask_for(known, server)
    press(row)
    what = elicitations.look(row.pk, row.claim).what
    assert (what["mcp"], what["issuer_host"], what["host"]) == (server.address, "127.0.0.1", "127.0.0.1")
    # The page was left open, and shows another host than the one that would come next.
    with pytest.raises(NotShownYet):
        elicitations.begin(row.pk, row.claim, BROWSER, "later", replace(form(row), host="elsewhere.example.com"))


def test_t150_the_page_shows_the_scopes_before_anybody_is_asked_for_them(
    double: Provider, server: McpServer, known: Known
) -> None:
    """The server asks for little while somebody reads the page, and for more when they press the button."""
    server.challenge = 'scope="notes.read"'
    press(ask_for(known, server))
    row = ask_for(known, server)
    page = form(row)
    server.challenge = 'scope="notes.read notes.delete"'
    with pytest.raises(NotShownYet):
        elicitations.begin(row.pk, row.claim, BROWSER, "a-press", page)
    assert elicitations.look(row.pk, row.claim).what["scopes"] == ["notes.read", "notes.delete"]


def test_t154_a_refreshed_token_is_for_the_resource_that_the_person_allowed(
    double: Provider, server: McpServer, known: Known
) -> None:
    connect(double, known, server)
    server.metadata["resource"] = server.url
    press(ask_for(known, server, reuse="never"))
    assert ProviderRow.objects.get(mcp__gt="").resources == [server.url]
    connection = Connection.objects.get()
    rows.expire(connection)
    assert vault.token(known.row, connection.pk)["resource"] == server.address
    assert double.seen("token")[-1].form["resource"] == server.address
    # The server would not accept it any more, so it is no answer to a new question.
    assert ask_for(known, server).status == "pending"


def test_t154_a_connection_to_one_server_does_not_answer_for_another(
    double: Provider, server: McpServer, known: Known
) -> None:
    connect(double, known, server)
    other = ask_for(known, server, mcp=f"{server.url}/other")
    assert other.status == "pending"
    with pytest.raises(Invalid):
        ask_for(known, server, mcp=f"{server.url}/other", connection=Connection.objects.get().pk)


def test_t154_the_token_is_sent_to_nobody_but_the_agent(double: Provider, server: McpServer, known: Known) -> None:
    connect(double, known, server)
    assert double.calls["userinfo"] == 0
    assert [name for name, _ in server.requests if name == "mcp"] == ["mcp", "mcp"]
    assert not any("authorization" in request.headers for request in server.seen("mcp"))


def test_t156_an_agent_asks_for_what_its_operator_allows_and_nothing_else(
    double: Provider, server: McpServer, committed: None
) -> None:
    host = urlsplit(server.url).netloc
    assert ask_for(allowed(host), server).status == "pending"
    for hosts in ([], ["mcp.example.com"], ["127.0.0.1"], ["127.0.0.1:1"]):
        with pytest.raises(Invalid) as caught:
            ask_for(allowed(*hosts), server)
        assert caught.value.errors[0]["loc"] == ["params", "mcp"]
    assert server.requests == []


def test_t156_what_is_allowed_no_more_is_not_begun(double: Provider, server: McpServer, known: Known) -> None:
    row = ask_for(known, server)
    known.row.mcp_servers = []
    known.row.save()
    with pytest.raises(Forbidden):
        press(row)
    assert server.requests == []


def test_t156_a_server_is_not_reached_by_the_slug_that_stands_for_it(
    double: Provider, server: McpServer, known: Known
) -> None:
    slug = connect(double, known, server).params["provider"]
    with pytest.raises(Invalid):
        ask(allowed(), provider=slug, scopes=[])


def test_t156_a_server_that_is_switched_off_gives_no_tokens(double: Provider, server: McpServer, known: Known) -> None:
    row = ask_for(known, server, reuse="never")
    connect(double, known, server)
    ProviderRow.objects.filter(mcp__gt="").update(enabled=False)
    with pytest.raises(ProviderUnavailable):
        press(row)
    with pytest.raises(ProviderUnavailable):
        vault.token(known.row, Connection.objects.get().pk)
    with pytest.raises(Invalid):
        ask_for(known, server)


def test_t75_the_secret_of_our_registration_is_sealed(
    double: Provider, server: McpServer, known: Known, committed_database: str
) -> None:
    connect(double, known, server)
    assert double.client_secret
    assert double.client_secret not in dump.database(committed_database)


def test_forgotten_by_the_authorization_server_it_registers_anew(
    double: Provider, server: McpServer, known: Known
) -> None:
    connect(double, known, server)
    row = ask_for(known, server, reuse="never")
    url = press(row)
    double._registered(double.seen("register")[0])
    code = {"state": [query(url)["state"]], "code": ["a-code"], "iss": [double.issuer]}
    with pytest.raises(StartAgain):
        elicitations.resume(query(url)["redirect_uri"].rpartition("/")[2], Answer(code), row.claim, BROWSER)
    assert not Registration.objects.exists()
    press(row, "again")
    assert double.calls["register"] == 2


def test_it_is_revoked_at_its_authorization_server(double: Provider, server: McpServer, known: Known) -> None:
    connect(double, known, server)
    vault.revoke(Connection.objects.get(), vault.ConnectionUse.Actor.AGENT)
    jobs.tell_due_providers()
    assert double.calls["revoke"] == 1


def test_t137_one_person_has_one_connection_to_a_server(double: Provider, server: McpServer, known: Known) -> None:
    double.opens = False  # it does not name the account
    connect(double, known, server)
    row = connect(double, known, server, reuse="never")
    assert row.status == "started", "nobody but the person knows whether it is the same account"
    change = elicitations.look(row.pk, row.claim).change
    assert change
    assert change.only_one
    with pytest.raises(BadRequest):
        elicitations.choose(row.pk, row.claim, "both", change.held)
    elicitations.choose(row.pk, row.claim, "same", change.held, change.earlier[0].id)
    assert Connection.objects.get().generation == 2


def test_t137_another_account_takes_the_place_of_the_first(double: Provider, server: McpServer, known: Known) -> None:
    server.metadata["scopes_supported"] = ["openid"]  # so that it names the account
    assert connect(double, known, server).result["account"] == {"id": "alice", "label": "alice"}
    double.user = {"sub": "alice-2", "name": "Alice"}
    row = connect(double, known, server, reuse="never")
    change = elicitations.look(row.pk, row.claim).change
    assert change
    elicitations.choose(row.pk, row.claim, "replace", change.held, change.earlier[0].id)
    live = Connection.objects.exclude(status="revoked")
    assert [one.account_id for one in live] == ["alice-2"]
