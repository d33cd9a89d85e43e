"""Which keys and algorithms may sign an ID token (T38 to T43)."""

from __future__ import annotations

import base64
import hmac
import json
from typing import Any

import pytest
from joserfc.jwk import ECKey, OKPKey, RSAKey
from joserfc.util import urlsafe_b64encode

from tests.doubles.provider import SIGNING, Provider
from tests.identity.signing import payload, refused, scripted, sign_in, unsigned


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
    entry = SIGNING.as_dict(private=False)
    del entry["alg"]  # with it the key itself would be for RS256 alone
    provider.keys = [entry]
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
