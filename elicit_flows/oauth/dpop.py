"""Proofs for tokens that only the holder of a key may use (DPoP, RFC 9449)."""

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

from elicit_flows import http
from elicit_flows.http import strict_json
from elicit_flows.oauth import responses

ALGORITHM = "ES256"
_NONCE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,1024}")  # RFC 9449, section 8.1


def new_key() -> str:
    """A fresh private key, as a JWK in JSON."""
    return json.dumps(ECKey.generate_key("P-256").as_dict(private=True))


def thumbprint(key: str) -> str:
    """The key's thumbprint, ``dpop_jkt`` in an authorization request (section 10)."""
    return _load(key).thumbprint()


def proof(key: str, method: str, url: str, *, nonce: str | None = None, ath: str | None = None) -> str:
    """A proof for one request (section 4.2). The server decides how long it is valid.

    Query and fragment of ``url`` are left out of it. ``ath``: the ``access_token_hash`` of the token that is sent with
    it.
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


def access_token_hash(access_token: str) -> str:
    """``ath``: base64url of the token's SHA-256, without padding."""
    return base64.urlsafe_b64encode(hashlib.sha256(access_token.encode("ascii")).digest()).rstrip(b"=").decode()


def nonce_wanted(reply: http.Reply) -> str | None:
    """The nonce that the server requires (sections 8 and 9); None if it requires none."""
    asks = responses.error_code(responses.any_json(reply, any_text=False)) == "use_dpop_nonce"
    asks = asks or (reply.status == 401 and "use_dpop_nonce" in reply.headers.get("www-authenticate", ""))
    nonce = reply.headers.get("dpop-nonce", "")
    return nonce if asks and is_nonce(nonce) else None


def is_nonce(given: str) -> bool:
    return _NONCE.fullmatch(given) is not None


def _load(key: str) -> ECKey:
    return ECKey.import_key(strict_json.loads(key))
