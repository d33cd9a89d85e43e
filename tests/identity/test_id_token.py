"""The ID token: who may sign it, what it must say, and everything else refused (T38 to T47)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding
from joserfc import jws
from joserfc.jwk import ECKey, OKPKey, RSAKey
from joserfc.util import urlsafe_b64encode

from elicit_flows import identity
from elicit_flows.identity import openid
from tests.doubles.provider import SIGNING, Provider
from tests.doubles.server import json_response
from tests.identity.signing import NONCE, sign_in, unsigned

ACCESS = "access-token"


def scripted(provider: Provider, token: str) -> None:
    """The token endpoint answers with a token of the test's own making."""
    provider.scripted["token"] = json_response({"access_token": ACCESS, "token_type": "Bearer", "id_token": token})


def refused(provider: Provider) -> None:
    with pytest.raises(identity.SignInRefused) as caught:
        sign_in(provider)
    assert caught.value.code == "bad_id_token"


def payload(provider: Provider, **changes: Any) -> dict[str, Any]:
    now = int(time.time())
    usual = {"iss": provider.issuer, "aud": provider.client_id, "sub": "alice", "iat": now, "exp": now + 300}
    return usual | {"nonce": NONCE} | changes


@pytest.mark.parametrize("listed", [None, ["none", "RS256"]])
@pytest.mark.parametrize("name", ["none", "None", "NONE", "nOnE", ""])
def test_t38_an_unsigned_token_is_refused(provider: Provider, name: str, listed: list[str] | None) -> None:
    provider.metadata["id_token_signing_alg_values_supported"] = listed
    for signature in (b"", b"x"):
        scripted(provider, unsigned({"alg": name}, json.dumps(payload(provider)).encode(), signature))
        refused(provider)


@pytest.mark.parametrize("listed", [None, ["HS256", "RS256"]])
@pytest.mark.parametrize("name", ["HS256", "HS384", "HS512"])
@pytest.mark.parametrize("kid", ["first", None])
def test_t39_the_public_key_is_no_shared_secret(
    provider: Provider, name: str, listed: list[str] | None, kid: str | None
) -> None:
    provider.metadata["id_token_signing_alg_values_supported"] = listed
    header = {"alg": name} | ({"kid": kid} if kid else {})
    secrets = [SIGNING.as_pem(private=False), SIGNING.as_der(private=False), (provider.client_secret or "").encode()]
    body = unsigned(header, json.dumps(payload(provider)).encode()).rpartition(".")[0]
    for secret in secrets:
        proof = hmac.digest(secret, body.encode(), f"sha{name[2:]}")
        scripted(provider, f"{body}.{urlsafe_b64encode(proof).decode()}")
        refused(provider)


def test_t40_the_right_name_with_the_wrong_key_is_refused(provider: Provider) -> None:
    provider.signing = RSAKey.generate_key(2048, {"kid": "first"})
    refused(provider)


@pytest.mark.parametrize("name", ["jwk", "jku", "x5u", "x5c"])
def test_t43_a_key_that_the_token_brings_is_not_used(provider: Provider, name: str) -> None:
    own = RSAKey.generate_key(2048, {"kid": "mine"})
    with Provider() as attacker:
        attacker.keys = [own.as_dict(private=False)]
        brought: dict[str, Any] = {
            "jwk": own.as_dict(private=False),
            "jku": f"{attacker.url}/jwks",
            "x5u": f"{attacker.url}/jwks",
            "x5c": [base64.b64encode(own.as_der(private=False)).decode()],
        }
        for kid in ("mine", "first", None):
            provider.signing, provider.header = own, {name: brought[name], "kid": kid}
            refused(provider)
        assert attacker.requests == []


def test_t43_a_chain_in_the_header_does_no_harm_to_a_good_token(provider: Provider) -> None:
    provider.header = {"x5c": ["A" * 2000], "x-vendor": {"a": 1}}
    assert sign_in(provider).claim.sub == "alice"


def ec(curve: str) -> ECKey:
    return ECKey.generate_key(curve, {"kid": "k"})


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("RS256", SIGNING),
        ("RS512", RSAKey.import_key({**SIGNING.as_dict(private=True), "alg": "RS512"})),
        ("PS256", RSAKey.import_key({**SIGNING.as_dict(private=True), "alg": "PS256"})),
        ("ES256", ec("P-256")),
        ("ES384", ec("P-384")),
        ("ES512", ec("P-521")),
        ("Ed25519", OKPKey.generate_key("Ed25519", {"kid": "k"})),
    ],
)
def test_public_key_signatures_are_accepted(provider: Provider, name: str, key: Any) -> None:
    provider.keys, provider.signing = [key.as_dict(private=False)], key
    provider.header, provider.claims = {"alg": name}, {"at_hash": None}
    assert sign_in(provider).claim.sub == "alice"


@pytest.mark.filterwarnings("ignore::joserfc.errors.SecurityWarning")
def test_eddsa_under_its_old_name_is_accepted(provider: Provider) -> None:
    key = OKPKey.generate_key("Ed25519", {"kid": "k"})
    provider.keys, provider.signing = [key.as_dict(private=False)], key
    provider.header, provider.claims = {"alg": "EdDSA"}, {"at_hash": None}
    assert sign_in(provider).claim.sub == "alice"


@pytest.mark.parametrize(
    "change", [{"use": "enc"}, {"key_ops": ["encrypt"]}, {"key_ops": "verify"}, {"alg": "RS384"}, {"kty": "EC"}]
)
def test_a_key_that_is_for_something_else_is_not_used(provider: Provider, change: dict[str, Any]) -> None:
    entry = SIGNING.as_dict(private=False) | change
    if "key_ops" in change:
        entry.pop("use", None)
    provider.keys = [entry]
    refused(provider)


def test_a_short_rsa_key_is_not_used(provider: Provider) -> None:
    with pytest.warns(Warning, match="2048"):
        provider.signing = RSAKey.generate_key(1024, {"kid": "first"})
    provider.keys = [provider.signing.as_dict(private=False)]
    refused(provider)


NOW = int(time.time())
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


def by_hand(header: bytes, body: bytes) -> str:
    """Signed properly with RS256, whatever is in it."""
    text = urlsafe_b64encode(header) + b"." + urlsafe_b64encode(body)
    proof = SIGNING.get_op_key("sign").sign(text, padding.PKCS1v15(), hashes.SHA256())
    return f"{text.decode()}.{urlsafe_b64encode(proof).decode()}"


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
    key = ec("P-384")
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
def test_t46_the_leeway_is_sixty_seconds_exactly(
    provider: Provider, monkeypatch: pytest.MonkeyPatch, claims: dict[str, Any], fine: bool
) -> None:
    monkeypatch.setattr(openid, "time", SimpleNamespace(time=lambda: float(NOW)))
    provider.claims = {"iat": NOW, "exp": NOW + 300} | claims
    if fine:
        assert sign_in(provider).claim.sub == "alice"
    else:
        refused(provider)
