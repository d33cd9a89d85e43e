"""The claims that a site's assertion needs. Every other assertion is refused (T38, T44)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from joserfc.jwk import OKPKey

from elicit_flows import identity
from elicit_flows.domain.values import Claim
from elicit_flows.identity import jwks
from elicit_flows.identity.site import Vouched
from tests.doubles.policy import loopback_allowed
from tests.doubles.site import SIGNING
from tests.doubles.site import Site as Double

US = "https://flows.example.com"
NOW = 1_800_000_000


@pytest.fixture(autouse=True)
def noon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: float(NOW))


@pytest.fixture
def site() -> Iterator[Double]:
    jwks.forget()
    with Double() as double, loopback_allowed():
        double.audience = US
        yield double


def read(site: Double, assertion: str | None = None, **more: Any) -> Vouched:
    known = identity.site.Site("shop", site.issuer, f"{site.issuer}/sign-in", site.jwks_url, **more)
    return identity.site.read(known, assertion or site.assertion(state="s", elicitation="el_1"), US)


def test_a_sites_word_names_its_user_and_the_sign_in_that_it_answers(site: Double) -> None:
    word = read(site)
    assert word.signed_in == identity.SignedIn(Claim(site.issuer, "alice"), None, "Alice of the shop")
    assert (word.state, word.elicitation) == ("s", "el_1")
    assert word.name != read(site).name
    site.claims = {"iat": NOW - 60, "exp": NOW - 60, "elicitation": None}
    assert read(site).elicitation == ""


def test_the_public_keys_may_be_written_down_instead(site: Double) -> None:
    written = (SIGNING.as_dict(private=False),)
    known = identity.site.Site("shop", site.issuer, f"{site.issuer}/sign-in", written)
    assert identity.site.read(known, site.assertion(state="s"), US).state == "s"
    site.signing = OKPKey.generate_key("Ed25519", {"kid": "site"})
    with pytest.raises(identity.SignInRefused):
        identity.site.read(known, site.assertion(state="s"), US)
    assert site.calls["jwks"] == 0


@pytest.mark.parametrize(
    ("claims", "header"),
    [
        ({"iss": None}, {}), ({"iss": "https://corp.example.com"}, {}), ({"aud": None}, {}),
        ({"aud": "https://other.example.com"}, {}), ({"aud": [US, "https://other.example.com"]}, {}),
        ({"exp": None}, {}), ({"exp": NOW - 61}, {}), ({"iat": None}, {}), ({"iat": NOW - 61}, {}),
        ({"iat": NOW + 61}, {}), ({"nbf": NOW + 61}, {}), ({"sub": None}, {}), ({"sub": ""}, {}), ({"sub": 7}, {}),
        ({"sub": "x" * 256}, {}), ({"sub": "a\x00"}, {}), ({"jti": None}, {}), ({"jti": ""}, {}), ({"jti": 7}, {}),
        ({"state": None}, {}), ({"state": ""}, {}), ({"state": ["s"]}, {}), ({"elicitation": ["el_1"]}, {}),
        ({"elicitation": ""}, {}), ({}, {"typ": "JWT"}), ({}, {"typ": "at+jwt"}), ({}, {"kid": "another"}),
    ],
    ids=repr,
)  # fmt: skip
def test_t44_a_sites_word_that_is_not_quite_right_is_refused(
    site: Double, claims: dict[str, Any], header: dict[str, Any]
) -> None:
    site.claims, site.header = claims, header
    with pytest.raises(identity.SignInRefused):
        read(site)


def test_t38_an_unsigned_or_forged_word_is_refused(site: Double) -> None:
    header, payload, proof = site.assertion(state="s").split(".")
    for forged in (f"{header}.{payload}.", f"{header}.{payload}.{proof[::-1]}", "x", ""):
        with pytest.raises(identity.SignInRefused):
            read(site, forged or "..")
    site.signing = OKPKey.generate_key("Ed25519", {"kid": "site"})
    with pytest.raises(identity.SignInRefused):
        read(site)


def test_t8_a_site_has_to_say_when_the_sign_in_was_where_that_counts(site: Double) -> None:
    with pytest.raises(identity.SignInRefused):
        read(site, max_age=600)
    site.claims = {"auth_time": NOW - 600}
    assert read(site, max_age=600).signed_in.auth_time == NOW - 600
    site.claims = {"auth_time": NOW - 661}
    with pytest.raises(identity.SignInRefused, match="too long ago"):
        read(site, max_age=600)
