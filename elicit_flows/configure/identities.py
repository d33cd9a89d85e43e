"""The ways to know a person, in one table: which keys each of them has, and what its values must be together."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from elicit_flows.configure.faults import Wrong
from elicit_flows.identity.keys import readable
from elicit_flows.models import IdentityProvider
from elicit_flows.values import Json

Sort = IdentityProvider.Sort

# Of each sort: the keys that it needs, and those that it may have.
NEEDED: Mapping[str, tuple[str, ...]] = {
    Sort.OPENID: ("client_id",),
    Sort.SITE: ("sign_in_url",),
    Sort.PROXY: ("header", "audiences"),
    Sort.ACCOUNTS: (),
}
ALLOWED: Mapping[str, tuple[str, ...]] = {
    Sort.OPENID: ("client_id", "client_secret", "scopes", "max_age", "introspect"),
    Sort.SITE: ("sign_in_url", "jwks_url", "keys", "max_age"),
    Sort.PROXY: ("header", "audiences", "jwks_url", "keys"),
    Sort.ACCOUNTS: ("max_age",),
}
OF_SORTS = tuple(dict.fromkeys(name for names in ALLOWED.values() for name in names))
_HEADER = re.compile(r"[A-Za-z0-9-]{1,100}")  # what reaches a program through WSGI and ASGI alike
_BROWSERS = {"cookie", "host", "origin", "referer", "user-agent"}
_PRIVATE = {"d", "k", "p", "q", "dp", "dq", "qi", "oth"}


def public_keys(value: Any) -> list[Json]:
    """Public keys as JWKs (RFC 7517). Raises Wrong, and repeats nothing of a private one."""
    if not isinstance(value, list) or not all(isinstance(key, dict) for key in value) or len(value) > 20:
        raise Wrong("must be a list of at most 20 public keys, each a JWK")
    for place, key in enumerate(value, 1):
        if _PRIVATE & key.keys():
            raise Wrong(f"number {place} is a private key; give the public one, and make a new pair")
        if not readable([key]):
            raise Wrong(f"number {place} is no key that signatures can be checked with: RSA from 2048 bits, EC or OKP")
    return value


def header(value: Any) -> str:
    """The name of a request header that a proxy adds (RFC 9110, section 5.1)."""
    if not isinstance(value, str) or not _HEADER.fullmatch(value) or value.lower() in _BROWSERS:
        raise Wrong("must be the name of a header that the proxy adds, such as Cf-Access-Jwt-Assertion")
    return value


def identity_faults(values: Json, given: Collection[str]) -> Iterator[tuple[str, str]]:
    """(key, message); ``given``: the keys that the operator wrote down."""
    sort = values["sort"]
    for key in given:
        if key in OF_SORTS and key not in ALLOWED[sort]:
            yield key, f'is not for sort = "{sort}"; leave it out'
    for key in NEEDED[sort]:
        if not values[key]:
            yield key, "is missing here; add it"
    if "keys" in ALLOWED[sort] and bool(values["jwks_url"]) == bool(values["keys"]):
        yield "jwks_url", "or keys is needed: where the public keys are, or the keys; one of the two"
    if sort == Sort.ACCOUNTS:
        yield from _own_faults(values)
    if sort == Sort.SITE and values["sign_in_url"] and _origin(values["sign_in_url"]) != _origin(values["issuer"]):
        yield "issuer", "must be an address at the host of sign_in_url: a site speaks for its own users alone"


def _own_faults(values: Json) -> Iterator[tuple[str, str]]:
    """Accounts of our own are named after this service, and so are their passkeys (WebAuthn, 5.1.2: no IP address)."""
    if values["issuer"] != settings.ELICIT_PUBLIC_URL:
        yield "issuer", f"must be ELICIT_PUBLIC_URL, {settings.ELICIT_PUBLIC_URL}: this service is the issuer"
    elif _is_address(urlsplit(settings.ELICIT_PUBLIC_URL).hostname or ""):
        yield "issuer", "has an IP address for a host; passkeys need a name, on this machine http://localhost:8000"


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def _origin(address: str) -> tuple[str, str]:
    parts = urlsplit(address)
    return parts.scheme, parts.netloc
