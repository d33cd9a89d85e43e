"""The address of a mail server to send with (SMTP, RFC 5321; TLS as in RFC 3207 and RFC 8314)."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

PORTS = {"smtp": 587, "smtps": 465, "smtp+plain": 25}
_MUST = "it must be smtp://host:587 (STARTTLS), smtps://host:465 (TLS) or smtp+plain://host:25 (neither)"


@dataclass(frozen=True, slots=True)
class MailServer:
    """``scheme``: ``smtp`` begins TLS with STARTTLS and sends nothing without it, ``smtps`` begins with TLS,
    ``smtp+plain`` has none.
    """

    scheme: str
    host: str
    port: int
    user: str = ""
    password: str = field(default="", repr=False)

    def __str__(self) -> str:
        return f"{self.scheme}://{self.host}:{self.port}"


def read(url: str, password: str | None = None) -> MailServer:
    """``smtp://user@mail.example.com:587``. ``password`` replaces the one in the address.

    Raises ValueError with a sentence, which does not repeat the address: it may hold a password.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValueError(_MUST) from None
    if parts.scheme not in PORTS or not parts.hostname or parts.path not in {"", "/"} or parts.query or parts.fragment:
        raise ValueError(_MUST)
    found = MailServer(
        parts.scheme,
        parts.hostname,
        port or PORTS[parts.scheme],
        unquote(parts.username or ""),
        password or unquote(parts.password or ""),
    )
    if found.scheme == "smtp+plain" and found.user:
        raise ValueError("smtp+plain would send the password for anybody to read; use smtp or smtps")
    return found
