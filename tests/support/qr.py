"""Reads a QR code back from its SVG (ISO/IEC 18004): one written by the library under test proves nothing by itself.

Only what an address needs: versions 3 to 6, level M, bytes. Errors are not corrected, since nothing damages it here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

Modules = list[list[bool]]
QUIET = 4  # modules of margin on each side
LEVEL_M = 0b00
# Version: the blocks of data codewords at level M. All their lengths are equal.
DATA: dict[int, tuple[int, int]] = {3: (1, 44), 4: (2, 32), 5: (2, 43), 6: (4, 27)}
MASKS: tuple[Callable[[int, int], bool], ...] = (
    lambda y, x: (y + x) % 2 == 0,
    lambda y, x: y % 2 == 0,
    lambda y, x: x % 3 == 0,
    lambda y, x: (y + x) % 3 == 0,
    lambda y, x: (y // 2 + x // 3) % 2 == 0,
    lambda y, x: y * x % 2 + y * x % 3 == 0,
    lambda y, x: (y * x % 2 + y * x % 3) % 2 == 0,
    lambda y, x: ((y + x) % 2 + y * x % 3) % 2 == 0,
)


def read(svg: str) -> str:
    """The text of the code in ``svg``."""
    modules = _modules(svg)
    size = len(modules)
    version = (size - 17) // 4
    form = sum(modules[8][x] << 14 - place for place, x in enumerate([0, 1, 2, 3, 4, 5])) ^ 0b101010000010010
    assert form >> 13 == LEVEL_M, "level M"
    mask = MASKS[form >> 10 & 7]
    bits = [modules[y][x] != mask(y, x) for y, x in _data_places(size)]
    blocks, each = DATA[version]
    words = [sum(bit << 7 - n for n, bit in enumerate(bits[8 * at : 8 * at + 8])) for at in range(blocks * each)]
    data = [word for block in range(blocks) for word in words[block::blocks]]  # they are interleaved
    stream = "".join(f"{word:08b}" for word in data)
    assert stream[:4] == "0100", "bytes"
    length = int(stream[4:12], 2)
    end = 12 + 8 * length
    # After the text: the end of the message, then padding and nothing else. segno begins it with a byte of zeros.
    assert stream[end : end + 4] == "0000"
    rest = stream[end + 4 :].removeprefix("00000000")
    assert rest == ("1110110000010001" * len(rest))[: len(rest)], "there is something behind the text"
    return bytes(int(stream[at : at + 8], 2) for at in range(12, end, 8)).decode()


def _modules(svg: str) -> Modules:
    """The dark modules, each a square in the path."""
    found = re.search(r'viewBox="0 0 (\d+) \1"><path d="((?:M\d+ \d+h1v1h-1z)+)"/>', svg)
    assert found, svg[:200]
    size = int(found[1]) - 2 * QUIET
    modules = [[False] * size for _ in range(size)]
    for x, y in re.findall(r"M(\d+) (\d+)", found[2]):
        modules[int(y) - QUIET][int(x) - QUIET] = True
    return modules


def _data_places(size: int) -> Iterator[tuple[int, int]]:
    """Where the bits are: in columns of two from the right, up and down, around the fixed patterns."""
    right, up = size - 1, True
    while right > 0:
        right -= right == 6  # the vertical timing pattern
        for y in range(size - 1, -1, -1) if up else range(size):
            yield from ((y, x) for x in (right, right - 1) if not _fixed(y, x, size))
        right, up = right - 2, not up


def _fixed(y: int, x: int, size: int) -> bool:
    corner = (y < 9 and (x < 9 or x >= size - 8)) or (y >= size - 8 and x < 9)
    return corner or 6 in (y, x) or (abs(y - size + 7) <= 2 and abs(x - size + 7) <= 2)
