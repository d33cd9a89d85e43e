"""Rules of ``[[identity_provider]]``: the four types of sign-in, and which keys each of them has."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from elicit_flows import http
from elicit_flows.config_file.values import InvalidValue
from elicit_flows.domain.values import Json
from elicit_flows.identity.jwks import readable
from elicit_flows.lib.sentences import sentence
from elicit_flows.models import IdentityProvider

Type = IdentityProvider.Sort

# By type: the keys that are required, and those that are allowed.
REQUIRED: Mapping[str, tuple[str, ...]] = {
    Type.OPENID: ("client_id",),
    Type.SITE: ("sign_in_url",),
    Type.PROXY: ("header", "audiences"),
    Type.ACCOUNTS: (),
}
ALLOWED: Mapping[str, tuple[str, ...]] = {
    Type.OPENID: ("client_id", "client_secret", "scopes", "max_age", "introspect", "managed_hosts", "managed_refusal"),
    Type.SITE: ("sign_in_url", "jwks_url", "keys", "max_age"),
    Type.PROXY: ("header", "audiences", "jwks_url", "keys"),
    Type.ACCOUNTS: ("max_age",),
}
TYPE_KEYS = tuple(dict.fromkeys(name for names in ALLOWED.values() for name in names))
MAX_KEYS = 20
_HEADER = re.compile(r"[A-Za-z0-9-]{1,100}")  # header names that WSGI and ASGI both pass on
_BROWSER_HEADERS = {"cookie", "host", "origin", "referer", "user-agent"}
_PRIVATE_JWK_MEMBERS = {"d", "k", "p", "q", "dp", "dq", "qi", "oth"}


def public_keys(value: Any) -> list[Json]:
    """Public keys as JWKs (RFC 7517). The error message contains nothing of a private key."""
    if not isinstance(value, list) or not all(isinstance(key, dict) for key in value) or len(value) > MAX_KEYS:
        raise InvalidValue(sentence("must be a list of at most %(most)s public keys, each a JWK", most=MAX_KEYS))
    for number, key in enumerate(value, 1):
        if _PRIVATE_JWK_MEMBERS & key.keys():
            raise InvalidValue(
                sentence("number %(number)s is a private key; give the public one, and make a new pair", number=number)
            )
        if not readable([key]):
            raise InvalidValue(
                sentence(
                    "number %(number)s is no key that signatures can be checked with: RSA from 2048 bits, EC or OKP",
                    number=number,
                )
            )
    return value


def header(value: Any) -> str:
    """The name of a request header that a proxy adds (RFC 9110, section 5.1)."""
    if not isinstance(value, str) or not _HEADER.fullmatch(value) or value.lower() in _BROWSER_HEADERS:
        raise InvalidValue(
            sentence("must be the name of a header that the proxy adds, such as Cf-Access-Jwt-Assertion")
        )
    return value


def conflicts(values: Json, given: Collection[str], stored: IdentityProvider | None) -> Iterator[tuple[str, str]]:
    """What is wrong with the values together, and with changing ``stored`` to them, as (key, message).

    ``given``: the keys that the operator wrote.
    """
    if stored:
        yield from _changed_identity(values, stored)
    type_ = values["sort"]
    for key in given:
        if key in TYPE_KEYS and key not in ALLOWED[type_]:
            yield key, sentence('is not for sort = "%(type)s"; leave it out', type=type_)
    for key in REQUIRED[type_]:
        if not values[key]:
            yield key, "is missing here; add it"
    if "keys" in ALLOWED[type_] and bool(values["jwks_url"]) == bool(values["keys"]):
        yield "jwks_url", sentence("or keys is needed: the address of the public keys, or the keys; one of the two")
    if type_ == Type.ACCOUNTS:
        yield from _accounts_conflicts(values)
    if type_ == Type.SITE and values["sign_in_url"]:
        site, issuer = urlsplit(values["sign_in_url"]), urlsplit(values["issuer"])
        if (site.scheme, site.netloc) != (issuer.scheme, issuer.netloc):
            yield (
                "issuer",
                sentence("must be an address at the host of sign_in_url: a site speaks for its own users alone"),
            )


def _changed_identity(values: Json, stored: IdentityProvider) -> Iterator[tuple[str, str]]:
    """People are known by the issuer, so it stays as it was (threat T132), and so does the type."""
    if stored.sort != values["sort"]:
        yield (
            "slug",
            sentence(
                'belongs to an identity provider with sort = "%(type)s"; use another slug for this one',
                type=stored.sort,
            ),
        )
    old, new = stored.issuer, values["issuer"]
    # The sandbox gets another port at each start, so issuers on this machine may change in development.
    loopback = all(http.is_loopback_name(urlsplit(issuer).hostname or "") for issuer in (old, new))
    if new and new != old and not (settings.ELICIT_ALLOW_LOOPBACK and loopback):
        yield (
            "issuer",
            sentence(
                "is %(issuer)s for this slug and cannot change, since people are known by it; make a new identity "
                "provider with another slug",
                issuer=old,
            ),
        )


def _accounts_conflicts(values: Json) -> Iterator[tuple[str, str]]:
    own = settings.ELICIT_PUBLIC_URL
    if values["issuer"] != own:
        yield "issuer", sentence("must be ELICIT_PUBLIC_URL, %(url)s: this service is the issuer", url=own)
        return
    # Passkeys are bound to a domain name (WebAuthn, section 5.1.2).
    try:
        ip_address(urlsplit(own).hostname or "")
    except ValueError:
        return
    yield (
        "issuer",
        sentence("has an IP address for a host; passkeys need a name, on this machine http://localhost:8000"),
    )
