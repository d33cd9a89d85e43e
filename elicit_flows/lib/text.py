"""What other people wrote, made fit to be shown: text, hosts and addresses that cannot pretend to be something else.

Every function here takes any string and answers; none raises, because a page that shows a wrong name beats no page.
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
_MARKS = 8  # more combining marks on one letter than any script needs only serve to paint over the lines around it

_HTTP = re.compile(r"https?://[^\x00-\x20\x7f\\]+", re.IGNORECASE)
_PATH = re.compile(r"/(?![/\\])[^\x00-\x20\x7f\\]*")

_DROPPED = re.compile(r"^[\x00-\x20]+|[\x00-\x20]+$|[\t\r\n]")
_SCHEME = re.compile(r"(?:https?:)?[/\\]*", re.IGNORECASE)
_PORT = re.compile(r":\d+$")
_AUTHORITY_END = re.compile(r"[/\\?#]")
_HOST = re.compile(r"[a-z0-9._-]+")

# Scripts that are written together in one word; everything else that mixes is a warning (after UTS 39, section 5.1).
_TOGETHER = (
    {"LATIN", "CJK", "IDEOGRAPHIC", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"},
    {"LATIN", "CJK", "BOPOMOFO"},
    {"LATIN", "CJK", "HANGUL"},
)


def gettext_noop(message: str) -> str:
    """Marks a sentence for the translators; the template that shows it translates it."""
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
    """``text`` with nothing in it that cannot be seen: no bidi controls, zero-width or control characters.

    Lone surrogates, private-use characters and noncharacters become U+FFFD; odd spaces become spaces; line breaks
    become ``\\n``, with at most one blank line together, so that nothing can push the rest of a page out of sight.
    """
    lines = _NEWLINES.sub("\n", text)
    shown = "".join(_shown(char) for char in _BLANK.sub("", lines))
    return _BLANK_LINES.sub("\n\n", _thinned(shown)).strip()


def ascii_host(url_or_host: str) -> str:
    """The host a browser would go to, in lower-case ASCII (IDNA A-labels, UTS 46), without port; "" if there is none.

    Reads addresses as browsers do (WHATWG URL), so that ``https://bad.example\\@good.example`` is bad.example.
    """
    rest = _SCHEME.sub("", _DROPPED.sub("", url_or_host), count=1)
    host = _AUTHORITY_END.split(rest, maxsplit=1)[0].rpartition("@")[2]
    if host.startswith("["):
        return _ipv6(host[1:].partition("]")[0])
    labels = _mapped(unquote(_PORT.sub("", host))).split(".")
    name = ".".join(_a_label(label) for label in labels)
    return name if _HOST.fullmatch(name) else ""


def host_warning(url_or_host: str) -> str:
    """One sentence when the host may be made to look like another one (T53), else ""."""
    labels = [label for label in ascii_host(url_or_host).split(".") if label.startswith("xn--")]
    if not labels:
        return ""
    return MIXED if any(_is_mixed(label) for label in labels) else FOREIGN


def safe_url(url: str) -> str:
    """``url`` when it is http(s) or a path of this site, and so may stand in a link; else ""."""
    return url if _HTTP.fullmatch(url) or _PATH.fullmatch(url) else ""


def _shown(char: str) -> str:
    category = unicodedata.category(char)
    if char == "\n" or category not in {"Cc", "Cf", "Cs", "Co", "Cn", "Zs"}:
        return char
    if category == "Zs" or char == "\t":
        return " "
    if category in {"Cs", "Co"} or ord(char) & 0xFFFE == 0xFFFE or 0xFDD0 <= ord(char) <= 0xFDEF:
        return "\ufffd"
    return char if category == "Cn" else ""


def _thinned(text: str) -> str:
    kept: list[str] = []
    marks = 0
    for char in text:
        marks = marks + 1 if unicodedata.category(char) in {"Mn", "Me"} else 0
        if marks <= _MARKS:
            kept.append(char)
    return "".join(kept)


def _ipv6(text: str) -> str:
    try:
        return f"[{ipaddress.IPv6Address(text)}]"
    except ValueError:
        return ""


def _mapped(host: str) -> str:
    try:
        return idna.uts46_remap(host, std3_rules=False, transitional=False)
    except idna.IDNAError:
        return unicodedata.normalize("NFKC", host).lower()


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
