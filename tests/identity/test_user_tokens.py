"""The user's own token that an agent shows: it must be this user's, and every other is refused (T6, T44, T47, T64)."""

from __future__ import annotations

import time
from typing import Any

import pytest
from joserfc.jwk import RSAKey

from elicit_flows import identity
from elicit_flows.domain.errors import ProviderUnavailable, UserTokenRefused
from elicit_flows.domain.values import Claim
from elicit_flows.identity.user_token import ACCESS, ID
from tests.doubles.provider import Provider
from tests.doubles.server import json_response
from tests.identity.signing import config, unsigned

US = "https://flows.example.com"
NOW = 1_800_000_000


@pytest.fixture(autouse=True)
def noon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: float(NOW))


def trusted(provider: Provider, *, introspects: bool = False) -> identity.Trusted:
    return identity.Trusted(config(provider), (US, "elicit"), introspects)


def holder(provider: Provider, token: str, sort: str = ACCESS, **options: bool) -> Claim:
    return identity.holder(token, sort, [trusted(provider, **options)])


GOOD: list[tuple[str, str | None, dict[str, Any]]] = [
    (ACCESS, "at+jwt", {"aud": US}),
    (ACCESS, "AT+JWT", {"aud": US}),
    (ACCESS, "application/at+jwt", {"aud": US}),
    (ACCESS, "at+jwt", {"aud": ["https://other.example.com", US]}),
    (ACCESS, "at+jwt", {"aud": US, "iat": NOW - 86_400, "exp": NOW - 59}),
    (ACCESS, "at+jwt", {"aud": US, "nbf": NOW + 59}),
    (ID, "JWT", {"aud": "elicit"}),
    (ID, None, {"aud": ["elicit"], "client_id": None, "azp": "elicit"}),
]

BAD: list[tuple[str, str | None, dict[str, Any]]] = [
    (ACCESS, "JWT", {"aud": US}),
    (ACCESS, None, {"aud": US}),
    (ACCESS, "logout+jwt", {"aud": US}),
    (ACCESS, "at+jwt", {"aud": None}),
    (ACCESS, "at+jwt", {"aud": []}),
    (ACCESS, "at+jwt", {"aud": "https://other.example.com"}),
    (ACCESS, "at+jwt", {"aud": f"{US}/"}),
    (ACCESS, "at+jwt", {"aud": [US, 7]}),
    (ACCESS, "at+jwt", {"aud": {US: 1}}),
    (ACCESS, "at+jwt", {"aud": US, "exp": None}),
    (ACCESS, "at+jwt", {"aud": US, "exp": NOW - 61}),
    (ACCESS, "at+jwt", {"aud": US, "exp": str(NOW + 300)}),
    (ACCESS, "at+jwt", {"aud": US, "iat": None}),
    (ACCESS, "at+jwt", {"aud": US, "iat": NOW + 61}),
    (ACCESS, "at+jwt", {"aud": US, "nbf": NOW + 61}),
    (ACCESS, "at+jwt", {"aud": US, "iss": None}),
    (ACCESS, "at+jwt", {"aud": US, "iss": "https://evil.example.com"}),
    (ACCESS, "at+jwt", {"aud": US, "iss": ["https://evil.example.com"]}),
    (ACCESS, "at+jwt", {"aud": US, "sub": None}),
    (ACCESS, "at+jwt", {"aud": US, "sub": ""}),
    (ACCESS, "at+jwt", {"aud": US, "sub": ["alice"]}),
    (ACCESS, "at+jwt", {"aud": US, "sub": "x" * 256}),
    (ACCESS, "at+jwt", {"aud": US, "sub": "al\x00ice"}),
    (ACCESS, "at+jwt", {"aud": US, "sub": "app"}),  # the program's own token
    (ID, "at+jwt", {"aud": "elicit"}),
    (ID, "logout+jwt", {"aud": "elicit"}),
    (ID, "JWT", {"aud": "elicit", "events": {}}),
    (ID, "JWT", {"aud": ["elicit", "https://other.example.com"]}),
    (ID, "JWT", {"aud": "elicit", "exp": NOW - 61}),
]


@pytest.mark.parametrize(("sort", "typ", "claims"), GOOD, ids=repr)
def test_t44_a_users_token_names_its_user(
    provider: Provider, sort: str, typ: str | None, claims: dict[str, Any]
) -> None:
    assert holder(provider, provider.jwt(typ, **claims), sort) == Claim(provider.issuer, "alice")


@pytest.mark.parametrize(("sort", "typ", "claims"), BAD, ids=lambda row: repr(row)[:60])
def test_t44_a_users_token_that_is_not_quite_right_is_refused(
    provider: Provider, sort: str, typ: str | None, claims: dict[str, Any]
) -> None:
    with pytest.raises(UserTokenRefused):
        holder(provider, provider.jwt(typ, **claims), sort)


@pytest.mark.parametrize("sub", ["Alice", "alice ", "\u0430lice", "ren\u00e9", "rene\u0301", "x" * 255])
def test_t6_a_users_token_names_them_byte_for_byte(provider: Provider, sub: str) -> None:
    assert holder(provider, provider.jwt(aud=US, sub=sub)).sub == sub


def test_t38_an_unsigned_or_forged_users_token_is_refused(provider: Provider) -> None:
    good = provider.jwt(aud=US)
    header, payload, proof = good.split(".")
    naked = unsigned({"alg": "none", "typ": "at+jwt"}, b"{}").split(".")[0]
    other = "A" if proof[5] != "A" else "B"
    for token in (
        f"{naked}.{payload}.",
        f"{header}.{payload}.{proof[:5]}{other}{proof[6:]}",
        f"{header}.{payload}.",
        "",
    ):
        with pytest.raises(UserTokenRefused):
            holder(provider, token)
    provider.signing = RSAKey.generate_key(2048, {"kid": provider.signing.kid})
    with pytest.raises(UserTokenRefused):
        holder(provider, provider.jwt(aud=US))


def test_t47_a_users_token_of_one_identity_provider_is_no_token_of_another(provider: Provider) -> None:
    with Provider() as other:
        both = [trusted(provider), trusted(other)]
        assert identity.holder(other.jwt(aud=US), ACCESS, both) == Claim(other.issuer, "alice")
        other.signing = RSAKey.generate_key(2048, {"kid": "another"})
        with pytest.raises(UserTokenRefused):
            identity.holder(other.jwt(aud=US, iss=provider.issuer), ACCESS, both)


def opaque(provider: Provider, sub: str = "alice") -> str:
    issued = provider._issue({"sub": sub}, "files.read", None)
    return str(next(token for token in provider.tokens if token.encode() in issued.body))


def test_t64_an_opaque_token_is_asked_about_where_it_was_issued(provider: Provider) -> None:
    token = opaque(provider)
    assert holder(provider, token, introspects=True) == Claim(provider.issuer, "alice")
    asked = provider.seen("introspect")[-1]
    assert asked.form == {"token": token, "token_type_hint": "access_token"}
    provider.tokens[token].live = False
    with pytest.raises(UserTokenRefused):
        holder(provider, token, introspects=True)
    with pytest.raises(UserTokenRefused):
        holder(provider, opaque(provider))
    assert provider.calls["introspect"] == 2


@pytest.mark.parametrize(
    "said",
    [
        {"active": "true"}, {"active": None}, {"sub": None}, {"sub": ""}, {"iss": "https://evil.example.com"},
        {"aud": "https://other.example.com"}, {"client_id": None}, {"client_id": "other"}, {"exp": NOW - 61},
        {"client_id": "alice", "aud": US}, {"token_type": "refresh_token"}, {"nbf": NOW + 61},
    ],
    ids=repr,
)  # fmt: skip
def test_t44_what_the_identity_provider_says_of_a_token_has_to_fit_as_well(
    provider: Provider, said: dict[str, Any]
) -> None:
    token = opaque(provider)
    provider.reply = {"aud": None, **said}
    with pytest.raises(UserTokenRefused):
        holder(provider, token, introspects=True)


@pytest.mark.parametrize(
    "said", [{}, {"aud": []}, {"aud": None}, {"iss": None, "exp": None, "nbf": None, "token_type": None}], ids=repr
)
def test_what_an_identity_provider_leaves_empty_is_not_said(provider: Provider, said: dict[str, Any]) -> None:
    """Ory Hydra writes an empty list for a token without an audience; others write null."""
    answer = {"active": True, "sub": "alice", "client_id": "elicit", **said}
    provider.scripted["introspect"] = json_response(answer)
    assert holder(provider, opaque(provider), introspects=True) == Claim(provider.issuer, "alice")
    provider.scripted["introspect"] = json_response({**answer, "client_id": "other"})
    with pytest.raises(UserTokenRefused):
        holder(provider, opaque(provider), introspects=True)


def test_an_identity_provider_that_does_not_answer_about_a_token_is_asked_later(provider: Provider) -> None:
    provider.scripted["introspect"] = json_response({}, 503)
    with pytest.raises(ProviderUnavailable):
        holder(provider, opaque(provider), introspects=True)


def test_t47_a_token_is_shown_to_nobody_but_its_own_identity_provider(provider: Provider) -> None:
    with Provider() as other:
        both = [trusted(provider, introspects=True), trusted(other, introspects=True)]
        token = opaque(provider)
        with pytest.raises(UserTokenRefused, match="which"):
            identity.holder(token, ACCESS, both)
        mine = provider.jwt(aud=US)
        provider.scripted["introspect"] = json_response({"active": True, "sub": "alice", "aud": US})
        assert identity.holder(mine, ACCESS, both).iss == provider.issuer
        assert other.calls["introspect"] == 0
