"""What a remote MCP server says of itself, and what of that is believed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from elicit_flows import http, oauth
from elicit_flows.domain.errors import Invalid, ProviderUnavailable
from elicit_flows.http import client
from elicit_flows.kinds.oauth import mcp_server, params
from elicit_flows.kinds.oauth.mcp_server import McpServer
from elicit_flows.oauth import bearer_challenge
from tests.doubles import mcp_server as double
from tests.doubles.policy import loopback_allowed
from tests.doubles.provider import Provider
from tests.doubles.server import Request, Response, json_response

INSIDE = ["http://10.0.0.1/x", "https://10.0.0.1/x", "https://169.254.169.254/latest", "https://[fd00::1]/x"]
INSIDE += ["https://metadata.internal/x", "ftp://example.com/x", "https://user@example.com/x"]
ENDPOINTS = ["authorization_endpoint", "token_endpoint", "registration_endpoint", "revocation_endpoint", "jwks_uri"]


@pytest.fixture
def keeper() -> Iterator[Provider]:
    """The authorization server."""
    oauth.forget()
    with Provider() as running, loopback_allowed():
        running.metadata = {"registration_endpoint": f"{running.url}/register"}
        yield running


@pytest.fixture
def server(keeper: Provider) -> Iterator[double.McpServer]:
    with double.McpServer(keeper.issuer) as running:
        yield running


def find(server: double.McpServer, *, former: str = "", documents: bool = False) -> McpServer:
    oauth.forget()
    return mcp_server.discover(server.address, former_issuer=former, own_documents=documents)


def refused(server: double.McpServer, match: str) -> None:
    with pytest.raises(ProviderUnavailable) as caught:
        find(server)
    assert match in (caught.value.detail or "")


# The address.


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("https://MCP.example.com", "https://mcp.example.com"),
        ("https://mcp.example.com/", "https://mcp.example.com"),
        ("https://mcp.example.com:443/Mcp", "https://mcp.example.com/Mcp"),
        ("https://mcp.example.com/mcp/", "https://mcp.example.com/mcp/"),
        ("https://mcp.example.com:8443/mcp?project=7", "https://mcp.example.com:8443/mcp?project=7"),
    ],
)
def test_an_address_has_one_spelling(given: str, kept: str) -> None:
    asked = params.clean({"mcp": given})
    assert asked["mcp"] == kept
    assert params.clean(asked) == asked, "an answer of ours can be sent again"


@pytest.mark.parametrize(
    "wrong",
    [
        "", "mcp.example.com", "http://mcp.example.com/mcp", "https://mcp.example.com/mcp#x", "https://a@mcp.example.com",
        "https://10.0.0.1/mcp", "https://localhost/mcp", "https://mcp.example.com/a/../b", "https://mcp.example.com/%2e%2E/b",
        "https://mcp.example.com/" + "x" * 1000, 7,
    ],
)  # fmt: skip
def test_t153_an_address_that_may_not_be_called_is_refused(wrong: Any) -> None:
    with pytest.raises(Invalid) as caught:
        params.clean({"mcp": wrong})
    assert [error["loc"] for error in caught.value.errors] == [["params", "mcp"]]


@pytest.mark.parametrize("more", [{"provider": "drive"}, {"variables": {"shop": "s"}}])
def test_it_is_either_a_provider_or_an_mcp_server(more: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        params.clean({"mcp": "https://mcp.example.com/mcp", **more})


# The operator's list.


@pytest.mark.parametrize(
    ("hosts", "allowed"),
    [
        (["mcp.example.com"], True),
        (["*.example.com"], True),
        (["*"], True),
        ([], False),
        (["example.com"], False),
        (["mcp.example.com:8443"], False),
        (["evil.com", "mcp.example.com.evil.com"], False),
    ],
)
def test_t156_a_host_is_allowed_by_its_name(hosts: list[str], allowed: bool) -> None:
    assert mcp_server.is_allowed("https://mcp.example.com/mcp", hosts) is allowed


@pytest.mark.parametrize(
    "url", ["https://mcp.example.com.evil.com", "https://evil.com/mcp.example.com", "https://xmcp.example.com"]
)
def test_t156_no_other_host_is_taken_for_an_allowed_one(url: str) -> None:
    assert not mcp_server.is_allowed(url, ["mcp.example.com", "*.mcp.example.com"])


# The challenge.


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ("", {}),
        ("Basic realm=x", {}),
        ("Bearer", {}),
        ('Bearer resource_metadata="https://a/b", scope="x y"', {"resource_metadata": "https://a/b", "scope": "x y"}),
        ("bearer Scope=x", {"scope": "x"}),
        ('Basic realm="a, Bearer scope=evil", Bearer scope=good', {"scope": "good"}),
        ('Bearer scope="a\\"b", Digest scope="no"', {"scope": 'a"b'}),
        ('Bearer scope=one, scope=two, DPoP algs="ES256"', {"scope": "one"}),
        ('Bearer , ,, error = "x"', {"error": "x"}),
    ],
)
def test_a_challenge_is_read_as_http_writes_it(header: str, found: dict[str, str]) -> None:
    assert bearer_challenge(header) == found


@pytest.mark.parametrize(
    "header",
    [
        'Bearer a="' + "\\" * 30_000, "Bearer " + "a=" * 15_000, 'Bearer a="\\"' * 3000,
        "x" + " " * 30_000 + "@", "," * 30_000,
    ],
)  # fmt: skip
def test_t155_a_long_challenge_takes_no_time_that_grows(header: str) -> None:
    """No other request is answered while a regular expression runs."""
    began = time.process_time()
    bearer_challenge(header)
    assert time.process_time() - began < 1


# Where the metadata is.


def test_the_challenge_names_the_metadata_and_the_scopes(server: double.McpServer, keeper: Provider) -> None:
    server.challenge, server.metadata = 'scope="notes.read"', {"scopes_supported": ["notes.read", "notes.write"]}
    found = find(server)
    assert (found.scopes, found.default_scopes) == (("notes.read",), ())
    assert (found.issuer, found.resource) == (keeper.issuer, server.address)
    assert (server.calls["metadata"], server.calls["root"]) == (1, 0)


def test_without_a_challenge_the_well_known_addresses_are_asked_in_order(server: double.McpServer) -> None:
    server.points, server.metadata = False, {"scopes_supported": ["notes.read", "a b", 7]}
    assert find(server).default_scopes == ("notes.read",)
    server.scripted["metadata"] = Response(404)
    said = {"resource": server.url, "authorization_servers": server.issuers}
    server.scripted["root"] = json_response(said)
    assert find(server).resource == server.url
    assert [name for name, _ in server.requests] == ["mcp", "metadata", "mcp", "metadata", "root"]
    server.scripted["root"] = Response(404)
    refused(server, "does not say where people sign in")


def test_a_server_that_lets_anybody_in_may_have_metadata_all_the_same(server: double.McpServer) -> None:
    server.scripted["mcp"] = json_response({"jsonrpc": "2.0", "id": 1, "result": {}})
    assert find(server).resource == server.address


@pytest.mark.parametrize(
    ("issuer", "asked"),
    [
        ("", ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"]),
        ("/t1", [
            "/.well-known/oauth-authorization-server/t1", "/.well-known/openid-configuration/t1",
            "/t1/.well-known/openid-configuration",
        ]),
    ],
)  # fmt: skip
def test_the_authorization_server_is_looked_for_in_the_order_of_mcp(
    server: double.McpServer, keeper: Provider, issuer: str, asked: list[str]
) -> None:
    server.issuers = [f"{keeper.url}{issuer}"]
    keeper.scripted["metadata"] = Response(404)
    refused(server, "publishes no metadata")
    assert [request.path for _, request in keeper.requests] == asked


def test_an_issuer_without_a_path_may_be_written_with_a_slash(server: double.McpServer, keeper: Provider) -> None:
    server.issuers = [f"{keeper.issuer}/"]
    assert find(server).issuer == keeper.issuer


# How this service becomes a client.


@pytest.mark.parametrize(
    ("said", "documents", "registration", "auth"),
    [
        ({}, True, "dynamic", "client_secret_basic"),
        ({"client_id_metadata_document_supported": True}, True, "document", "none"),
        ({"client_id_metadata_document_supported": True}, False, "dynamic", "client_secret_basic"),
        ({"client_id_metadata_document_supported": "true"}, True, "dynamic", "client_secret_basic"),
        (
            {"token_endpoint_auth_methods_supported": ["none", "client_secret_post"]},
            True,
            "dynamic",
            "client_secret_post",
        ),
        ({"token_endpoint_auth_methods_supported": ["none"]}, True, "dynamic", "none"),
    ],
)
def test_a_document_of_ours_comes_before_a_registration(
    server: double.McpServer, keeper: Provider, said: dict[str, Any], documents: bool, registration: str, auth: str
) -> None:
    keeper.metadata |= said
    found = find(server, documents=documents)
    assert (found.registration, found.token_auth) == (registration, auth)


def test_where_nobody_may_register_that_is_said(server: double.McpServer, keeper: Provider) -> None:
    keeper.metadata = {}
    refused(server, "lets no client register itself")


def test_refresh_tokens_are_asked_for_where_that_is_possible(server: double.McpServer, keeper: Provider) -> None:
    keeper.metadata["scopes_supported"] = ["offline_access", "notes.read"]
    server.challenge = 'scope="notes.read"'
    assert find(server).scopes == ("notes.read", "offline_access")


# What is not believed.


@pytest.mark.parametrize("methods", [None, ["plain"], [], "S256"])
def test_t19_an_authorization_server_that_does_not_say_s256_is_refused(
    server: double.McpServer, keeper: Provider, methods: Any
) -> None:
    keeper.metadata["code_challenge_methods_supported"] = methods
    refused(server, "PKCE")


@pytest.mark.parametrize("issuer", ["https://honest.example.com", "{url}/t1", "{url}//", None])
def test_t151_metadata_of_another_issuer_is_not_used(
    server: double.McpServer, keeper: Provider, issuer: str | None
) -> None:
    keeper.metadata["issuer"] = issuer and issuer.format(url=keeper.url)
    refused(server, "names another issuer")


def test_t151_people_stay_with_their_authorization_server_while_it_is_named(
    server: double.McpServer, keeper: Provider
) -> None:
    with Provider() as evil:
        evil.metadata = {"registration_endpoint": f"{evil.url}/register"}
        server.issuers = [evil.issuer, keeper.issuer]
        assert find(server, former=keeper.issuer).issuer == keeper.issuer
        assert evil.requests == []


@pytest.mark.parametrize(
    "resource",
    [
        "https://other.example.com/mcp", "{url}/other", "{url}/mcp2", "{url}/mcp/below", "{url}/mc", "{root}9/mcp",
        "https://127.0.0.1:{port}/mcp", "{url}/mcp#x", "{url}/mcp?tenant=2", "", None, 7, ["{url}/mcp"],
    ],
)  # fmt: skip
def test_t152_metadata_of_another_resource_is_not_used(server: double.McpServer, resource: Any) -> None:
    if isinstance(resource, str):
        resource = resource.format(url=server.url, root=server.url, port=server.port)
    server.metadata["resource"] = resource
    refused(server, "for another resource")


@pytest.mark.parametrize("resource", ["{url}/mcp", "{url}/mcp/", "{url}/", "{url}"])
def test_t152_the_resource_is_the_server_or_what_it_lies_below(server: double.McpServer, resource: str) -> None:
    server.metadata["resource"] = resource.format(url=server.url)
    assert find(server).resource == resource.format(url=server.url)


@pytest.mark.parametrize("inside", INSIDE)
def test_t153_the_challenge_does_not_lead_inside(server: double.McpServer, inside: str) -> None:
    server.scripted["mcp"] = Response(401, b"", {"WWW-Authenticate": f'Bearer resource_metadata="{inside}"'})
    refused(server, "is refused")
    assert server.calls["metadata"] == 0


@pytest.mark.parametrize("inside", INSIDE)
def test_t153_no_authorization_server_is_inside(server: double.McpServer, inside: str) -> None:
    server.issuers = [inside]
    refused(server, "is refused")


@pytest.mark.parametrize("endpoint", ENDPOINTS)
@pytest.mark.parametrize("inside", INSIDE)
def test_t153_no_endpoint_is_inside(server: double.McpServer, keeper: Provider, endpoint: str, inside: str) -> None:
    keeper.metadata[endpoint] = inside
    refused(server, "is refused")


@pytest.mark.parametrize("where", ["resource_metadata", "authorization_servers"])
def test_t153_no_name_that_leads_inside_is_called(
    server: double.McpServer, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "resolver", lambda host, port: ["10.0.0.1"])
    server.issuers = ["https://inside.example.com"]
    if where == "resource_metadata":
        named = 'Bearer resource_metadata="https://inside.example.com/x"'
        server.scripted["mcp"] = Response(401, b"", {"WWW-Authenticate": named})
    refused(server, "is refused")


@pytest.mark.parametrize("route", ["mcp", "metadata"])
def test_t153_no_redirect_is_followed(server: double.McpServer, keeper: Provider, route: str) -> None:
    server.points = False
    server.scripted[route] = Response(307, b"", {"Location": f"{keeper.url}/.well-known/oauth-authorization-server"})
    if route == "metadata":
        refused(server, "does not say where people sign in")
    else:
        assert find(server).resource == server.address
    assert all(request.path.startswith("/.well-known/") for _, request in keeper.requests)


@pytest.mark.parametrize("route", ["mcp", "metadata"])
def test_t155_a_huge_answer_is_not_read(server: double.McpServer, route: str) -> None:
    server.scripted[route] = Response(401 if route == "mcp" else 200, b" " * 1_000_000)
    refused(server, "cannot be read: The answer is too large.")


def test_t155_huge_metadata_of_an_authorization_server_is_not_read(server: double.McpServer, keeper: Provider) -> None:
    keeper.scripted["metadata"] = Response(200, b" " * 1_000_000)
    refused(server, "does not answer")


def test_t155_all_requests_together_have_one_deadline(server: double.McpServer, keeper: Provider) -> None:
    def slow(request: Request) -> Response:
        time.sleep(0.7)
        return Response(404)

    server.points = False
    server.scripted |= {"mcp": slow, "metadata": slow, "root": slow}
    with loopback_allowed(), pytest.raises(oauth.DiscoveryError, match="too long"):
        oauth.find_resource(server.address, deadline=1.0)
    assert server.calls["root"] == 0


@pytest.mark.parametrize("servers", [[], None, "https://as.example.com", [7], ["{issuer}"] * 21])
def test_t155_a_list_of_authorization_servers_is_short_and_of_addresses(
    server: double.McpServer, keeper: Provider, servers: Any
) -> None:
    if isinstance(servers, list):
        servers = [keeper.issuer if one == "{issuer}" else one for one in servers]
    server.issuers = servers
    with pytest.raises(ProviderUnavailable):
        find(server)
    assert keeper.requests == []


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"resource": 1, "resource": 2}', b"\xff"])
def test_metadata_that_is_no_object_is_refused(server: double.McpServer, body: bytes) -> None:
    server.scripted["metadata"] = Response(200, body)
    refused(server, "cannot be read")


@pytest.mark.parametrize("status", [429, 500, 503])
@pytest.mark.parametrize("route", ["mcp", "metadata"])
def test_a_server_that_is_down_is_tried_again_later(server: double.McpServer, route: str, status: int) -> None:
    server.scripted[route] = Response(status)
    refused(server, "not available now")


def test_the_policy_of_the_service_holds_for_the_address_itself() -> None:
    with pytest.raises(http.Refused):
        mcp_server.clean_url("http://127.0.0.1/mcp")
