"""PNG pictures with only the parts that draw (PNG specification, third edition): no texts, no animation, no tail."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

from elicit_flows.brands.values import Image, Unsafe

SIGNATURE = b"\x89PNG\r\n\x1a\n"
MAX_SIDE = 2048
_KEPT = frozenset({b"IHDR", b"PLTE", b"tRNS", b"sRGB", b"gAMA", b"cHRM", b"IDAT", b"IEND"})
# By colour type: the channels, and the bits of each that are allowed.
_CHANNELS = {0: (1, (1, 2, 4, 8, 16)), 2: (3, (8, 16)), 3: (1, (1, 2, 4, 8)), 4: (2, (8, 16)), 6: (4, (8, 16))}
_BROKEN = "is a broken PNG; save it again"


def clean(raw: bytes) -> Image:
    """Raises Unsafe if it is broken, or not of a kind that all browsers draw."""
    chunks = [(name, data) for name, data in _chunks(raw) if name in _KEPT]
    names = [name for name, _ in chunks]
    if names[0] != b"IHDR" or names.count(b"IHDR") != 1 or b"IDAT" not in names or len(chunks[0][1]) != 13:
        raise Unsafe(_BROKEN)
    width, height, depth, colour, packing, filtering, interlaced = struct.unpack(">IIBBBBB", chunks[0][1])
    channels, depths = _CHANNELS.get(colour, (0, ()))
    if depth not in depths or packing or filtering:
        raise Unsafe(_BROKEN)
    if interlaced:
        raise Unsafe("is an interlaced PNG; save it without interlacing")
    if not (0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE):
        raise Unsafe(f"is {width} × {height} pixels; make it at most {MAX_SIDE} × {MAX_SIDE}")
    _check_pixels(b"".join(data for name, data in chunks if name == b"IDAT"), height, width * channels * depth)
    content = SIGNATURE
    for name, data in chunks:
        content += struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
    removed = {name.decode("ascii", "replace") for name, _ in _chunks(raw)} - {name.decode() for name in _KEPT}
    return Image("image/png", content, width, height, tuple(sorted(removed)))


def _chunks(raw: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Each part with its name, to IEND. What follows is left out."""
    place = len(SIGNATURE)
    while True:
        head = raw[place : place + 8]
        if len(head) < 8:
            raise Unsafe(_BROKEN)
        size, name = struct.unpack(">I4s", head)
        data, end = raw[place + 8 : place + 8 + size], place + 12 + size
        if len(raw) < end or raw[end - 4 : end] != struct.pack(">I", zlib.crc32(name + data)):
            raise Unsafe(_BROKEN)
        yield name, data
        if name == b"IEND":
            return
        place = end


def _check_pixels(packed: bytes, height: int, bits_per_row: int) -> None:
    """The pixels unpack to exactly the size that the head says."""
    size = height * (1 + (bits_per_row + 7) // 8)
    reader = zlib.decompressobj()
    try:
        # One more byte than there should be, so that nothing large is made of a small file.
        found = len(reader.decompress(packed, size + 1))
    except zlib.error:
        raise Unsafe(_BROKEN) from None
    if found != size or not reader.eof:
        raise Unsafe(_BROKEN)
