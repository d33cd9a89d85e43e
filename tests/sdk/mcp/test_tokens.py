"""Which access tokens the example takes, where no --user fixes who calls."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from examples.mcp_server import SignedTokens

pytestmark = pytest.mark.anyio
HERE = "https://files.example/mcp"
KEY, ANOTHER = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))


@pytest.fixture(scope="module")
def issuer() -> Iterator[str]:
    """Its metadata and its keys."""
    public = {**json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(KEY.public_key())), "kid": "k", "use": "sig"}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            address = f"http://127.0.0.1:{server.server_port}"
            said = {"keys": [public]} if self.path == "/jwks" else {"issuer": address, "jwks_uri": f"{address}/jwks"}
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(said).encode())

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def signed(issuer: str, key: Any = KEY, **changed: Any) -> str:
    claims = {"iss": issuer, "sub": "alice", "aud": HERE, "client_id": "desk", "exp": time.time() + 60, **changed}
    kept = {name: value for name, value in claims.items() if value is not None}
    return jwt.encode(kept, key, "RS256", headers={"kid": "k"})


async def test_a_token_for_this_server_says_who_calls(issuer: str) -> None:
    token = await SignedTokens(issuer, HERE).verify_token(signed(issuer))
    assert token
    assert (token.subject, token.client_id, token.claims["iss"]) == ("alice", "desk", issuer)


@pytest.mark.parametrize(
    "changed",
    [
        {"aud": "https://another.example/mcp"}, {"aud": None}, {"iss": "https://another.example"}, {"sub": None},
        {"exp": 1}, {"exp": None}, {"key": ANOTHER},
    ],
    ids=list,
)  # fmt: skip
async def test_any_other_is_none(issuer: str, changed: dict[str, Any]) -> None:
    assert await SignedTokens(issuer, HERE).verify_token(signed(issuer, **changed)) is None


async def test_nor_is_one_that_nobody_signed(issuer: str) -> None:
    claims = {"iss": issuer, "sub": "alice", "aud": HERE, "exp": time.time() + 60}
    assert await SignedTokens(issuer, HERE).verify_token(jwt.encode(claims, None, "none")) is None
    assert await SignedTokens(issuer, HERE).verify_token("not a token") is None
