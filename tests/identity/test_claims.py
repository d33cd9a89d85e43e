"""The claims that an ID token needs. Every other token is refused (T44 to T46)."""

from __future__ import annotations

import base64
import hashlib
import json
from types import SimpleNamespace
from typing import Any

import pytest
from joserfc import jws
from joserfc.jwk import ECKey

from elicit_flows import identity
from elicit_flows.identity import openid
from tests.doubles import provider as doubled
from tests.doubles.provider import SIGNING, Provider
from tests.identity import signing
from tests.identity.signing import ACCESS, NONCE, by_hand, payload, refused, scripted, sign_in, unsigned

NOW = 1_800_000_000  # a fixed hour: the names of the tests are the same in every process that collects them
EVIL = "https://evil.example.com"

ACCEPTED: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}),
    ({}, {"typ": "JWT"}),
    ({}, {"typ": "jwt"}),
    ({}, {"kid": None}),
    ({"aud": ["elicit"]}, {}),
    ({"azp": "elicit"}, {}),
    ({"at_hash": None}, {}),
    ({"auth_time": None}, {}),
    ({"nbf": NOW - 5}, {}),
    ({"iat": NOW - 300}, {}),
    ({"exp": NOW + 300.5}, {}),
    ({"sub": "x" * 255}, {}),
    ({"extra": {"a": [1]}}, {}),
    ({"email": "alice@example.com"}, {}),
]

REFUSED: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"iss": None}, {}),
    ({"iss": EVIL}, {}),
    ({"iss": ["{issuer}"]}, {}),
    ({"iss": "{issuer}/"}, {}),
    ({"aud": None}, {}),
    ({"aud": "other"}, {}),
    ({"aud": []}, {}),
    ({"aud": ["other"]}, {}),
    ({"aud": ["elicit", "other"]}, {}),
    ({"aud": ["elicit", "elicit "]}, {}),
    ({"aud": {"elicit": 1}}, {}),
    ({"aud": "ELICIT"}, {}),
    ({"azp": "other"}, {}),
    ({"azp": ""}, {}),
    ({"azp": ["elicit"]}, {}),
    ({"exp": None}, {}),
    ({"exp": NOW - 120}, {}),
    ({"exp": str(NOW + 300)}, {}),
    ({"exp": True}, {}),
    ({"exp": 10**400}, {}),
    ({"exp": [NOW + 300]}, {}),
    ({"iat": None}, {}),
    ({"iat": NOW - 315_360_000}, {}),
    ({"iat": NOW + 3600}, {}),
    ({"iat": "now"}, {}),
    ({"iat": True}, {}),
    ({"nbf": NOW + 3600}, {}),
    ({"nbf": "now"}, {}),
    ({"nonce": None}, {}),
    ({"nonce": ""}, {}),
    ({"nonce": NONCE.upper()}, {}),
    ({"nonce": [NONCE]}, {}),
    ({"nonce": 7}, {}),
    ({"nonce": "n\u00f6nce"}, {}),
    ({"sub": None}, {}),
    ({"sub": ""}, {}),
    ({"sub": 7}, {}),
    ({"sub": ["alice"]}, {}),
    ({"sub": "x" * 256}, {}),
    ({"sub": "ali\x00ce"}, {}),
    ({"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"}, {}),
    ({"at_hash": ""}, {}),
    ({"at_hash": 7}, {}),
    ({}, {"typ": "at+jwt"}),
    ({}, {"typ": "logout+jwt"}),
    ({}, {"typ": "application/at+jwt"}),
    ({}, {"kid": "unknown"}),
]


@pytest.fixture(autouse=True)
def noon(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is ``NOW``, at the provider and here."""
    stopped = SimpleNamespace(time=lambda: float(NOW))
    for module in (openid, doubled, signing):
        monkeypatch.setattr(module, "time", stopped)


def prepare(provider: Provider, claims: dict[str, Any], header: dict[str, Any]) -> None:
    def filled(value: Any) -> Any:
        if isinstance(value, list):
            return [filled(each) for each in value]
        return value.replace("{issuer}", provider.issuer) if isinstance(value, str) else value

    provider.claims = {name: filled(value) for name, value in claims.items()}
    provider.header = header


@pytest.mark.parametrize(("claims", "header"), ACCEPTED, ids=repr)
def test_t44_good_tokens_pass(provider: Provider, claims: dict[str, Any], header: dict[str, Any]) -> None:
    prepare(provider, claims, header)
    assert sign_in(provider).claim.iss == provider.issuer


@pytest.mark.parametrize(("claims", "header"), REFUSED, ids=lambda row: repr(row)[:60])
def test_t44_bad_claims_and_headers_are_refused(
    provider: Provider, claims: dict[str, Any], header: dict[str, Any]
) -> None:
    prepare(provider, claims, header)
    refused(provider)


@pytest.mark.parametrize(
    "header", [{"typ": 7}, {"kid": 7}, {"crit": ["b64"], "b64": True}, {"crit": []}, {"crit": ["exp"], "exp": 1}]
)
def test_t44_headers_that_no_library_writes_are_refused(provider: Provider, header: dict[str, Any]) -> None:
    head = json.dumps({"alg": "RS256", "kid": "first"} | header).encode()
    scripted(provider, by_hand(head, json.dumps(payload(provider)).encode()))
    refused(provider)


def signed(body: bytes | str, header: dict[str, Any] | None = None) -> str:
    return jws.serialize_compact({"alg": "RS256", "kid": "first"} | (header or {}), body, SIGNING, algorithms=["RS256"])


def test_t44_a_member_named_twice_is_refused(provider: Provider) -> None:
    body = json.dumps(payload(provider))
    for twice in (body[:-1] + ', "sub": "bob"}', '{"sub": "bob", ' + body[1:], body[:-1] + ', "nonce": "x"}'):
        scripted(provider, signed(twice))
        refused(provider)


def test_t44_a_header_member_named_twice_is_refused(provider: Provider) -> None:
    head = b'{"alg": "RS256", "kid": "first", "alg": "RS256"}'
    scripted(provider, by_hand(head, json.dumps(payload(provider)).encode()))
    refused(provider)


@pytest.mark.parametrize(
    "token",
    [
        "",
        "a",
        "a.b",
        "a.b.c",
        "a.b.c.d.e",
        "....",
        "e30.e30.",
        "W10.W10.eA",
        unsigned({"alg": "RS256"}, b"\xff\xfe", b"x"),
        unsigned({"alg": ["RS256"]}, b"{}", b"x"),
        unsigned({"alg": "RS256"}, b"[]", b"x"),
        unsigned({}, b"{}", b"x"),
        "a" * 40_000,
    ],
    ids=range(13),
)
def test_t44_what_is_no_token_is_refused(provider: Provider, token: str) -> None:
    scripted(provider, token)
    with pytest.raises(identity.SignInRefused):
        sign_in(provider)


def test_t44_a_changed_byte_breaks_the_signature(provider: Provider) -> None:
    good = signed(json.dumps(payload(provider)))
    scripted(provider, good)
    assert sign_in(provider).claim.sub == "alice"
    head, body, proof = good.split(".")
    other = base64.urlsafe_b64encode(json.dumps(payload(provider, sub="bob")).encode()).rstrip(b"=").decode()
    for broken in (f"{head}.{other}.{proof}", f"{head}.{body}.{proof[:-4]}AAAA", f"{head}.{body}.", f"{head}.{body}"):
        scripted(provider, broken)
        refused(provider)


def test_t44_at_hash_belongs_to_this_access_token(provider: Provider) -> None:
    digest = hashlib.sha256(b"another access token").digest()
    provider.claims = {"at_hash": base64.urlsafe_b64encode(digest[:16]).rstrip(b"=").decode()}
    refused(provider)


def test_t44_at_hash_uses_the_hash_of_the_algorithm(provider: Provider) -> None:
    key = ECKey.generate_key("P-384", {"kid": "k"})
    provider.keys = [key.as_dict(private=False)]
    half = hashlib.sha384(ACCESS.encode()).digest()[:24]
    claims = payload(provider, at_hash=base64.urlsafe_b64encode(half).decode())
    scripted(provider, jws.serialize_compact({"alg": "ES384", "kid": "k"}, json.dumps(claims), key, ["ES384"]))
    assert sign_in(provider).claim.sub == "alice"


def test_t45_the_nonce_of_another_sign_in_is_refused(provider: Provider) -> None:
    for nonce in ("another", ""):
        with pytest.raises(identity.SignInRefused) as caught:
            sign_in(provider, nonce=nonce)
        assert caught.value.code == "bad_id_token"


def test_t45_a_provider_that_says_it_supports_no_nonce_is_refused_all_the_same(provider: Provider) -> None:
    provider.metadata["nonce_supported"] = False
    provider.claims = {"nonce": None, "nonce_supported": False}
    refused(provider)


@pytest.mark.parametrize(
    ("claims", "fine"),
    [
        ({"exp": NOW - 59}, True),
        ({"exp": NOW - 60}, True),
        ({"exp": NOW - 61}, False),
        ({"iat": NOW + 59}, True),
        ({"iat": NOW + 61}, False),
        ({"nbf": NOW + 59}, True),
        ({"nbf": NOW + 61}, False),
        ({"iat": NOW - 659}, True),
        ({"iat": NOW - 661}, False),
    ],
    ids=repr,
)
def test_t46_the_leeway_is_sixty_seconds_exactly(provider: Provider, claims: dict[str, Any], fine: bool) -> None:
    provider.claims = claims
    if fine:
        assert sign_in(provider).claim.sub == "alice"
    else:
        refused(provider)
