"""What an identity provider and an authorization server are sent for an ID-JAG, and which answers are not accepted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from elicit_flows import oauth
from elicit_flows.oauth.id_jag import ID_JAG
from tests.doubles.id_jag import assertion, issued
from tests.doubles.policy import loopback_allowed
from tests.doubles.provider import Provider
from tests.doubles.server import Response, json_response

ID_TOKEN, SECRET = "token.of-alice.x", "the-secret-of-this-client"
SERVER, RESOURCE = "https://auth.example.com", "https://mcp.example.com/mcp"
CLIENT = oauth.Client("elicit", SECRET)


@pytest.fixture
def idp() -> Iterator[Provider]:
    with Provider("elicit", SECRET) as running, loopback_allowed():
        yield running


def wanted(idp: Provider) -> oauth.WantedIdJag:
    return oauth.WantedIdJag(idp.issuer, SERVER, "elicit-there", RESOURCE, "alice")


def vouched(idp: Provider, **claims: Any) -> str:
    return assertion(idp.issuer, SERVER, "elicit-there", RESOURCE, **claims)


def answering(idp: Provider, token: str, **more: Any) -> None:
    idp.scripted["token"] = issued(token, **more)


def exchange(idp: Provider, *scopes: str) -> tuple[str, tuple[str, ...]]:
    endpoint = f"{idp.url}/token"
    return oauth.exchange_for_id_jag(
        endpoint, CLIENT, wanted(idp), token=ID_TOKEN, token_type=oauth.ID_TOKEN, scopes=scopes
    )


def test_the_request_says_for_whom_and_for_what(idp: Provider) -> None:
    token = vouched(idp)
    answering(idp, token, scope="notes.read")
    assert exchange(idp, "notes.read", "notes.write") == (token, ("notes.read",))
    (request,) = idp.seen("token")
    assert request.form == {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "requested_token_type": ID_JAG,
        "subject_token": ID_TOKEN,
        "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
        "audience": SERVER,
        "resource": RESOURCE,
        "scope": "notes.read notes.write",
    }
    assert request.headers["authorization"].startswith("Basic ")


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://another.example"},
        {"aud": "https://another.example"},
        {"aud": [SERVER, "https://another.example"]},
        {"client_id": "another"},
        {"client_id": None},
        {"sub": "bob"},
        {"resource": "https://another.example/mcp"},
        {"exp": 1},
        {"exp": None},
        {"typ": "JWT"},
    ],
)
def test_t226_an_assertion_for_something_else_is_not_accepted(idp: Provider, claims: dict[str, Any]) -> None:
    answering(idp, vouched(idp, **claims))
    with pytest.raises(oauth.ProviderError) as refused:
        exchange(idp)
    assert refused.value.code == "bad_response"


@pytest.mark.parametrize("token", ["opaque", "a.b.c", "e30.W10.c2ln", "e30.e30.a.b.c"])
def test_t226_what_cannot_be_read_is_not_accepted(idp: Provider, token: str) -> None:
    answering(idp, token)
    with pytest.raises(oauth.ProviderError):
        exchange(idp)


def test_t226_another_type_of_token_is_not_accepted(idp: Provider) -> None:
    answering(idp, vouched(idp), issued_token_type="urn:ietf:params:oauth:token-type:access_token")
    with pytest.raises(oauth.ProviderError):
        exchange(idp)


@pytest.mark.parametrize(
    "code", ["access_denied", "invalid_target", "invalid_request", "invalid_grant", "invalid_scope"]
)
def test_what_the_organisation_refuses_is_told_apart(idp: Provider, code: str) -> None:
    idp.scripted["token"] = json_response({"error": code}, 400)
    with pytest.raises(oauth.NotAllowed) as refused:
        exchange(idp)
    assert (refused.value.said, refused.value.code) == (code, "organisation_refused")


@pytest.mark.parametrize("code", ["invalid_client", "unsupported_grant_type"])
def test_what_the_operator_has_to_correct_is_no_refusal(idp: Provider, code: str) -> None:
    idp.scripted["token"] = json_response({"error": code}, 400)
    with pytest.raises(oauth.ProviderError) as refused:
        exchange(idp)
    assert refused.value.code == code


def test_t225_no_error_repeats_what_was_shown(idp: Provider) -> None:
    idp.scripted["token"] = lambda request: json_response(
        {"error": "invalid_client", "error_description": f"not this one: {request.form.get('subject_token')}"}, 401
    )
    with pytest.raises(oauth.ProviderError) as refused:
        exchange(idp)
    assert "not this one" in refused.value.said
    assert "alice" not in f"{refused.value} {refused.value.said}"


def test_t225_nor_the_assertion(idp: Provider) -> None:
    idp.scripted["token"] = lambda request: json_response(
        {"error": "invalid_client", "error_description": f"not this one: {request.form.get('assertion')}"}, 401
    )
    with pytest.raises(oauth.ProviderError) as refused:
        oauth.redeem_id_jag(f"{idp.url}/token", CLIENT, "assertion-of-alice", resources=[RESOURCE])
    assert "not this one" in refused.value.said
    assert "alice" not in f"{refused.value} {refused.value.said}"
    (request,) = idp.seen("token")
    assert request.form["resource"] == RESOURCE


def test_a_server_that_does_not_answer_refuses_nobody(idp: Provider) -> None:
    idp.scripted["token"] = Response(503)
    with pytest.raises(oauth.Transient):
        exchange(idp)
