"""Whose access tokens a gateway on HTTP takes, with an issuer that says what a test tells it to."""

from __future__ import annotations

import time
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from elicit_flows.sdk.gateway.signed_in import SignedTokens
from tests.sdk.fake import FakeService, Reply

pytestmark = pytest.mark.anyio
RESOURCE = "https://gateway.test/mcp"
DISCOVERY, KEYS = "/.well-known/openid-configuration", "/keys"
PAGE = Reply("<html>Back soon.</html>", headers={"Content-Type": "text/html"})


@pytest.fixture(scope="module")
def key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@pytest.fixture
def keys(key: rsa.RSAPrivateKey) -> Reply:
    public = jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
    return Reply({"keys": [{**public, "kid": "k1", "use": "sig", "alg": "RS256"}]})


def signed(key: Any, issuer: str, *, kid: str = "k1", algorithm: str = "RS256", **changed: Any) -> str:
    claims = {"iss": issuer, "aud": RESOURCE, "sub": "alice", "exp": int(time.time()) + 60, "client_id": "desk"}
    left = {name: value for name, value in (claims | changed).items() if value is not None}
    return jwt.encode(left, key, algorithm=algorithm, headers={"kid": kid})


@pytest.mark.parametrize(
    "changed",
    [
        {"aud": "https://other.test/mcp"}, {"aud": None}, {"iss": "https://other.test"}, {"sub": None},
        {"exp": None}, {"exp": 1}, {"nbf": 4_000_000_000},
    ],
    ids=lambda changed: "-".join(f"{name}={value}" for name, value in changed.items()),
)  # fmt: skip
async def test_only_the_issuers_tokens_for_this_gateway_are_taken(
    service: FakeService, key: rsa.RSAPrivateKey, keys: Reply, changed: dict[str, Any]
) -> None:
    service.on("GET", DISCOVERY, Reply({"issuer": service.url, "jwks_uri": f"{service.url}{KEYS}"}))
    service.on("GET", KEYS, keys)
    tokens = SignedTokens(service.url, RESOURCE)
    taken = await tokens.verify_token(signed(key, service.url))
    assert taken is not None
    assert (taken.subject, taken.client_id) == ("alice", "desk")
    assert await tokens.verify_token(signed(key, **{"issuer": service.url, **changed})) is None
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    assert await tokens.verify_token(signed(other, service.url)) is None
    assert await tokens.verify_token(signed("k" * 32, service.url, algorithm="HS256")) is None
    assert await tokens.verify_token(signed(None, service.url, algorithm="none")) is None
    assert await tokens.verify_token("no token") is None


@pytest.mark.parametrize("found", [PAGE, Reply([]), Reply({}), Reply("", 503)], ids=["page", "list", "empty", "away"])
@pytest.mark.parametrize("at", [DISCOVERY, KEYS])
async def test_a_token_is_refused_while_the_issuer_says_nothing_of_use_and_taken_afterwards(
    service: FakeService, key: rsa.RSAPrivateKey, keys: Reply, found: Reply, at: str
) -> None:
    good = {DISCOVERY: Reply({"issuer": service.url, "jwks_uri": f"{service.url}{KEYS}"}), KEYS: keys}
    service.on("GET", at, found)
    for path, reply in good.items():
        service.on("GET", path, reply, reply)
    tokens = SignedTokens(service.url, RESOURCE)
    assert await tokens.verify_token(signed(key, service.url)) is None
    assert await tokens.verify_token(signed(key, service.url)) is not None


async def test_another_issuers_metadata_is_not_used(service: FakeService, key: rsa.RSAPrivateKey, keys: Reply) -> None:
    for said in ("https://other.test", f"{service.url}/", None):
        service.on("GET", DISCOVERY, Reply({"issuer": said, "jwks_uri": f"{service.url}{KEYS}"}))
        service.on("GET", KEYS, keys)
        assert await SignedTokens(service.url, RESOURCE).verify_token(signed(key, service.url)) is None, said


async def test_tokens_with_made_up_keys_do_not_have_the_issuer_asked_each_time(
    service: FakeService, key: rsa.RSAPrivateKey, keys: Reply
) -> None:
    service.on("GET", DISCOVERY, Reply({"issuer": service.url, "jwks_uri": f"{service.url}{KEYS}"}))
    service.on("GET", KEYS, *[keys] * 20)
    tokens = SignedTokens(service.url, RESOURCE)
    for number in range(9):
        assert await tokens.verify_token(signed(key, service.url, kid=f"made-up-{number}")) is None
    assert await tokens.verify_token(signed(key, service.url)) is not None
    assert len(service.asked) <= 3
