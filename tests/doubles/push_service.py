"""A push service, and the browser behind it, to run by itself: ``python -m tests.doubles.push_service PORT FILE``.

FILE gets a line of JSON for each request, after its token was verified and its message decrypted, by libraries that
the service does not use. Browsers are made by ``POST /browsers``, which answers as ``PushSubscription.toJSON`` does;
the body is the status with which their messages are answered, 201 if it is empty. A request that RFC 8030, 8291 or
8292 does not allow is answered 400 and its fault is what the line says.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import http_ece
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

MAX_BODY = 4096  # what every push service takes (RFC 8030, section 7.2)


class Fault(Exception):
    """What is wrong with a request."""


class Browser:
    def __init__(self, status: int) -> None:
        self.status, self.secret = status, os.urandom(16)
        self.private = ec.generate_private_key(ec.SECP256R1())

    def subscription(self, endpoint: str) -> dict[str, Any]:
        point = self.private.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        keys = {"p256dh": _text(point), "auth": _text(self.secret)}
        return {"endpoint": endpoint, "expirationTime": None, "keys": keys}


class Service(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port: int, file: Path) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.origin, self.file, self.browsers = f"http://127.0.0.1:{port}", file, dict[str, Browser]()


class _Handler(BaseHTTPRequestHandler):
    server: Service
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.path == "/browsers":
            browser, path = Browser(int(body or 201)), f"/push/{_text(os.urandom(24))}"
            self.server.browsers[path] = browser
            self._answer(200, json.dumps(browser.subscription(self.server.origin + path)).encode())
            return
        found = self.server.browsers.get(self.path)
        if found is None:
            self._answer(404)
            return
        try:
            line: dict[str, Any] = {"message": self._read(found, body), "vapid": self._signed()}
            line["headers"] = {name: self.headers[name] for name in ("ttl", "urgency", "topic") if name in self.headers}
            status = found.status
        except Fault as fault:
            line, status = {"fault": str(fault)}, 400
        with self.server.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"path": self.path, "size": len(body), **line}) + "\n")
        self._answer(status)

    def _read(self, browser: Browser, body: bytes) -> Any:
        """The message, decrypted (RFC 8291, section 4)."""
        if self.headers["content-encoding"] != "aes128gcm" or len(body) > MAX_BODY:
            raise Fault("the coding is another one, or the body is too long")
        if not (self.headers["ttl"] or "").isdecimal():
            raise Fault("there is no TTL (RFC 8030, section 5.2)")
        try:
            text = http_ece.decrypt(body, private_key=browser.private, auth_secret=browser.secret, version="aes128gcm")
        except http_ece.ECEException as error:
            raise Fault(f"it does not decrypt: {error}") from None
        return json.loads(text)

    def _signed(self) -> dict[str, Any]:
        """The claims and the key of the token (RFC 8292, sections 2 and 3)."""
        scheme, _, rest = (self.headers["authorization"] or "").partition(" ")
        given = dict(one.strip().split("=", 1) for one in rest.split(",") if "=" in one)
        if scheme != "vapid" or given.keys() != {"t", "k"}:
            raise Fault("there is no vapid token")
        head, claims, signature = given["t"].split(".")
        raw = _bytes(signature)
        key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), _bytes(given["k"]))
        der = encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
        try:
            key.verify(der, f"{head}.{claims}".encode(), ec.ECDSA(hashes.SHA256()))
        except InvalidSignature:
            raise Fault("the token is not signed with the key beside it") from None
        said: dict[str, Any] = json.loads(_bytes(claims))
        if json.loads(_bytes(head)) != {"typ": "JWT", "alg": "ES256"} or said["aud"] != self.server.origin:
            raise Fault("the token is of another kind, or for another push service")
        if not time.time() < said["exp"] <= time.time() + 24 * 3600:
            raise Fault("the token is over, or good for more than a day")
        return {**said, "key": given["k"]}

    def _answer(self, status: int, body: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


if __name__ == "__main__":
    service = Service(int(sys.argv[1]), Path(sys.argv[2]))
    print("listening", flush=True)
    service.serve_forever()
