"""Agents call a provider's API through the service, which adds the credential (api/streaming/api_proxy.py)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import httpx2
import pytest
from django.db import transaction

from elicit_flows import vault
from elicit_flows.domain.values import Grant, Secret
from elicit_flows.lib import clock
from elicit_flows.models import Connection, ConnectionCall, ConnectionUse
from elicit_flows.models import Provider as ProviderRow
from elicit_flows.vault import api_access
from tests.doubles.provider import Provider
from tests.doubles.server import Request, Response, json_response
from tests.proxied.conftest import Api
from tests.support import rows
from tests.support.process import until
from tests.support.rows import Known
from tests.support.serving import Served

At = Callable[[str], str]


def test_a_call_gets_the_token_and_the_answer_comes_back(
    agent: httpx2.Client, at: At, upstream: Api, token: str
) -> None:
    answer = agent.get(at("/me?fields=id%2Cname"))
    assert answer.status_code == 200
    assert answer.json() == {"path": "/v2/me", "query": {"fields": "id,name"}, "method": "GET"}
    assert answer.headers["elicit-answered-by"] == upstream.host
    assert answer.headers["cache-control"] == "no-store"
    assert upstream.last.headers["authorization"] == f"Bearer {token}"


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
def test_methods_and_bodies_are_passed_on(agent: httpx2.Client, at: At, upstream: Api, method: str) -> None:
    body = b"" if method == "GET" else b'{"name": "\xc3\xbc"}'
    answer = agent.request(method, at("/files"), content=body, headers={"content-type": "application/json"})
    assert answer.json()["method"] == method
    assert upstream.last.body == body
    assert upstream.last.headers["content-type"] == "application/json"


def test_head_is_answered_without_a_body(agent: httpx2.Client, at: At, upstream: Api) -> None:
    for _ in range(2):
        answer = agent.head(at("/files"))
        assert (answer.status_code, answer.content) == (200, b"")
        assert int(answer.headers["content-length"]) > 0


def test_other_methods_are_refused(agent: httpx2.Client, at: At, upstream: Api) -> None:
    answer = agent.request("OPTIONS", at("/files"))
    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")
    assert not upstream.requests


def test_the_apis_errors_come_as_they_are_and_ours_are_told_apart(agent: httpx2.Client, at: At, upstream: Api) -> None:
    upstream.scripted["/v2/gone"] = json_response({"message": "no such file"}, 404)
    theirs = agent.get(at("/gone"))
    assert (theirs.status_code, theirs.json()) == (404, {"message": "no such file"})
    assert theirs.headers["elicit-answered-by"] == upstream.host
    ours = agent.get("/v1/connections/cn_none/proxy/gone")
    assert (ours.status_code, ours.json()["code"]) == (404, "not_found")
    assert "elicit-answered-by" not in ours.headers
    assert ours.headers["content-type"] == "application/problem+json"


def test_without_a_valid_key_nothing_is_called(served: Served, at: At, upstream: Api) -> None:
    for headers in ({}, {"authorization": "Bearer nobody"}):
        answer = httpx2.get(served.url + at("/me"), headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
    assert not upstream.requests


def test_an_api_that_does_not_answer_is_a_problem_of_ours(
    agent: httpx2.Client, at: At, drive: ProviderRow, held: Connection
) -> None:
    drive.api_urls = ["http://127.0.0.1:9/"]
    drive.save()
    Connection.objects.update(bound_to={"api": "http://127.0.0.1:9"})
    api_access._providers.clear()
    answer = agent.get(at("/me"))
    assert (answer.status_code, answer.json()["code"]) == (503, "provider_unavailable")


def test_a_provider_whose_api_nobody_named_cannot_be_called(agent: httpx2.Client, at: At, drive: ProviderRow) -> None:
    ProviderRow.objects.update(api_urls=[])
    api_access._providers.clear()
    answer = agent.get(at("/me"))
    assert (answer.status_code, answer.json()["code"]) == (409, "no_api")
    assert "api_urls" in answer.json()["detail"]


def test_one_of_several_hosts_is_chosen_with_a_header(
    agent: httpx2.Client, upstream: Api, drive: ProviderRow, known: Known
) -> None:
    with Api() as uploads:
        drive.api_urls = [upstream.url, f"{uploads.url}/upload"]
        drive.save()
        api_access._providers.clear()
        row = rows.connection(known, drive)
        path = f"/v1/connections/{row.pk}/proxy/files"
        assert agent.get(path).headers["elicit-answered-by"] == upstream.host
        answer = agent.get(path, headers={"Elicit-Api-Host": uploads.host})
        assert answer.json()["path"] == "/upload/files"
        assert answer.headers["elicit-answered-by"] == uploads.host
    answer = agent.get(path, headers={"Elicit-Api-Host": "127.0.0.1:1"})
    assert answer.status_code == 422
    assert upstream.host in answer.json()["detail"]


def test_a_token_that_expires_soon_is_refreshed_first(
    agent: httpx2.Client, served: Served, known: Known, upstream: Api
) -> None:
    with Provider(client_secret="the-double's-client-secret") as double:
        row = rows.connection(known, rows.provider(double, "own", api_urls=[upstream.url]), rows.grant(double))
        before = upstream_token(row)
        rows.expire(row)
        assert agent.get(f"/v1/connections/{row.pk}/proxy/me").status_code == 200
        assert double.calls["token"] == 1
        row.refresh_from_db()
        assert upstream.last.headers["authorization"] == f"Bearer {upstream_token(row)}" != f"Bearer {before}"


def upstream_token(row: Connection) -> str:
    secret = vault.connections.opened(row, "access_token")
    return secret.reveal() if secret else ""


@pytest.fixture
def renewable(served: Served, known: Known, upstream: Api) -> tuple[Provider, Connection]:
    """A connection whose token is older than the pause between two reports."""
    with Provider(client_secret="the-double's-client-secret") as double:
        row = rows.connection(known, rows.provider(double, "own", api_urls=[upstream.url]), rows.grant(double))
        Connection.objects.filter(pk=row.pk).update(issued_at=clock.now() - timedelta(minutes=5))
        yield double, row


def test_a_refused_token_is_refreshed_once_and_the_call_is_made_again(
    agent: httpx2.Client, upstream: Api, renewable: tuple[Provider, Connection]
) -> None:
    double, row = renewable
    first = f"Bearer {upstream_token(row)}"

    def check(request: Request) -> Response:
        fresh = request.headers["authorization"] != first
        return json_response({"body": request.body.decode()}) if fresh else Response(401)

    upstream.scripted["/files"] = check
    answer = agent.post(f"/v1/connections/{row.pk}/proxy/files", content=b"the same body")
    assert (answer.status_code, answer.json()) == (200, {"body": "the same body"})
    assert double.calls["token"] == 1
    upstream.scripted["/files"] = Response(401)
    assert agent.get(f"/v1/connections/{row.pk}/proxy/files").status_code == 401
    assert double.calls["token"] == 1, "a token that is this young is not refreshed again"
    assert len(upstream.requests) == 3


def test_a_401_of_a_token_that_cannot_be_refreshed_is_passed_on_and_ends_nothing(
    agent: httpx2.Client, at: At, upstream: Api, held: Connection
) -> None:
    Connection.objects.update(refresh_token="", issued_at=clock.now() - timedelta(minutes=5), expires_at=None)
    upstream.scripted["/v2/admin"] = Response(401, b"for administrators", {"WWW-Authenticate": "Bearer scope=admin"})
    answer = agent.get(at("/admin"))
    assert (answer.status_code, answer.text) == (401, "for administrators")
    assert answer.headers["www-authenticate"] == "Bearer scope=admin"
    held.refresh_from_db()
    assert held.status == "active"


def test_a_revoked_or_dead_connection_is_answered_as_for_a_token(
    agent: httpx2.Client, at: At, upstream: Api, held: Connection
) -> None:
    for status, code in (("revoked", 410), ("reauthorization_required", 409)):
        Connection.objects.update(status=status)
        assert agent.get(at("/me")).status_code == code
    assert not upstream.requests


def test_a_call_counts_as_a_use_and_is_logged_without_ids(
    agent: httpx2.Client, at: At, upstream: Api, held: Connection
) -> None:
    upstream.scripted["/v2/files/8f14e45f/parts/x%40y"] = Response(404)
    for _ in range(3):
        agent.get(at("/files/8f14e45fceea167a/parts?secret=1"))
    agent.delete(at("/files/17"))
    until(lambda: sum(row.count for row in ConnectionCall.objects.all()) == 4, "all calls are stored")
    found = {(row.method, row.host, row.path, row.status, row.count) for row in ConnectionCall.objects.all()}
    host = upstream.host
    assert found == {("GET", host, "/v2/files/{id}/parts", 200, 3), ("DELETE", host, "/v2/files/{id}", 200, 1)}
    [use] = ConnectionUse.objects.filter(action="called")
    assert (use.connection_id, use.actor, use.count) == (held.pk, "agent", 1)


def test_what_a_user_typed_is_sent_as_the_settings_say(
    agent: httpx2.Client, served: Served, known: Known, upstream: Api
) -> None:
    fields = [{"name": "key", "label": "Key", "secret": True}]
    sent = {
        "header": {"url": f"{upstream.url}/check", "headers": {"X-Api-Key": "k {key}", "Version": "7"}},
        "basic": {"url": f"{upstream.url}/check", "basic": ["key", "key"]},
        "query": {"url": f"{upstream.url}/check?api_key={{key}}&v=1"},
    }
    for name, verify in sent.items():
        row = ProviderRow.objects.create(slug=name, name=name, sort="credentials", fields=fields, verify=verify)
        made = vault.keep_credentials(known.row, rows.ALICE_CLAIM, row, "", {"key": Secret("s3cr&t-key")})
        answer = agent.get(f"/v1/connections/{made.pk}/proxy/me?api_key=mine&x=1")
        assert answer.status_code == 200, answer.text
        seen = upstream.last
        if name == "header":
            assert (seen.headers["x-api-key"], seen.headers["version"]) == ("k s3cr&t-key", "7")
        if name == "basic":
            assert seen.headers["authorization"].startswith("Basic ")
        wanted = {"x": "1", "api_key": "s3cr&t-key" if name == "query" else "mine"}
        assert seen.query == wanted


def test_a_dpop_token_is_sent_with_a_proof_and_the_nonce_that_is_asked_for(
    agent: httpx2.Client, known: Known, upstream: Api, drive: ProviderRow
) -> None:
    key = vault.dpop.oauth.new_dpop_key()
    given = rows.grant()
    bound = Grant(given.access_token, given.refresh_token, "DPoP", given.expires_at, given.scopes, dpop_key=Secret(key))
    row = rows.connection(known, drive, bound)

    def check(request: Request) -> Response:
        if upstream.requests[0][1] is request:
            asks = {"WWW-Authenticate": 'DPoP error="use_dpop_nonce"', "DPoP-Nonce": "n-1"}
            return Response(401, b"", asks)
        return json_response({})

    upstream.scripted["/v2/me"] = check
    assert agent.get(f"/v1/connections/{row.pk}/proxy/me?x=1").status_code == 200
    first, second = (one for _, one in upstream.requests)
    assert first.headers["authorization"] == f"DPoP {given.access_token.reveal()}"
    assert first.headers["dpop"] != second.headers["dpop"]


def test_one_agent_may_make_so_many_calls_at_once(
    agent: httpx2.Client, at: At, served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served.service._api_proxy.admission, "per_agent", 0)
    answer = agent.get(at("/me"))
    assert (answer.status_code, answer.json()["code"]) == (429, "too_many_requests")
    assert "retry-after" in answer.headers


def test_the_user_of_a_call_is_shown_where_the_operator_wants_that(
    agent: httpx2.Client, at: At, known: Known, upstream: Api
) -> None:
    type(known.row).objects.update(require_user_token=True)
    answer = agent.get(at("/me"))
    assert (answer.status_code, answer.json()["code"]) == (403, "user_token_required")
    answer = agent.get(at("/me"), headers={"Elicit-User-Token": "made-up"})
    assert (answer.status_code, answer.json()["code"]) == (400, "user_token_refused")
    assert not upstream.requests


def test_the_shop_that_a_user_named_is_called_with_the_header_of_that_provider(known: Known, served: Served) -> None:
    shop = rows.provider(slug="shop", preset="shopify", given=[])
    given = replace(rows.grant(), variables={"shop": "alices-shop"}, bound_to=None)
    with transaction.atomic():
        row = vault.keep(known.row, rows.ALICE_CLAIM, vault.for_person(shop, given.variables), given)
    access = vault.access_to_api(known.row, row.pk)
    assert access.addresses == {"alices-shop.myshopify.com": "https://alices-shop.myshopify.com/admin/api"}
    assert access.headers == {"x-shopify-access-token": given.access_token.reveal()}


def test_the_instance_that_a_provider_named_is_called(known: Known, served: Served) -> None:
    row = rows.provider(slug="sales", preset="salesforce", given=[])
    here = {"instance_url": "https://acme.my.salesforce.com/"}
    made = rows.connection(known, row, replace(rows.grant(), metadata=here))
    access = vault.access_to_api(known.row, made.pk)
    assert access.addresses == {"acme.my.salesforce.com": "https://acme.my.salesforce.com/"}
    Connection.objects.filter(pk=made.pk).update(metadata={"instance_url": "https://evil.example"})
    assert vault.access_to_api(known.row, made.pk).addresses == {}


def test_the_operators_client_id_is_sent_where_an_api_wants_it(known: Known, served: Served) -> None:
    row = rows.provider(slug="twitch", preset="twitch", given=[], api_urls=["https://api.twitch.tv"])
    access = vault.access_to_api(known.row, rows.connection(known, row).pk)
    assert access.headers["client-id"] == "elicit"
    assert access.headers["authorization"].startswith("Bearer at-")
