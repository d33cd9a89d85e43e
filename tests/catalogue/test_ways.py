"""Entries with a way to tokens of their own: a signed assertion (RFC 7523), or a request that the entry describes."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qsl

import pytest
from joserfc import jwt
from joserfc.jwk import RSAKey

from elicit_flows import catalogue, oauth
from elicit_flows.domain.values import Secret
from elicit_flows.kinds.credentials import client_credentials
from elicit_flows.kinds.credentials.config import TokenRequest
from elicit_flows.kinds.oauth.connection_metadata import Named
from tests.doubles.policy import loopback_allowed
from tests.doubles.server import Request, Response, Server, json_response

KEY = RSAKey.generate_key(2048)
PEM = KEY.as_pem(private=True).decode()
SERVICE_ACCOUNT = json.dumps(
    {
        "type": "service_account",
        "client_email": "robot@project.iam.gserviceaccount.com",
        "private_key": PEM,
        "private_key_id": "k-1",
        "token_uri": "https://evil.example.com/token",
        "audience": "https://evil.example.com",
    }
)
TYPED = {
    "google-service-account": {"service_account": SERVICE_ACCOUNT},
    # A field of one line takes the line breaks out.
    "salesforce-jwt": {"client_id": "3MVG9", "username": "ada@example.com", "private_key": PEM.replace("\n", "")},
    "docker-hub": {"username": "ada", "access_key": 'dckr_"pat'},
}
CLAIMS = {
    "google-service-account": {
        "iss": "robot@project.iam.gserviceaccount.com",
        "aud": "https://oauth2.googleapis.com/token",
        "scope": "https://www.googleapis.com/auth/cloud-platform",
    },
    "salesforce-jwt": {"iss": "3MVG9", "sub": "ada@example.com", "aud": "https://login.salesforce.com"},
}
WAYS = [slug for slug, entry in catalogue.entries().items() if entry.needs]


def request_to(server: Server, slug: str) -> TokenRequest:
    entry = catalogue.entries()[slug]
    said, quirks = entry.settings(), entry.oddities()
    named = tuple(map(Named.of, said["metadata"]))
    return TokenRequest(f"{server.url}/t", scopes=tuple(said["scopes"]), quirks=quirks, metadata=named)


def typed(slug: str, **instead: str) -> dict[str, Secret]:
    return {name: Secret(value) for name, value in (TYPED[slug] | instead).items()}


def test_each_of_these_entries_is_tried_here() -> None:
    assert sorted(TYPED) == WAYS


@pytest.mark.parametrize("slug", CLAIMS)
def test_t172_an_assertion_goes_where_the_entry_says_whatever_was_typed(slug: str) -> None:
    seen: list[dict[str, str]] = []

    def answer(request: Request) -> Response:
        seen.append(dict(parse_qsl(request.body.decode())))
        return json_response(
            {
                "access_token": "at",
                "token_type": "Bearer",
                "expires_in": 3600,
                "instance_url": "https://x.salesforce.com",
            }
        )

    with loopback_allowed(), Server() as server:
        server.scripted["unknown"] = answer
        grant = client_credentials.ask(request_to(server, slug), typed(slug))
    assert (grant.access_token.reveal(), grant.refresh_token, len(seen)) == ("at", None, 1)
    assert grant.metadata == ({"instance_url": "https://x.salesforce.com"} if slug == "salesforce-jwt" else {})
    assert seen[0].keys() == {"grant_type", "assertion"}
    assert seen[0]["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer"
    read = jwt.decode(seen[0]["assertion"], KEY)
    assert read.claims.items() >= CLAIMS[slug].items()
    assert read.header == {"typ": "JWT", "alg": "RS256"} | ({"kid": "k-1"} if "google" in slug else {})
    assert 30 <= read.claims["exp"] - read.claims["iat"] <= 3600


def test_a_described_call_gets_a_token_that_ends_when_the_entry_says() -> None:
    with loopback_allowed(), Server() as server:
        server.scripted["unknown"] = json_response({"access_token": "hub"})
        grant = client_credentials.ask(request_to(server, "docker-hub"), typed("docker-hub"))
        (_, request) = server.requests[0]
    assert json.loads(request.body) == {"identifier": "ada", "secret": 'dckr_"pat'}
    assert grant.access_token.reveal() == "hub"
    assert grant.expires_at


@pytest.mark.parametrize("slug", WAYS)
@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (json_response({"error": "invalid_grant"}, 400), oauth.InvalidGrant),
        (json_response({"message": "incorrect"}, 401), oauth.ClientRefused),
        (Response(503), oauth.Transient),
    ],
    ids=["signature", "401", "503"],
)  # fmt: skip
def test_what_the_provider_refuses_is_told_apart(slug: str, answer: Response, error: Any) -> None:
    with loopback_allowed(), Server() as server:
        server.scripted["unknown"] = answer
        with pytest.raises(error):
            client_credentials.ask(request_to(server, slug), typed(slug))


BAD = {
    "no JSON": "-----BEGIN",
    "a list": "[]",
    "no key": json.dumps({"client_email": "a", "private_key_id": "b"}),
    "a public key": json.dumps(
        {"client_email": "a", "private_key_id": "b", "private_key": KEY.as_pem(private=False).decode()}
    ),
    "another key": json.dumps({"client_email": "a", "private_key_id": "b", "private_key": "x"}),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_key_file_is_said_before_anything_is_sent(name: str) -> None:
    with loopback_allowed(), Server() as server:
        request = request_to(server, "google-service-account")
        assert client_credentials.unfit(request, {"service_account": BAD[name]}, "service_account")
        assert not client_credentials.unfit(request, TYPED["google-service-account"], "service_account")
        with pytest.raises(oauth.ProviderError) as refused:
            client_credentials.ask(request, {"service_account": Secret(BAD[name])})
        assert BAD[name] not in str(refused.value)
        assert server.requests == []
