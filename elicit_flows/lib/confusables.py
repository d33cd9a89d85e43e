"""Folds letters that look like others to the plain letters that a reader takes them for.

It is used to find disguised words, like the skeletons of UTS 39: it covers Latin, Cyrillic, Greek, Armenian and
Cherokee letters, small capitals, and digits and signs in place of letters. NFKD folds other fonts (full width, bold,
circled). The result is only compared, never shown.
"""

from __future__ import annotations

import re
import unicodedata

from elicit_flows.lib import text

_BARRED = str.maketrans("łøđħ", "lodh")  # letters whose bar is not a combining accent


def _table(*rows: str) -> dict[int, str]:
    """Each row is a plain letter and those that look like it."""
    return {ord(char): row[0] for row in rows for char in row[1:]}


# Upper case first: Η looks like H, and its lower case η like n.
_UPPER = _table(
    "AАΑᎪ", "BВΒᏴ", "CСϹᏟ", "DᎠ", "EЕΕᎬ", "GᏀ", "HНΗᎻ", "IІΙӀ", "JЈᎫ", "KКΚᏦ", "LᏞ", "MМΜᎷ", "NΝ", "OОΟՕ", "PРΡᏢ",
    "QԚ", "RᎡ", "SЅᏚՏ", "TТΤᎢ", "UՍ", "VѴᏙ", "WԜᎳ", "XХΧ", "YУΥҮᎽ", "ZΖᏃ",
)  # fmt: skip
_LOWER = _table(
    "aаαɑᴀ4@", "bвьƅβʙ", "cсϲᴄς", "dԁɗᴅ", "eеεɛєᴇ3", "fꜰƒ", "gɡցɢ", "hһнհʜ", "iіιıɩɪ1", "jјϳȷᴊ", "kкκᴋ", "lӏʟ",
    "mмᴍ", "nпηոɴ", "oоοσօᴏ0", "pрρᴘ", "qԛզ", "rгʀ", "sѕꜱ5$", "tтτᴛ7", "uυսᴜ", "vνѵᴠ", "wωԝѡшᴡ", "xхχ", "yуγүʏ",
    "zᴢ",
)  # fmt: skip
_SPACED = re.compile(r"(?<![^\W_])[^\W_](?:[\s._-][^\W_]){2,}(?![^\W_])")


def folded(said: str) -> str:
    """The text without case, accents and invisible characters."""
    plain = unicodedata.normalize("NFKD", text.visible(said)).casefold()
    return "".join(char for char in plain if not unicodedata.combining(char)).translate(_BARRED)


def skeleton(said: str) -> str:
    """``folded``, with every letter replaced by the Latin one that it looks like."""
    return folded(unicodedata.normalize("NFKD", text.visible(said)).translate(_UPPER)).translate(_LOWER)


def joined(said: str) -> str:
    """Three or more letters with spaces or dots between them as one word: ``p a s s``, ``p.a.s.s``."""
    return _SPACED.sub(lambda found: re.sub(r"[\s._-]", "", found[0]), said)
