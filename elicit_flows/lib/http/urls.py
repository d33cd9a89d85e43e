"""What a URL must look like before anything is looked up (threats T88, T89)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from elicit_flows.lib.http import addresses
from elicit_flows.lib.http.errors import Refused
from elicit_flows.lib.http.policy import Policy, policy

MAX_LENGTH = 2048
PORTS = frozenset({443, 8443, 9443})

_VISIBLE = re.compile(r"[!-~]+")
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_PRIVATE_SUFFIXES = (".local", ".internal", ".localhost", ".localdomain", ".home.arpa", ".lan", ".intranet")


@dataclass(frozen=True)
class Target:
    """A checked URL in parts; ``host`` without brackets and in lower case, ``path`` with its query."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """The Host header: the port only where it is not the scheme's own."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == _default_port(self.scheme) else f"{name}:{self.port}"


def check_url(url: str) -> None:
    """Raises ``Refused`` when the form of ``url`` alone says that we never send there. Looks nothing up."""
    parse(url)


def parse(url: str) -> Target:
    """As ``check_url``; answers the parts."""
    rules = policy()
    parts = _split(url)
    host = (parts.hostname or "").lower()
    port = _port(parts)
    near = rules.allow_loopback and is_loopback_name(host)
    _check_scheme(parts.scheme, near)
    if not near:
        _check_host(host, bracketed="[" in parts.netloc)
        if port not in PORTS:
            raise Refused("The port must be 443, 8443 or 9443.")
    _check_not_own(host, port, rules)
    return Target(parts.scheme, host, port, (parts.path or "/") + (f"?{parts.query}" if parts.query else ""))


def is_loopback_name(host: str) -> bool:
    """``localhost``, a name below it, or a loopback address in its usual spelling."""
    if host == "localhost" or (host.endswith(".localhost") and _is_name(host)):
        return True
    address = addresses.literal(host)
    return address is not None and addresses.loopback(address)


def _split(url: str) -> SplitResult:
    if len(url) > MAX_LENGTH:
        raise Refused(f"The URL is longer than {MAX_LENGTH} characters.")
    if not _VISIBLE.fullmatch(url) or "\\" in url:
        raise Refused("The URL has a character that does not belong there; write hosts in ASCII (xn--) form.")
    try:
        parts = urlsplit(url)
    except ValueError:
        raise Refused("The URL is not well-formed.") from None
    if not url.startswith(f"{parts.scheme}://") or not parts.netloc:
        raise Refused("The URL must begin with https:// and name a host.")
    if "@" in parts.netloc:
        raise Refused("The URL must not carry a user name or password.")
    if "#" in url:
        raise Refused("The URL must not have a fragment.")
    return parts


def _port(parts: SplitResult) -> int:
    _, colon, written = parts.netloc.rpartition("]")[2].partition(":")
    if not colon:
        return _default_port(parts.scheme)
    if not re.fullmatch(r"[1-9][0-9]{0,4}", written) or int(written) > 65535:
        raise Refused("The port is not a number between 1 and 65535.")
    return int(written)


def _default_port(scheme: str) -> int:
    return 80 if scheme == "http" else 443


def _check_scheme(scheme: str, near: bool) -> None:
    if scheme != "https" and not (scheme == "http" and near):
        raise Refused("The URL must begin with https://.")


def _check_host(host: str, *, bracketed: bool) -> None:
    address = addresses.literal(host)
    if address is not None and bracketed == (address.version == 6):
        if not addresses.public(address):
            raise Refused("The address is not on the public internet.")
        return
    if _NUMBER.fullmatch(host.rpartition(".")[2]):
        raise Refused("The host is an address in an unusual spelling.")
    if bracketed or not _is_name(host):
        raise Refused("The host is not a well-formed name.")
    if host.endswith(_PRIVATE_SUFFIXES) or "." not in host:
        raise Refused("The host is not a public name.")


def _is_name(host: str) -> bool:
    return len(host) <= 253 and all(_LABEL.fullmatch(label) and _decodes(label) for label in host.split("."))


def _decodes(label: str) -> bool:
    """An xn-- label must be Punycode (RFC 3492) of visible text that is not ASCII alone."""
    if not label.startswith("xn--"):
        return True
    try:
        text = label[4:].encode().decode("punycode")
    except UnicodeError:
        return False
    return text.isprintable() and not text.isascii()


def _check_not_own(host: str, port: int, rules: Policy) -> None:
    if host in rules.own_hosts or f"{host}:{port}" in rules.own_hosts:
        raise Refused("The URL points back at this service.")
