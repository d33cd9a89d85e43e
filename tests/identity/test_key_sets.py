"""The identity provider adds and removes keys (T41, T42)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from joserfc.jwk import RSAKey

from elicit_flows import identity
from elicit_flows.identity import jwks, signature
from tests.doubles.provider import SIGNING, Provider
from tests.doubles.server import Response
from tests.identity.signing import NONCE, sign_in

SECOND = RSAKey.generate_key(2048, {"kid": "second", "use": "sig"})
SAME_NAME = RSAKey.generate_key(2048, {"kid": "first", "use": "sig"})


def public(*found: RSAKey) -> list[dict[str, Any]]:
    return [key.as_dict(private=False) for key in found]


def refused(provider: Provider) -> None:
    with pytest.raises(identity.SignInRefused) as caught:
        sign_in(provider)
    assert caught.value.code == "bad_id_token"


def test_the_keys_are_asked_for_once_in_ten_minutes(provider: Provider, clock: list[float]) -> None:
    for _ in range(5):
        sign_in(provider)
    assert provider.calls["jwks"] == 1
    clock[0] += 601
    sign_in(provider)
    assert provider.calls["jwks"] == 2


def test_t41_a_flood_of_unknown_names_costs_two_requests(provider: Provider) -> None:
    provider.header = {"kid": "unknown"}
    token = provider.id_token({"sub": "alice"}, NONCE, "at")

    def once(_: int) -> bool:
        try:
            signature.verify(token, f"{provider.url}/jwks")
        except identity.SignInRefused:
            return True
        return False

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(once, range(1000)))
    assert provider.calls["jwks"] <= 2


def test_t41_a_minute_later_one_more_request_is_made(provider: Provider, clock: list[float]) -> None:
    provider.header = {"kid": "unknown"}
    for _ in range(3):
        refused(provider)
    assert provider.calls["jwks"] == 2
    clock[0] += 61
    for _ in range(3):
        refused(provider)
    assert provider.calls["jwks"] == 3


def test_t42_a_new_key_works_at_once(provider: Provider) -> None:
    sign_in(provider)
    provider.keys, provider.signing = public(SIGNING, SECOND), SECOND
    provider.header = {"kid": "second"}
    assert sign_in(provider).claim.sub == "alice"


def test_t42_a_key_changed_under_the_same_name_works_at_once(provider: Provider) -> None:
    sign_in(provider)
    provider.keys, provider.signing = public(SAME_NAME), SAME_NAME
    assert sign_in(provider).claim.sub == "alice"


def test_t42_a_key_that_was_removed_dies_within_ten_minutes(provider: Provider, clock: list[float]) -> None:
    sign_in(provider)
    provider.keys = public(SECOND)
    clock[0] += 601
    refused(provider)


def test_t42_keys_that_cannot_be_read_do_not_spoil_the_others(provider: Provider) -> None:
    provider.keys = [
        {},
        {"kty": "RSA"},
        {"kty": "RSA", "n": 7, "e": "AQAB"},
        {"kty": "RSA", "n": "!!", "e": "AQAB", "kid": "first"},
        {"kty": "EC", "crv": "P-999", "x": "AA", "y": "AA"},
        {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"},
        {"kty": "OKP", "crv": "Ed25519", "x": "AA"},
        {"kty": "oct", "k": "c2VjcmV0"},
        {"kty": "AKP", "alg": "ML-DSA-44", "pub": "AA"},
        *public(SIGNING),
    ]
    assert sign_in(provider).claim.sub == "alice"


def test_t42_entries_of_any_type_do_not_spoil_the_others(provider: Provider) -> None:
    provider.keys = [None, 7, "key", [], *public(SIGNING)]  # type: ignore[list-item]
    assert sign_in(provider).claim.sub == "alice"


@pytest.mark.parametrize("published", [(SIGNING,), (SECOND, SIGNING)], ids=["single", "multiple"])
def test_t42_a_token_without_key_name_is_tried_with_each_key(provider: Provider, published: tuple[RSAKey, ...]) -> None:
    provider.keys, provider.header = public(*published), {"kid": None}
    assert sign_in(provider).claim.sub == "alice"


def test_t42_a_failed_second_look_leaves_the_known_keys_in_place(provider: Provider) -> None:
    sign_in(provider)
    provider.scripted["jwks"] = Response(500)
    provider.header = {"kid": "unknown"}
    refused(provider)
    provider.header = {}
    assert sign_in(provider).claim.sub == "alice"


def test_only_so_many_keys_are_read(provider: Provider) -> None:
    provider.keys = [{"kty": "oct", "k": "YQ"}] * jwks.MAX_KEYS + public(SIGNING)
    refused(provider)
