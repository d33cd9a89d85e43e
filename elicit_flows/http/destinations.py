"""Which destinations requests may have: the policy of this process, the public addresses, and the form of a URL.

A URL is checked before its name is looked up (threats T88, T89). The policy is strict until ``configure`` changes it,
once, at start-up.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Network, ip_address
from urllib.parse import SplitResult, urlsplit

from elicit_flows.lib.egress_proxy import EgressProxy
from elicit_flows.lib.networks import PORTS, Address, AllowedNetwork


class Refused(Exception):
    """The destination is not permitted. ``str`` is one sentence that is safe to show. It never contains the URL."""


class Unreachable(Exception):
    """There is no usable answer: the name look-up, the connection, TLS or HTTP failed, the deadline has passed, or the
    answer is too large.

    ``sent``: whether bytes of the request may have reached the server. If not, the request had no effect.
    """

    def __init__(self, message: str, *, sent: bool = False) -> None:
        super().__init__(message)
        self.sent = sent


@dataclass(frozen=True)
class Policy:
    """``allow_loopback``: requests to this machine are permitted, also over http and on any port (development, tests).

    ``own_hosts``: our own public names, each ``host`` (every port) or ``host:port``. Requests to them are refused, so
    that nobody can make the service call itself.

    ``networks``: permitted besides the public internet. ``proxy``: all other requests go through it.
    """

    allow_loopback: bool = False
    own_hosts: frozenset[str] = frozenset()
    networks: tuple[AllowedNetwork, ...] = ()
    proxy: EgressProxy | None = None


_current = [Policy()]
_watchers: list[Callable[[], None]] = []


def configure(new: Policy) -> None:
    """Sets the policy of the whole process, and closes every connection that was made under the former one."""
    _current[0] = new
    for changed in _watchers:
        changed()


def policy() -> Policy:
    return _current[0]


def on_change(changed: Callable[[], None]) -> None:
    _watchers.append(changed)


_DENIED_4 = [
    IPv4Network(block)
    for block in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",  # carrier-grade NAT; some clouds keep their metadata service here
        "127.0.0.0/8",
        "168.63.129.16/32",  # Azure's host agent, a public-looking address inside every virtual network
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
    )
]

_GLOBAL_6 = IPv6Network("2000::/3")  # the only block from which global unicast is assigned
_NAT64 = IPv6Network("64:ff9b::/96")
_DENIED_6 = [
    IPv6Network(block)
    for block in (
        "2001::/23",  # protocol assignments, Teredo and ORCHID among them
        "2001:db8::/32",
        "2002::/16",  # 6to4: withdrawn (RFC 7526), and it carries an IPv4 address of the sender's choice
        "2620:4f:8000::/48",
        "3ffe::/16",
        "3fff::/20",
    )
]


def public(address: Address) -> bool:
    """Whether it is a global unicast address. An IPv4 address within an IPv6 address is checked as IPv4."""
    if isinstance(address, IPv4Address):
        return address.is_global and not any(address in block for block in _DENIED_4)
    inner = address.ipv4_mapped
    if inner is None and address in _NAT64:
        inner = IPv4Address(int(address) & 0xFFFF_FFFF)
    if inner is not None:
        return public(inner)
    return address in _GLOBAL_6 and address.is_global and not any(address in block for block in _DENIED_6)


def within(address: Address, port: int, rules: Policy) -> bool:
    """Whether the operator allows this address and port, though it may be in a private network."""
    return any(entry.allows(address, port) for entry in rules.networks)


def reachable(address: Address, port: int, rules: Policy) -> bool:
    """Whether a request may go to this very address and port."""
    return (port in PORTS and public(address)) or within(address, port, rules)


def loopback(address: Address) -> bool:
    """Whether it is in 127.0.0.0/8 or is ::1. The IPv6 form of a 127.0.0.0/8 address is not: it is refused."""
    return address.is_loopback and (address.version == 4 or int(address) == 1)


@lru_cache(maxsize=1024)
def literal(host: str) -> Address | None:
    """The address that ``host`` (without brackets) spells in the usual way, else None."""
    try:
        return ip_address(host)
    except ValueError:
        return None


MAX_LENGTH = 2048
_DEFAULT_PORTS = {"http": 80, "https": 443}

_VISIBLE = re.compile(r"[!-~]+")
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_OWN_SUFFIXES = (".localhost", ".localdomain")
_PRIVATE_SUFFIXES = (*_OWN_SUFFIXES, ".local", ".internal", ".home.arpa", ".lan", ".intranet")


@dataclass(frozen=True)
class Target:
    """A checked URL in parts; ``host`` without brackets and in lower case, ``path`` with its query.

    ``authority``: the Host header, with the port unless it is the default of the scheme.
    """

    scheme: str
    host: str
    port: int
    path: str
    authority: str


def check_url(url: str) -> Target:
    """The parts of ``url``. Raises ``Refused`` if ``url`` itself is not permitted. Its name is not looked up."""
    parts = _split(url)
    host = (parts.hostname or "").lower()
    port = _DEFAULT_PORTS.get(parts.scheme, 443)
    _, colon, written = parts.netloc.rpartition("]")[2].partition(":")
    if colon:
        if not re.fullmatch(r"[1-9][0-9]{0,4}", written) or int(written) > 65535:
            raise Refused("The port is not a number between 1 and 65535.")
        port = int(written)
    rules = policy()
    near = rules.allow_loopback and is_loopback_name(host)
    if parts.scheme != "https" and not (parts.scheme == "http" and near):
        raise Refused("The URL must begin with https://.")
    if not near:
        _check_host(host, port, rules, bracketed="[" in parts.netloc)
    if host in rules.own_hosts or f"{host}:{port}" in rules.own_hosts:
        raise Refused("The URL points back at this service.")
    authority = f"[{host}]" if ":" in host else host
    if port != _DEFAULT_PORTS[parts.scheme]:
        authority += f":{port}"
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(parts.scheme, host, port, path, authority)


# Below these domains of hosting companies, each name is another customer's. Those below a country's, such as co.uk,
# are known by their form.
_SHARED_NAMES = """
    amazonaws.com amplifyapp.com appspot.com awsapprunner.com azure-api.net azurecontainerapps.io azureedge.net
    azurewebsites.net cloudapp.net cloudfront.net cloudfunctions.net deno.dev edgeone.app fastmcp.app firebaseapp.com
    fly.dev github.dev github.io gitlab.io herokuapp.com hf.space koyeb.app lambda-url.on.aws modal.run netlify.app
    ngrok.app ngrok.dev ngrok.io ngrok-free.app ngrok-free.dev now.sh on.aws onrender.com pages.dev railway.app
    replit.app replit.dev repl.co run.app smithery.ai streamlit.app supabase.co trycloudflare.com val.run vercel.app
    vercel.dev web.app core.windows.net workers.dev
"""
_SHARED = frozenset(_SHARED_NAMES.split())
_UNDER_A_COUNTRY = re.compile(r"(ac|co|com|edu|gob|gov|gouv|go|mil|ne|net|nom|or|org)\.[a-z]{2}")


def same_site(one: str, other: str) -> bool:
    """Whether both addresses are one owner's, as far as their names say: the same host and port, or hosts of which one
    is below the other, or both below a domain that is not for everybody. Raises Refused.
    """
    targets = check_url(one), check_url(other)
    if targets[0].authority == targets[1].authority:
        return True
    if any(literal(target.host) is not None for target in targets):
        return False
    common: list[str] = []
    for label, same in zip(*(reversed(target.host.split(".")) for target in targets), strict=False):
        if label != same:
            break
        common.insert(0, label)
    domain = ".".join(common)
    if len(common) < 2 or domain in _SHARED or _UNDER_A_COUNTRY.fullmatch(domain):
        return False
    return domain in (targets[0].host, targets[1].host) or not domain.endswith(tuple(f".{of}" for of in _SHARED))


@lru_cache(maxsize=1024)
def is_loopback_name(host: str) -> bool:
    """``localhost``, a name below it, or a loopback address in its usual spelling."""
    if host == "localhost" or (host.endswith(".localhost") and _is_name(host)):
        return True
    address = literal(host)
    return address is not None and loopback(address)


def is_private_name(host: str) -> bool:
    """Whether only private networks have such names."""
    return host.endswith(_PRIVATE_SUFFIXES) or "." not in host


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


def _check_host(host: str, port: int, rules: Policy, *, bracketed: bool) -> None:
    address, ports = literal(host), PORTS.union(*(entry.ports for entry in rules.networks))
    if address is not None and bracketed == (address.version == 6):
        if not public(address) and not any(within(address, each, rules) for each in ports):
            raise Refused("The address is not on the public internet.")
        open_port = reachable(address, port, rules)
    elif _NUMBER.fullmatch(host.rpartition(".")[2]):
        raise Refused("The host is an address in an unusual spelling.")
    elif bracketed or not _is_name(host):
        raise Refused("The host is not a well-formed name.")
    # A name of a private network is permitted if a private network is allowed. Its addresses are checked all the same.
    elif host == "localhost" or host.endswith(_OWN_SUFFIXES) or (is_private_name(host) and not rules.networks):
        raise Refused("The host is not a public name.")
    else:
        open_port = port in ports  # every allowed port passes here; later the name's address decides
    if not open_port:
        raise Refused("The port must be 443, 8443 or 9443, or one that is allowed for a private network.")


def _is_name(host: str) -> bool:
    """An xn-- label must be Punycode (RFC 3492) of visible text that is not ASCII alone."""
    labels = host.split(".")
    if len(host) > 253 or not all(map(_LABEL.fullmatch, labels)):
        return False
    try:
        texts = [label[4:].encode().decode("punycode") for label in labels if label.startswith("xn--")]
    except UnicodeError:
        return False
    return all(text.isprintable() and not text.isascii() for text in texts)
