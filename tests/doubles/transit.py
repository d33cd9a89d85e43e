"""The transit engine of HashiCorp Vault, as its API documentation describes it: data keys, decryption, errors.

https://developer.hashicorp.com/vault/api-docs/secret/transit, "Generate data key" and "Decrypt data"; errors as in
https://developer.hashicorp.com/vault/api-docs#error-response.
"""

from __future__ import annotations

import base64
import json
import os

from tests.doubles.server import Request, Response, Route, Server, json_response

TOKEN = "hvs.canary-of-the-token"


class Transit(Server):
    """One key, ``transit/elicit``. ``wrapped`` is what its ciphertexts hold."""

    def __init__(self) -> None:
        self.wrapped: dict[str, bytes] = {}
        super().__init__()

    def routes(self) -> dict[str, tuple[str, Route]]:
        return {
            "/v1/transit/datakey/wrapped/elicit": ("datakey", self._datakey),
            "/v1/transit/decrypt/elicit": ("decrypt", self._decrypt),
        }

    def respond(self, request: Request) -> Response:
        if request.headers.get("x-vault-token") != TOKEN:
            return json_response({"errors": ["permission denied"]}, 403)
        return super().respond(request)

    def _datakey(self, request: Request) -> Response:
        asked = json.loads(request.body)
        plain = os.urandom(asked.get("bits", 256) // 8)
        ciphertext = f"vault:v1:{base64.b64encode(os.urandom(60)).decode()}"
        self.wrapped[ciphertext] = plain
        return json_response({"request_id": "x", "lease_id": "", "data": {"ciphertext": ciphertext}})

    def _decrypt(self, request: Request) -> Response:
        plain = self.wrapped.get(json.loads(request.body).get("ciphertext"))
        if plain is None:
            return json_response({"errors": ["invalid ciphertext: no prefix"]}, 400)
        return json_response({"request_id": "x", "data": {"plaintext": base64.b64encode(plain).decode()}})
