"""Which URLs are never sent to, judged by form alone."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest

from elicit_flows import http
from elicit_flows.http import destinations
from tests.doubles.policy import dialing, loopback_allowed

INSIDE_4 = """
0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 100.127.255.254 127.0.0.1 127.0.0.2 127.1.2.3
127.255.255.254 168.63.129.16 169.254.0.1 169.254.169.254 169.254.170.2 172.16.0.1 172.17.0.1 172.31.255.255
192.0.0.1 192.0.0.8 192.0.0.170 192.0.2.1 192.31.196.1 192.52.193.1 192.88.99.1 192.168.0.1 192.168.255.255
192.175.48.1 198.18.0.1 198.19.255.255 198.51.100.7 203.0.113.9 224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255
"""

INSIDE_6 = """
:: ::1 ::2 ::127.0.0.1 ::169.254.169.254 ::ffff:0:127.0.0.1 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 64:ff9b:1::a00:1 100::1
2001::1 2001:0:7f00:1::1 2001:2::1 2001:10::1 2001:20::1 2001:db8::1 2002:7f00:1:: 2002:a9fe:a9fe::1 3ffe::1 3fff::1
2620:4f:8000::1 5f00::1 fc00::1 fd00:ec2::254 fe80::1 fec0::1 ff02::1 ff0e::1 4000::1 e000::1
"""

OUTSIDE = ["1.1.1.1", "8.8.8.8", "93.184.216.34", "2606:4700:4700::1111", "2001:4860:4860::8888", "64:ff9b::808:808"]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("https://as.example.com/a", "https://as.example.com/t", True),
        ("https://www.example.com/a", "https://api.example.com/t", True),
        ("https://mcp.example.com/a", "https://cf.mcp.example.com/t", True),
        ("https://example.com/a", "https://api.example.com/t", True),
        ("https://a.tenant.workers.dev/a", "https://tenant.workers.dev/t", True),
        ("https://1.1.1.1/a", "https://1.1.1.1/t", True),
        ("https://example.com/a", "https://example.org/t", False),
        ("https://example.com/a", "https://example.com.evil.net/t", False),
        ("https://example.com/a", "https://xexample.com/t", False),
        ("https://evil.workers.dev/a", "https://honest.workers.dev/t", False),
        ("https://evil.us-east-1.on.aws/a", "https://honest.us-east-1.on.aws/t", False),
        ("https://evil.co.uk/a", "https://honest.co.uk/t", False),
        ("https://1.2.3.4/a", "https://9.2.3.4/t", False),
    ],
)  # fmt: skip
def test_t151_two_addresses_are_of_one_site_only_if_one_owner_has_both(one: str, other: str, same: bool) -> None:
    assert http.same_site(one, other) is same
    assert http.same_site(other, one) is same


def spellings_4(address: str) -> list[str]:
    a, b, c, d = (int(part) for part in address.split("."))
    number = int(IPv4Address(address))
    return [
        address,
        str(number),
        f"0{a:o}.0{b:o}.0{c:o}.0{d:o}",
        hex(number),
        f"0x{a:x}.{b}.{c << 8 | d}",
        f"{a}.{b << 16 | c << 8 | d}",
        f"[::ffff:{address}]",
        f"[::ffff:{number >> 16:x}:{number & 0xFFFF:x}]",
        f"[64:ff9b::{address}]",
        f"[{address}]",
    ]


def spellings_6(address: str) -> list[str]:
    whole = IPv6Address(address)
    return [f"[{address}]", f"[{address.upper()}]", f"[{whole.exploded}]", f"[{whole.compressed}]", address]


@pytest.mark.parametrize("address", INSIDE_4.split())
def test_t89_no_spelling_of_an_inner_ipv4_address_is_sent_to(address: str) -> None:
    for host in spellings_4(address):
        with pytest.raises(http.Refused):
            http.check_url(f"https://{host}/")


@pytest.mark.parametrize("address", INSIDE_6.split())
def test_t89_no_spelling_of_an_inner_ipv6_address_is_sent_to(address: str) -> None:
    for host in spellings_6(address):
        with pytest.raises(http.Refused):
            http.check_url(f"https://{host}/")


@pytest.mark.parametrize("address", (INSIDE_4 + INSIDE_6).split())
def test_t89_an_inner_address_is_not_public_whatever_name_leads_to_it(address: str) -> None:
    assert not destinations.public(ip_address(address))


@pytest.mark.parametrize("address", OUTSIDE)
def test_public_addresses_may_be_written_as_a_host(address: str) -> None:
    http.check_url(f"https://[{address}]/" if ":" in address else f"https://{address}/")


@pytest.mark.parametrize("host", ["1572395042", "0x5db8d822", "93.184.55330", "0135.0270.0330.042", "1.1.1.1."])
def test_even_a_public_address_is_refused_in_an_unusual_spelling(host: str) -> None:
    with pytest.raises(http.Refused):
        http.check_url(f"https://{host}/")


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example.com/",
        "ftp://hooks.example.com/",
        "//hooks.example.com/",
        "https:hooks.example.com/",
        "https:///hooks",
        "javascript:alert(1)",
        "",
        "https://",
        "https://user@hooks.example.com/",
        "https://user:word@hooks.example.com/",
        "https://hooks.example.com:22/",
        "https://hooks.example.com:6379/",
        "https://hooks.example.com:80/",
        "https://hooks.example.com:/",
        "https://hooks.example.com:0443/",
        "https://hooks.example.com:99999/",
        "https://hooks.example.com:443x/",
        "https://hooks.example.com/#part",
        "https://hooks.example.com/#",
        "https://printer.local/",
        "https://vault.internal/",
        "https://metadata.google.internal/",
        "https://localhost/",
        "https://app.localhost/",
        "https://router.home.arpa/",
        "https://intranet/",
        "https://аpple.com/",
        "https://xn--a.example.com/",
        "https://xn--99999999999.example.com/",
        "https://-bad.example.com/",
        "https://under_score.example.com/",
        "https://a..example.com/",
        "https://hooks.example.com./",
        "https://%6cocalhost/",
        "https://hooks.example.com\\@127.0.0.1/",
        "https://hooks.example.com/a b",
        "https://hooks.example.com/\r\nHost: evil",
        "https://hooks.exa\tmple.com/",
        "https://hooks.example.com/\x00",
        " https://hooks.example.com/",
        "https://[::1/",
        "https://[fe80::1%25eth0]/",
        "https://[v1.a]/",
        f"https://{'a' * 64}.example.com/",
        f"https://hooks.example.com/{'a' * 2048}",
    ],
)
def test_t88_bad_forms_are_refused(url: str) -> None:
    with pytest.raises(http.Refused):
        http.check_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://hooks.example.com",
        "https://HOOKS.example.com/in?a=1&b=%20",
        "https://hooks.example.com:443/",
        "https://hooks.example.com:8443/",
        "https://hooks.example.com:9443/",
        "https://xn--bcher-kva.example/",
    ],
)
def test_t88_good_forms_pass(url: str) -> None:
    http.check_url(url)


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:8001/x", "http://localhost/", "http://[::1]:3000/", "https://op.localhost:3000/"],
)
def test_loopback_passes_only_where_it_is_allowed(url: str) -> None:
    with pytest.raises(http.Refused):
        http.check_url(url)
    with loopback_allowed():
        http.check_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example.com/",
        "http://10.0.0.1/",
        "http://192.168.1.1:8000/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://[::ffff:127.0.0.1]/",
        "http://0.0.0.0:8000/",
        "http://[::]:8000/",
        "http://localhost.example.com/",
        "http://user@localhost/",
        "http://localhost/#part",
        "ftp://localhost/",
    ],
)
def test_allowing_loopback_allows_nothing_else(url: str) -> None:
    with loopback_allowed(), pytest.raises(http.Refused):
        http.check_url(url)


def test_t89_our_own_hosts_are_not_called() -> None:
    own = frozenset({"flows.example.com", "127.0.0.1:8000"})
    with dialing(http.Policy(allow_loopback=True, own_hosts=own)):
        for url in ("https://flows.example.com/", "https://FLOWS.example.com:8443/", "http://127.0.0.1:8000/"):
            with pytest.raises(http.Refused):
                http.check_url(url)
        http.check_url("http://127.0.0.1:8001/")


def test_the_refusal_never_repeats_the_url() -> None:
    with pytest.raises(http.Refused) as refusal:
        http.check_url("https://canary:canary@hooks.example.com/canary#canary")
    assert "canary" not in str(refusal.value)
