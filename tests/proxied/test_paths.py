"""A proxied call stays at the API: its path cannot leave it, and no redirect takes it elsewhere."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from urllib.parse import urlsplit

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elicit_flows.http import Refused, forwarding
from elicit_flows.models import Connection
from elicit_flows.models import Provider as ProviderRow
from elicit_flows.vault import api_access
from tests.doubles.server import Response
from tests.proxied.conftest import Api
from tests.support import rows
from tests.support.rows import Known
from tests.support.serving import Served

At = Callable[[str], str]
BASE = "https://api.example.com/v2"
ESCAPES = [
    "//evil.example/x", "/a//b", "/../admin", "/a/../../admin", "/..", "/.", "/a/./b", "/%2e%2e/admin", "/%2E%2e/x",
    "/.%2e/x", "/%252e%252e/x", "/%25252e%25252e/x", "/%2525252525252e", "/..%2fadmin", "/a%2f..%2f..%2fadmin",
    "/..;/admin", "/..;x=y/admin", "/a%5c..%5cadmin", "/a\\..\\admin", "/%5cevil.example", "/%2fevil.example",
    "/%2F%2Fevil.example", "/x%00", "/x%0d%0aHost:%20evil", "/x%250d%250aHost", "/x\r\nHost: evil", "/x y", "/x#y",
    "/ü", "/%zz", "/%2", "@evil.example/", ":443@evil.example/", ".evil.example/", "https://evil.example/", "%2f..",
]  # fmt: skip


@pytest.mark.parametrize("path", ESCAPES)
def test_t163_a_path_that_could_leave_the_api_is_refused(path: str) -> None:
    with pytest.raises(forwarding.Unfit):
        forwarding.target(BASE, path.encode(), b"")


@pytest.mark.parametrize(
    "path",
    [
        "", "/", "/me/", "/users/@me", "/a:b/c;d=1", "/projects/group%2Fproject", "/files/a%20b.txt", "/x/...",
        "/.well", "/sites/https%3A%2F%2Fwww.example.com%2F", "/v1.0/me/$batch", "/items(1)", "/100%25", "/a/%E2%82%AC",
    ],
)  # fmt: skip
def test_paths_that_apis_have_are_passed_on_as_they_are(path: str) -> None:
    assert forwarding.target(BASE, path.encode(), b"q=%0A&a[]=1").path == f"/v2{path}?q=%0A&a[]=1"


@given(st.binary(max_size=40), st.binary(max_size=20))
def test_t163_no_path_whatever_leads_to_another_host_or_above_the_base(path: bytes, query: bytes) -> None:
    try:
        target = forwarding.target(BASE, path, query)
    except forwarding.Unfit:
        return
    read = urlsplit(f"{target.scheme}://{target.authority}{target.path}")
    assert (read.scheme, read.netloc, target.host) == ("https", "api.example.com", "api.example.com")
    assert read.path == "/v2" or read.path.startswith("/v2/")
    assert re.fullmatch(r"[!-~]*", target.path)


@given(st.lists(st.sampled_from(["a", ".", "..", "%2e", "%252e", "/", "%2f", "%5c", ";", "@", ":", "//"]), max_size=8))
def test_t163_no_mixture_of_what_servers_decode_climbs(parts: list[str]) -> None:
    try:
        target = forwarding.target(BASE, ("/" + "".join(parts)).encode(), b"")
    except forwarding.Unfit:
        return
    assert forwarding.plain(target).startswith("api.example.com/v2")
    assert not {"..", "."} & set(forwarding.plain(target).split("/"))


def raw(served: Served, known: Known, request_line: str, *headers: str) -> str:
    """The status line and body of a request that is sent byte by byte as it is."""
    address = urlsplit(served.url)
    with socket.create_connection((address.hostname, address.port), 10) as sock:
        lines = [request_line, f"Host: {address.netloc}", f"Authorization: Bearer {known.who.api_key}", *headers]
        sock.sendall("\r\n".join([*lines, "Connection: close", "", ""]).encode("utf-8"))
        sock.settimeout(20)
        answer = b""
        while piece := sock.recv(65536):
            answer += piece
    return answer.decode("latin-1")


@pytest.mark.parametrize(
    "path", ["//evil.example/x", "/../../../v1/agent", "/%2e%2e/admin", "/..%2f..%2fadmin", "/a%5cb"]
)
def test_t163_such_a_path_reaches_no_server(
    served: Served, known: Known, held: Connection, upstream: Api, path: str
) -> None:
    answer = raw(served, known, f"GET /v1/connections/{held.pk}/proxy{path} HTTP/1.1")
    assert "bad_path" in answer
    assert not upstream.requests


def test_t163_an_absolute_request_line_is_read_as_its_path(
    served: Served, known: Known, held: Connection, upstream: Api
) -> None:
    answer = raw(served, known, f"GET http://evil.example/v1/connections/{held.pk}/proxy/me HTTP/1.1")
    assert answer.startswith("HTTP/1.1 200")
    assert upstream.last.path == "/v2/me"


@pytest.mark.parametrize(
    "path",
    ["/o/token", "/O/TOKEN/", "/o/t%6Fken", "/o/token;x", "/revoke", "/o/token?x=1", "/o%2f/token", "/o;x/%2F%2ftoken"],
)
def test_t163_the_endpoints_for_tokens_are_not_called(
    agent: httpx2.Client, known: Known, upstream: Api, path: str
) -> None:
    row = rows.provider(slug="same", api_urls=[upstream.url])
    ProviderRow.objects.filter(pk=row.pk).update(
        token_url=f"{upstream.url}/o/token", revocation_url=f"{upstream.url}/revoke"
    )
    made = rows.connection(known, row)
    answer = agent.post(f"/v1/connections/{made.pk}/proxy{path}")
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_path")
    assert not upstream.requests


@pytest.mark.parametrize("base", ["http://api.example.com", "https://api.example.com@evil.example", "https://10.0.0.1"])
def test_t163_a_base_that_may_not_be_called_is_refused(base: str) -> None:
    with pytest.raises(Refused):
        forwarding.target(base, b"/x", b"")


def test_t164_a_redirect_is_not_followed_and_stays_at_the_api(agent: httpx2.Client, at: At, upstream: Api) -> None:
    upstream.scripted["/v2/moved"] = Response(302, b"", {"Location": "../v2/there?a=1#part"})
    answer = agent.get(at("/moved"))
    assert (answer.status_code, answer.headers["location"]) == (302, f"{upstream.url}/v2/there?a=1")
    assert len(upstream.requests) == 1


@pytest.mark.parametrize(
    "location",
    [
        "https://evil.example/x", "//evil.example/x", "http:\\\\evil.example", "https://evil.example\t@api.example.com",
        "javascript:alert(1)", "http://127.0.0.1:1/x", "https://user@{host}/x", "https://{host}.evil.example/",
        "http://169.254.169.254/latest/meta-data", "data:text/html,x", "http://[::1",
    ],
)  # fmt: skip
def test_t164_a_redirect_elsewhere_says_nothing_of_where(
    agent: httpx2.Client, at: At, upstream: Api, location: str
) -> None:
    upstream.scripted["/v2/moved"] = Response(302, b"", {"Location": location.replace("{host}", upstream.host)})
    answer = agent.get(at("/moved"))
    assert answer.status_code == 302
    assert "location" not in answer.headers
    assert len(upstream.requests) == 1


def test_t164_a_redirect_that_names_the_token_says_nothing(
    agent: httpx2.Client, at: At, upstream: Api, token: str
) -> None:
    upstream.scripted["/v2/moved"] = Response(302, b"", {"Location": f"/v2/x?access_token={token}"})
    assert "location" not in agent.get(at("/moved")).headers


def test_t167_another_agents_connection_does_not_exist(served: Served, at: At, held: Connection, upstream: Api) -> None:
    with rows.agent().client(served.url) as stranger:
        theirs, none = stranger.get(at("/me")), stranger.get("/v1/connections/cn_none/proxy/me")
    for answer in (theirs, none):
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert theirs.json()["detail"] == none.json()["detail"]
    assert not upstream.requests


def test_t167_nor_does_it_while_its_own_agent_calls(
    agent: httpx2.Client, served: Served, at: At, upstream: Api
) -> None:
    assert agent.get(at("/me")).status_code == 200
    with rows.agent().client(served.url) as stranger:
        assert stranger.get(at("/me")).status_code == 404
    assert len(upstream.requests) == 1


def test_t167_a_host_that_was_named_after_the_user_connected_gets_no_token(
    agent: httpx2.Client, at: At, drive: ProviderRow, held: Connection, upstream: Api
) -> None:
    with Api() as other:
        drive.api_urls = [other.url, f"{upstream.url}/v2"]
        drive.save()
        api_access._providers.clear()
        answer = agent.get(at("/me"))
        assert (answer.status_code, answer.json()["code"]) == (409, "reauthorization_required")
        assert agent.get(at("/me"), headers={"Elicit-Api-Host": other.host}).status_code == 409
        assert not other.requests
        assert agent.get(at("/me"), headers={"Elicit-Api-Host": upstream.host}).status_code == 200


def test_t167_a_host_that_no_setting_names_gets_no_token(agent: httpx2.Client, at: At, upstream: Api) -> None:
    with Api() as other:
        for named in (other.host, other.url, f"{upstream.host}@{other.host}", f"{upstream.host}/x"):
            answer = agent.get(at("/me"), headers={"Elicit-Api-Host": named})
            assert (answer.status_code, answer.json()["code"]) == (422, "invalid")
        twice = [("Elicit-Api-Host", upstream.host), ("Elicit-Api-Host", other.host)]
        assert agent.get(at("/me"), headers=twice).status_code == 400
        assert not [*other.requests, *upstream.requests]
