"""Pictures for tests, good and bad."""

from __future__ import annotations

import struct
import zlib

from elicit_flows.brands.png import SIGNATURE

SVG = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 120 40"><title>Acme</title><defs>\
<linearGradient id="g"><stop offset="0" stop-color="#0b5cad" /><stop offset="1" stop-color="#7db8ff" />\
</linearGradient></defs><path d="M0 0h120v40H0z" fill="url(#g)" /></svg>"""


def svg(inside: str, more: str = "") -> str:
    return f"""<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 9 9"
        {more}><rect width="9" height="9"/>{inside}</svg>"""


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(
    width: int = 4, height: int = 3, *, more: bytes = b"", interlaced: int = 0, pixels: bytes | None = None
) -> bytes:
    head = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, interlaced)
    rows = (b"\0" + b"\x0b\x5c\xad\xff" * width) * height if pixels is None else pixels
    return SIGNATURE + chunk(b"IHDR", head) + more + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
