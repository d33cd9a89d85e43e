"""Signed exports: whoever gets the file can tell that this service made it, when, and that nobody changed it since."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path

from django.conf import settings

from elicit_flows import vault
from elicit_flows.domain.values import Json

_PIECE = 1 << 20


def sign_bytes(content: bytes, name: str) -> str:
    """The signature that stands beside the file ``name``: a JWT with the SHA-256 of what is in it."""
    return _sign(hashlib.sha256(content).hexdigest(), len(content), name)


def sign_file(path: Path) -> str:
    digest, size = _digest(path)
    return _sign(digest, size, path.name)


def check(path: Path, signature: str, keys: Json) -> Json:
    """What the signature says of the file. Raises ``vault.NotSigned`` and OSError."""
    claims = vault.verify_export(signature, keys)
    digest, _ = _digest(path)
    if claims.get("sha256") != digest:
        raise vault.NotSigned("The file is not the one that was signed: its SHA-256 is another.")
    return claims


def _sign(digest: str, size: int, name: str) -> str:
    claims = {"iss": settings.ELICIT_PUBLIC_URL, "iat": int(time.time()), "file": name, "sha256": digest, "size": size}
    return vault.sign_receipt(claims, vault.EXPORT_TYPE)


def _digest(path: Path) -> tuple[str, int]:
    found, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            found.update(piece)
            size += len(piece)
    return found.hexdigest(), size
