"""The other ways to know a person, as an operator writes them down, in a file and in the admin."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from django.test import Client, override_settings
from joserfc.jwk import OKPKey

from elicit_flows.models import IdentityProvider
from tests.management.files import Operator

PUBLIC = {"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}
KEYS = 'keys = [{ kty = "OKP", crv = "Ed25519", x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" }]'
SITE = f"""
[[identity_provider]]
slug = "shop"
sort = "site"
issuer = "https://shop.example.com"
sign_in_url = "https://shop.example.com/vouch"
{KEYS}
"""


def test_a_site_is_made_and_stays_a_site(operator: Operator) -> None:
    assert operator.apply(SITE).lines == ["identity provider shop: made"]
    row = IdentityProvider.objects.get()
    assert (row.sort, row.sign_in_url, row.keys) == ("site", "https://shop.example.com/vouch", [PUBLIC])
    assert operator.apply(SITE).lines == ["identity provider shop: as it was"]
    as_openid = '[[identity_provider]]\nslug = "shop"\nissuer = "https://shop.example.com"\nclient_id = "x"\n'
    ran = operator.apply(as_openid)
    assert ran.failed
    assert 'slug: belongs to an identity provider with sort = "site"' in ran.said[0]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda text: text.replace(KEYS, ""), "jwks_url: or keys is needed"),
        (lambda text: text + 'jwks_url = "https://shop.example.com/jwks"\n', "jwks_url: or keys is needed"),
        (lambda text: text.replace('sign_in_url = "https://shop.example.com/vouch"\n', ""), "sign_in_url: is missing"),
        (lambda text: text + 'client_secret = "s3cret"\n', 'client_secret: is not for sort = "site"'),
        (lambda text: text.replace("shop.example.com/vouch", "other.example.com/vouch"), "issuer: must be an address"),
        (lambda text: text.replace('sort = "site"\n', ""), "client_id: is missing"),
        (lambda text: text.replace('"site"', '"saml"'), "sort: must be"),
        (lambda text: text.replace('kty = "OKP"', 'kty = "oct"'), "keys: number 1 is no key"),
    ],
)  # fmt: skip
def test_what_does_not_fit_together_is_said(operator: Operator, change: Callable[[str], str], fault: str) -> None:
    ran = operator.apply(change(SITE))
    assert ran.failed
    assert any(fault in said for said in ran.said), ran.said
    assert not IdentityProvider.objects.exists()


def test_accounts_of_our_own_are_named_after_this_service(operator: Operator) -> None:
    text = '[[identity_provider]]\nslug = "team"\nsort = "accounts"\nissuer = "{}"\n'
    with override_settings(ELICIT_PUBLIC_URL="https://flows.example.com"):
        assert "issuer: must be ELICIT_PUBLIC_URL" in operator.apply(text.format("https://idp.example.com")).said[0]
        assert operator.apply(text.format("https://flows.example.com")).lines == ["identity provider team: made"]
    with override_settings(ELICIT_PUBLIC_URL="https://8.8.4.4"):
        assert "issuer: has an IP address" in operator.apply(text.format("https://8.8.4.4")).said[0]


def test_a_proxy_is_made(operator: Operator) -> None:
    text = SITE.replace('"site"', '"proxy"').replace(
        'sign_in_url = "https://shop.example.com/vouch"', 'header = "Cf-Access-Jwt-Assertion"\naudiences = ["a"]'
    )
    assert operator.apply(text).lines == ["identity provider shop: made"]
    row = IdentityProvider.objects.get()
    assert (row.sort, row.header, row.audiences) == ("proxy", "Cf-Access-Jwt-Assertion", ["a"])
    for change in ((', "a"', ""), ('"Cf-Access-Jwt-Assertion"', '"Cookie"'), ('["a"]', "[]")):
        bad = text.replace("[[identity_provider]]\n", "[[identity_provider]]\nmax_age = 5\n").replace(*change)
        assert operator.apply(bad).failed


def test_t112_a_private_key_is_refused_and_not_repeated(operator: Operator) -> None:
    private = OKPKey.generate_key("Ed25519").as_dict(private=True)
    ran = operator.apply(SITE.replace('kty = "OKP"', f'kty = "OKP", d = "{private["d"]}"'))
    assert "keys: number 1 is a private key" in ran.said[0]
    assert str(private["d"]) not in "".join(ran.said)


@override_settings(ELICIT_ADMIN_SECOND_FACTOR=False)
def test_the_admin_holds_to_the_same_rules(admin_client: Client) -> None:
    add, host = "/admin/elicit_flows/identityprovider/add/", {"host": "127.0.0.1"}
    form = {
        "slug": "shop", "sort": "site", "issuer": "https://shop.example.com", "scopes": "openid", "enabled": "on",
        "sign_in_url": "https://shop.example.com/vouch", "keys": json.dumps([PUBLIC]),
    }  # fmt: skip
    bad = admin_client.post(add, {**form, "client_id": "x"}, headers=host)
    assert "is not for sort" in bad.content.decode()
    assert admin_client.post(add, form, headers=host).status_code == 302
    assert IdentityProvider.objects.get().sort == "site"
