"""What a host shows of a link before it asks whether to open it (MCP client/elicitation, "Safe URL Handling"; ACP)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

import idna

LOOPBACK = ("localhost", "127.0.0.1", "::1")
WARNINGS = {
    "punycode": "The name of the host is written with other letters than a-z: it may look like another one.",
    "not_https": "The link is not encrypted: others on the way can read and change the page.",
    "userinfo": "What stands before the @ is not the host.",
    "ip_address": "The host has no name, only a number.",
}


@dataclass(frozen=True, slots=True)
class Link:
    """A link to show. Nothing is requested from it.

    ``url``: all of it, in ASCII, without what a screen would not show. ``host``: as DNS has it (``xn--…``), and
    ``spoken`` as a person reads it. ``domain`` is the part of the host to highlight. ``warnings``: codes, whose
    sentences are in ``WARNINGS``.
    """

    url: str
    host: str
    spoken: str
    domain: str
    warnings: tuple[str, ...]

    @property
    def parts(self) -> tuple[str, str, str]:
        """The URL in three: before the part to highlight, that part, and the rest."""
        at = self.url.index("//") + 2
        authority = re.split("[/?#]", self.url[at:], maxsplit=1)[0]
        start = at + authority.rindex(self.host) + len(self.host) - len(self.domain)
        return self.url[:start], self.domain, self.url[start + len(self.domain) :]


def link(url: Any, registrable: Callable[[str], str | None] | None = None) -> Link:
    """The link as a host shows it. Raises ValueError, with the reason, for one that must not be opened.

    ``registrable`` returns the registrable domain of a host by the Public Suffix List, such as ``privatesuffix`` of
    ``publicsuffixlist.PublicSuffixList()``. Without it, or where it returns None, the whole host is highlighted.
    """
    if not isinstance(url, str):
        raise ValueError(f"A link is a text, not {type(url).__name__}.")  # noqa: TRY004  as for any other bad link
    try:
        parts = urlsplit(url)
        host, port, user = parts.hostname or "", parts.port, parts.username
    except ValueError as error:
        raise ValueError(f"The link cannot be read: {error}.") from None
    if parts.scheme not in ("https", "http"):
        raise ValueError(f"The link is {parts.scheme or 'of no scheme'}, and only https and http are opened.")
    if any(one.isspace() or unicodedata.category(one) in ("Cc", "Cf") for one in url) or "\\" in url:
        raise ValueError("The link has characters that are not shown, or that browsers read differently.")
    name = _ascii(host)
    warnings = [
        code
        for code, applies in (
            ("punycode", any(label.startswith("xn--") for label in name.split("."))),
            ("not_https", parts.scheme == "http" and name not in LOOPBACK),
            ("userinfo", user is not None),
            ("ip_address", _is_number(name) and name not in LOOPBACK),
        )
        if applies
    ]
    domain = (registrable(name) if registrable and not _is_number(name) else None) or name
    before, after = "" if user is None else "…@", "" if port is None else f":{port}"
    authority = before + (f"[{name}]" if ":" in name else name) + after
    rest = quote(url.partition("//")[2].partition(parts.netloc)[2], safe="/?#[]@!$&'()*+,;=:%~-._")
    try:
        spoken = idna.decode(name)
    except idna.IDNAError:
        spoken = name
    return Link(f"{parts.scheme}://{authority}{rest}", name, spoken, domain, tuple(warnings))


def _ascii(host: str) -> str:
    """Raises ValueError for no host, and for one that DNS does not allow."""
    if not host:
        raise ValueError("The link has no host.")
    if _is_number(host):
        return host.rstrip(".")
    if "%" in host:
        raise ValueError(f"The host {host!r} is no name: browsers read it as another.")
    try:
        return idna.encode(host, uts46=True, transitional=False).decode() if not host.isascii() else host.rstrip(".")
    except idna.IDNAError as error:
        raise ValueError(f"The host {host!r} is no name: {error}.") from None


def _is_number(host: str) -> bool:
    """Whether browsers read it as an address: also 127.1 and 0x7f.1."""
    return ":" in host or re.fullmatch("[0-9]+|0x[0-9a-f]*", host.rstrip(".").rpartition(".")[2]) is not None
