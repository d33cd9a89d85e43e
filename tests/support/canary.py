"""Looking for secrets: every spelling in which a canary may have slipped through."""

from __future__ import annotations

import base64
import binascii
import html
import json
import re
import zlib
from collections.abc import Callable, Iterator
from urllib.parse import quote, quote_plus

SIGNED = re.compile(rb"(?<![\w.-])(\.?)([A-Za-z0-9_-]{16,})(?=:[\w-]+:)")  # as Django signs sessions and cookies


def spellings(secret: bytes) -> set[bytes]:
    """``secret`` raw, in base64 of both alphabets wherever it begins, in hex, and escaped for URL, JSON and HTML."""
    assert len(secret) >= 12, "so short a secret stands everywhere"
    found = {secret, secret.hex().encode(), secret.hex().upper().encode(), secret.hex(":").encode()}
    found |= set(_base64(secret, base64.b64encode)) | set(_base64(secret, base64.urlsafe_b64encode))
    found |= {quote(secret).encode(), quote(secret, safe="").encode(), quote_plus(secret).encode()}
    found.add("".join(f"%{byte:02x}" for byte in secret).encode())
    try:
        text = secret.decode()
    except UnicodeDecodeError:
        return found
    return found | {html.escape(text).encode(), json.dumps(text)[1:-1].encode(), repr(text)[1:-1].encode()}


def _base64(secret: bytes, encode: Callable[[bytes], bytes]) -> Iterator[bytes]:
    """What is the same in the base64 of every text that has ``secret`` in it, for each of three beginnings."""
    for before, strange in ((0, 0), (1, 2), (2, 3)):
        encoded = encode(b"\0" * before + secret)
        whole = (before + len(secret)) // 3 * 4
        yield encoded[strange:whole]


def found_in(place: bytes, secrets: dict[str, bytes]) -> list[str]:
    """The names of the ``secrets`` that stand in ``place``, in any spelling, packed as sessions are or not."""
    whole = place + b"\n" + b"\n".join(_unpacked(place))
    return [name for name, secret in secrets.items() if any(one in whole for one in spellings(secret))]


def _unpacked(place: bytes) -> Iterator[bytes]:
    for packed, text in SIGNED.findall(place):
        try:
            data = base64.urlsafe_b64decode(text + b"=" * (-len(text) % 4))
            yield zlib.decompress(data) if packed else data
        except (binascii.Error, zlib.error):
            continue
