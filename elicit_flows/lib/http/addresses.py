"""Which IP addresses are the public internet. Everything else is refused, whatever it is called.

``ipaddress.is_private`` and ``is_global`` leave holes (shared address space, translated and tunnelled IPv4,
site-local), so the ranges are spelled out after the IANA special-purpose registries (RFC 6890 and its updates).
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

Address = IPv4Address | IPv6Address

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
    """Whether it is a global unicast address; an IPv4 address wrapped in IPv6 is judged for what it is."""
    if isinstance(address, IPv4Address):
        return address.is_global and not any(address in block for block in _DENIED_4)
    inner = _wrapped(address)
    if inner is not None:
        return public(inner)
    return address in _GLOBAL_6 and address.is_global and not any(address in block for block in _DENIED_6)


def loopback(address: Address) -> bool:
    """127.0.0.0/8 and ::1 in their own spelling; wrapped forms are not loopback, they are refused."""
    return address.is_loopback and (address.version == 4 or int(address) == 1)


def literal(host: str) -> Address | None:
    """The address that ``host`` (without brackets) spells in the usual way, else None."""
    try:
        return ip_address(host)
    except ValueError:
        return None


def _wrapped(address: IPv6Address) -> IPv4Address | None:
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return IPv4Address(int(address) & 0xFFFF_FFFF) if address in _NAT64 else None
