"""Networks that an operator allows besides the public internet, for providers and receivers in a private network.

Some addresses stay forbidden if a network around them is allowed: this machine, link-local addresses, the metadata
services of clouds. An entry allows one of these only if it names exactly that address (T89).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

PORTS = frozenset({443, 8443, 9443})  # of entries that name no ports
MAX_PORTS = 16

# Never a server, or an IPv4 address in disguise. No entry allows them.
_NEVER = [
    ip_network(block)
    for block in (
        "0.0.0.0/8",
        "224.0.0.0/4",
        "240.0.0.0/4",
        "::/128",
        "::ffff:0:0/96",
        "64:ff9b::/96",
        "64:ff9b:1::/48",
        "2001::/32",
        "2002::/16",
        "ff00::/8",
    )
]
_ONLY_EXACTLY = [
    ip_network(block)
    for block in (
        "127.0.0.0/8",
        "::1/128",
        "169.254.0.0/16",  # link-local; the metadata service of most clouds is 169.254.169.254
        "fe80::/10",
        "100.100.100.200/32",  # metadata at Alibaba
        "168.63.129.16/32",  # Azure's host agent
        "192.0.0.192/32",  # metadata at Oracle, formerly
        "fd00:ec2::/32",  # metadata and other services of AWS's hosts
        "fd20:ce::254/128",  # metadata at Google
        "fd00:42::42/128",  # metadata at Scaleway
        "fd00:c1::a9fe:a9fe/128",  # metadata at Oracle
    )
]
_ENTRY = re.compile(r"(?:\[(?P<v6>[0-9a-f:./]+)\]|(?P<v4>[0-9./]+))(?::(?P<port>\d+))?", re.IGNORECASE)


@dataclass(frozen=True)
class AllowedNetwork:
    """``ports``: the ports that are allowed in this network."""

    network: Network
    ports: frozenset[int] = PORTS

    def __str__(self) -> str:
        at = f"[{self.network}]" if self.network.version == 6 else str(self.network)
        return f"{at}:{','.join(map(str, sorted(self.ports)))}"

    def allows(self, address: Address, port: int) -> bool:
        if port not in self.ports or address not in self.network or any(address in block for block in _NEVER):
            return False
        return _is_one(self.network) or not any(address in block for block in _ONLY_EXACTLY)


def read(text: str) -> tuple[AllowedNetwork, ...]:
    """``10.20.0.0/16:443,8443, [fd12:3456::/48], 10.9.0.7``: a number after a comma is one more port of the same entry.

    Raises ValueError with a sentence that names the wrong part.
    """
    found: list[tuple[Network, set[int]]] = []
    for part in filter(None, (each.strip() for each in text.split(","))):
        if part.isdecimal() and found and found[-1][1]:
            found[-1][1].add(_port(part))
            continue
        entry = _ENTRY.fullmatch(part)
        if entry is None:
            raise ValueError(f"{part!r} is no network: write 10.20.0.0/16:443,8443 or [fd12:3456::/48]:443")
        found.append((_network(entry["v6"] or entry["v4"]), {_port(entry["port"])} if entry["port"] else set()))
    for network, ports in found:
        if len(ports) > MAX_PORTS:
            raise ValueError(f"{network} has more than {MAX_PORTS} ports")
    return tuple(AllowedNetwork(network, frozenset(ports) or PORTS) for network, ports in found)


def _port(written: str) -> int:
    if not 1 <= int(written) <= 65535:
        raise ValueError(f"{written} is no port")
    return int(written)


def _network(written: str) -> Network:
    try:
        network = ip_network(written)
    except ValueError as error:
        raise ValueError(f"{written!r} is no address and no network: {error}") from None
    if any(network.version == block.version and network.overlaps(block) for block in _NEVER):
        raise ValueError(f"{network} has addresses at which no server can be; allow a smaller network")
    if not _is_one(network) and any(
        (network.version == block.version and network.network_address in block and network.prefixlen >= block.prefixlen)
        for block in _ONLY_EXACTLY
    ):
        raise ValueError(
            f"{network} is this machine, link-local or metadata services, of which only single addresses can be allowed"
        )
    return network


def _is_one(network: Network) -> bool:
    return network.prefixlen == network.max_prefixlen
