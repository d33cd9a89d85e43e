"""Tokens that only the holder of a key may use: the proofs that go with them (RFC 9449)."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import secrets
import time
from urllib.parse import urlsplit

from joserfc import jwt
from joserfc.jwk import ECKey

from elicit_flows.lib import http
from elicit_flows.lib.http import strict
from elicit_flows.lib.oauth import replies

ALGORITHM = "ES256"
_NONCE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,1024}")  # RFC 9449, section 8.1


def new_key() -> str:
    """A fresh private key, as a JWK in JSON."""
    return json.dumps(ECKey.generate_key("P-256").as_dict(private=True))


def thumbprint(key: str) -> str:
    """What names the key in an authorization request: ``dpop_jkt`` (section 10)."""
    return _load(key).thumbprint()


def proof(key: str, method: str, url: str, *, nonce: str | None = None, ath: str | None = None) -> str:
    """A proof for one request, good for as long as the server takes it (section 4.2).

    The query and the fragment of ``url`` are no part of it. ``ath``: ``hash_of`` the access token that goes with it.
    """
    private = _load(key)
    header = {"typ": "dpop+jwt", "alg": ALGORITHM, "jwk": private.as_dict(private=False)}
    claims = {
        "jti": secrets.token_urlsafe(24),
        "htm": method,
        "htu": urlsplit(url)._replace(query="", fragment="").geturl(),
        "iat": int(time.time()),
        "nonce": nonce,
        "ath": ath,
    }
    said = {name: value for name, value in claims.items() if value is not None}
    return jwt.encode(header, said, private, algorithms=[ALGORITHM])


def hash_of(access_token: str) -> str:
    """``ath``: base64url of the token's SHA-256, without padding."""
    return base64.urlsafe_b64encode(hashlib.sha256(access_token.encode("ascii")).digest()).rstrip(b"=").decode()


def nonce_wanted(reply: http.Reply) -> str | None:
    """The nonce that the server asks for (sections 8 and 9); None when it asks for none."""
    asks = replies.error_code(replies.json_object(reply)) == "use_dpop_nonce"
    asks = asks or (reply.status == 401 and "use_dpop_nonce" in reply.headers.get("www-authenticate", ""))
    nonce = reply.headers.get("dpop-nonce", "")
    return nonce if asks and is_nonce(nonce) else None


def is_nonce(given: str) -> bool:
    return _NONCE.fullmatch(given) is not None


def _load(key: str) -> ECKey:
    return ECKey.import_key(strict.loads(key))
