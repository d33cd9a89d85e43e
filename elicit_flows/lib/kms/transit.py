"""The transit engine of HashiCorp Vault (and OpenBao): ``vault:<path of the key>:<ciphertext>``.

The path is mount and name, ``transit/elicit``; the ciphertext is Vault's own, ``vault:v1:…``. It does not use the
guarded HTTP client, which refuses private networks: the operator's Vault is on one.
"""

from __future__ import annotations

import base64
import binascii
import re
import ssl
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx2

from elicit_flows.lib.kms.errors import KmsError

SECONDS = 10.0
_THIS_MACHINE = {"127.0.0.1", "localhost", "::1"}
_PATH = re.compile(r"(?P<mount>[A-Za-z0-9_./-]+)/(?P<name>[A-Za-z0-9_.-]+)")


def new(name: str, options: Mapping[str, str | None]) -> str:
    """Vault creates the bytes and does not show them (``datakey/wrapped``)."""
    made = _ask(_place(name, "datakey/wrapped"), {"bits": 256}, options)
    return f"{name}:{_text(made, 'ciphertext')}"


def unwrap(wrapped: str, options: Mapping[str, str | None]) -> bytes:
    path, _, ciphertext = wrapped.partition(":")
    opened = _ask(_place(path, "decrypt"), {"ciphertext": ciphertext}, options)
    try:
        return base64.b64decode(_text(opened, "plaintext"), validate=True)
    except binascii.Error:
        raise KmsError("Vault's answer cannot be used") from None


def _place(path: str, verb: str) -> str:
    found = _PATH.fullmatch(path)
    if not found:
        raise KmsError(f"{path!r} is not the path of a transit key, such as transit/elicit")
    return f"{found['mount']}/{verb}/{found['name']}"


def _ask(place: str, body: dict[str, Any], options: Mapping[str, str | None]) -> dict[str, Any]:
    address, token = (options.get("address") or "").rstrip("/"), options.get("token")
    if not address or not token:
        raise KmsError("VAULT_ADDR and VAULT_TOKEN must be set")
    parts = urlsplit(address)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _THIS_MACHINE):
        raise KmsError("VAULT_ADDR must begin with https://, or be a Vault agent on this machine")
    try:
        trusted = ssl.create_default_context(cafile=options.get("ca") or None)
    except OSError as error:
        raise KmsError(f"VAULT_CACERT: {options['ca']} cannot be used ({error.strerror or error})") from None
    headers = {"X-Vault-Token": token, "X-Vault-Request": "true"}
    if options.get("namespace"):
        headers["X-Vault-Namespace"] = options["namespace"] or ""
    try:
        with httpx2.Client(verify=trusted, trust_env=False, timeout=SECONDS) as client:
            answer = client.post(f"{address}/v1/{place}", json=body, headers=headers)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise KmsError(f"Vault at {address} does not answer ({type(error).__name__})") from None
    if answer.status_code != 200:
        raise KmsError(f"Vault at {address} answered {answer.status_code}{_why(answer)}")
    try:
        data = answer.json()["data"]
    except (ValueError, KeyError, TypeError):
        data = None
    return data if isinstance(data, dict) else {}


def _why(answer: httpx2.Response) -> str:
    try:
        said = answer.json()["errors"]
    except (ValueError, KeyError, TypeError):
        return ""
    return ": " + "; ".join(str(one).strip() for one in said)[:200] if isinstance(said, list) and said else ""


def _text(data: dict[str, Any], name: str) -> str:
    value = data.get(name)
    if not isinstance(value, str):
        raise KmsError("Vault's answer cannot be used")
    return value
