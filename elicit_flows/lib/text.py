"""Makes text, hosts and addresses from others safe to show, so that they cannot pretend to be something else.

Every function accepts any string and never raises, because a page with a wrong name is better than no page.
"""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from urllib.parse import unquote

import idna

_NEWLINES = re.compile("\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_BLANK_LINES = re.compile(r"\n[ \n\t]*\n")
# Letters and marks that draw nothing (Unicode's Default_Ignorable_Code_Point, without the Cf ones, and blank Braille).
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)
# Characters that reorder or hide text: direction marks, zero-width and control characters (not line breaks and tabs).
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff"
    "\U000e0000-\U000e007f]"
)
# White space, and what draws nothing. Address books and office programs put both around what is copied from them.
_AROUND = "".join(map(chr, (
    *range(9, 14), *range(28, 33), 0x85, 0xA0, 0xAD, 0x61C, 0x1680, 0x180E, *range(0x2000, 0x2010),
    *range(0x2028, 0x2030), *range(0x205F, 0x2070), 0x3000, 0xFEFF,
)))  # fmt: skip
_MARKS = 8  # no script needs more combining marks on one letter; more would cover the lines around it

_HTTP = re.compile(r"https?://[^\x00-\x20\x7f\\]+", re.IGNORECASE)
_PATH = re.compile(r"/(?![/\\])[^\x00-\x20\x7f\\]*")
_APP = re.compile(r"[a-z][a-z0-9+-]*(?:\.[a-z0-9+-]+)+:/[!\x22$-\[\]-~]*")

_DROPPED = re.compile(r"^[\x00-\x20]+|[\x00-\x20]+$|[\t\r\n]")
_SCHEME = re.compile(r"(?:https?:)?[/\\]*", re.IGNORECASE)
_PORT = re.compile(r":\d+$")
_AUTHORITY_END = re.compile(r"[/\\?#]")
_HOST = re.compile(r"[a-z0-9._-]+")

# Scripts that are used together in one word. Any other mixture gives a warning (after UTS 39, section 5.1).
_TOGETHER = (
    {"LATIN", "CJK", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"},
    {"LATIN", "CJK", "BOPOMOFO"},
    {"LATIN", "CJK", "HANGUL"},
)


def gettext_noop(message: str) -> str:
    """Mark a text for translation; the template that shows it translates it."""
    return message


FOREIGN = gettext_noop(
    "This address has letters from outside the English alphabet, which can be made to look like another address. "
    "Go on only if you expected it."
)
MIXED = gettext_noop(
    "This address mixes letters of different alphabets, as addresses that imitate another one do. "
    "Go on only if you are sure of it."
)


def visible(text: str) -> str:
    """``text`` without invisible characters: no bidi controls, zero-width or control characters.

    Lone surrogates, private-use characters and noncharacters become U+FFFD; odd spaces become spaces. Line breaks
    become ``\\n``, with at most one blank line in a row, so that the rest of a page cannot be pushed out of sight.
    """
    if text.isascii() and text.isprintable():  # most texts, and all of each is visible
        return text.strip()
    lines = _NEWLINES.sub("\n", text)
    shown = "".join(_shown(char) for char in _BLANK.sub("", lines))
    kept: list[str] = []
    marks = 0
    for char in shown:
        marks = marks + 1 if unicodedata.category(char) in {"Mn", "Me"} else 0
        if marks <= _MARKS:
            kept.append(char)
    return _BLANK_LINES.sub("\n\n", "".join(kept)).strip()


def bare(text: str) -> str:
    """``text`` without the white space and the invisible characters around it."""
    return text.strip(_AROUND)


def spelled(text: str) -> str:
    """``text`` with every invisible character written out, such as ``[U+202E]``, for readers who have to see them."""
    return _UNSEEN.sub(lambda found: f"[U+{ord(found[0]):04X}]", text)


def ascii_host(url_or_host: str) -> str:
    """The host that a browser would go to, in lower-case ASCII (IDNA A-labels, UTS 46), without port; "" if there is
    none.

    It reads addresses as browsers do (WHATWG URL), so that ``https://bad.example\\@good.example`` is bad.example.
    """
    rest = _SCHEME.sub("", _DROPPED.sub("", url_or_host), count=1)
    host = _AUTHORITY_END.split(rest, maxsplit=1)[0].rpartition("@")[2]
    if host.startswith("["):
        text = host[1:].partition("]")[0]
        try:
            return f"[{ipaddress.IPv6Address(text)}]"
        except ValueError:
            return ""
    written = unquote(_PORT.sub("", host))
    try:
        mapped = idna.uts46_remap(written, std3_rules=False, transitional=False)
    except idna.IDNAError:
        mapped = unicodedata.normalize("NFKC", written).lower()
    name = ".".join(_a_label(label) for label in mapped.split("."))
    return name if _HOST.fullmatch(name) else ""


def host_warning(url_or_host: str) -> str:
    """A sentence if the host may look like another one (T53), or else ""."""
    labels = [label for label in ascii_host(url_or_host).split(".") if label.startswith("xn--")]
    if not labels:
        return ""
    return MIXED if any(_is_mixed(label) for label in labels) else FOREIGN


def safe_url(url: str) -> str:
    """``url`` if it is http(s) or a path of this site, so that it may be a link; or else ""."""
    return url if _HTTP.fullmatch(url) or _PATH.fullmatch(url) else ""


def is_app_address(url: str) -> bool:
    """Whether it is the address of a native app, such as ``com.example.app:/done``.

    It has at most 2000 visible ASCII characters, no fragment, and a scheme with a dot. Browsers run none that has one.
    """
    return len(url) <= 2000 and bool(_APP.fullmatch(url))


def _shown(char: str) -> str:
    category = unicodedata.category(char)
    if char == "\n" or category not in {"Cc", "Cf", "Cs", "Co", "Cn", "Zs"}:
        return char
    if category == "Zs" or char == "\t":
        return " "
    if category in {"Cs", "Co"} or ord(char) & 0xFFFE == 0xFFFE or 0xFDD0 <= ord(char) <= 0xFDEF:
        return "\ufffd"
    return char if category == "Cn" else ""


def _a_label(label: str) -> str:
    if label.isascii():
        return label
    try:
        return idna.alabel(label).decode("ascii")
    except idna.IDNAError:  # browsers go to some names that IDNA 2008 forbids, such as those with emoji
        return "xn--" + label.encode("punycode").decode("ascii")


def _is_mixed(label: str) -> bool:
    try:
        letters = label.removeprefix("xn--").encode("ascii").decode("punycode")
    except UnicodeError:
        return True
    names = (unicodedata.name(char, "UNKNOWN") for char in letters if char.isalpha())
    scripts = {name.partition(" ")[0] for name in names}
    return len(scripts) > 1 and not any(scripts <= group for group in _TOGETHER)
