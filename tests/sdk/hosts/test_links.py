"""What a host shows of a link: all of it, what to highlight, and what to be careful of."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elicit_flows.sdk.hosts import WARNINGS, Link, link


def test_the_whole_link_is_shown_with_the_part_to_highlight() -> None:
    seen = link("https://flows.example.co.uk:8443/c/el_1?a=b", lambda _: "example.co.uk")
    assert seen.parts == ("https://flows.", "example.co.uk", ":8443/c/el_1?a=b")
    assert (seen.warnings, seen.host, "".join(seen.parts)) == ((), "flows.example.co.uk", seen.url)
    assert link("https://flows.example.com/c/el_1").parts == ("https://", "flows.example.com", "/c/el_1")
    assert link("https://a.example", lambda _: None).domain == "a.example"


@pytest.mark.parametrize(
    ("url", "host", "warnings"),
    [
        ("https://аpple.example/c", "xn--pple-43d.example", ("punycode",)),
        ("https://xn--pple-43d.example/c", "xn--pple-43d.example", ("punycode",)),
        ("http://flows.example/c", "flows.example", ("not_https",)),
        ("http://127.0.0.1:8000/c", "127.0.0.1", ()),
        ("http://[::1]:8000/c", "::1", ()),
        ("https://github.com@evil.example/c", "evil.example", ("userinfo",)),
        ("https://203.0.113.7/c", "203.0.113.7", ("ip_address",)),
    ],
)
def test_what_to_be_careful_of(url: str, host: str, warnings: tuple[str, ...]) -> None:
    seen = link(url)
    assert (seen.host, seen.warnings) == (host, warnings)
    assert seen.url.isascii() or "…@" in seen.url
    assert "github.com" not in seen.url, "what is not the host must not look like one"
    assert set(warnings) <= set(WARNINGS)


def test_a_host_is_told_as_a_person_reads_it() -> None:
    seen = link("https://münchen.example/ä?ö=ü")
    assert (seen.spoken, seen.host) == ("münchen.example", "xn--mnchen-3ya.example")
    assert seen.url == "https://xn--mnchen-3ya.example/%C3%A4?%C3%B6=%C3%BC"


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("javascript:alert(1)", "only https and http"),
        ("file:///etc/passwd", "only https and http"),
        ("https:///c/el_1", "no host"),
        ("https://a.example/\u202egpj.exe", "characters that are not shown"),
        ("https://a.example\\@evil.example", "browsers read differently"),
        ("https://a.example:99999/", "cannot be read"),
        (7, "is a text, not int"),
    ],
)
def test_what_must_not_be_opened_is_refused_with_the_reason(url: object, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        link(url)


@given(st.text(max_size=30).map(lambda rest: f"https://{rest}") | st.text(max_size=30))
def test_any_text_is_a_link_that_can_be_shown_or_refused(url: str) -> None:
    try:
        seen = link(url)
    except ValueError:
        return
    assert isinstance(seen, Link)
    assert "".join(seen.parts) == seen.url
    assert seen.parts[1] == seen.host


def test_the_part_to_highlight_is_of_the_host_whatever_follows_it() -> None:
    assert link("https://a.example#a.example").parts == ("https://", "a.example", "#a.example")


@pytest.mark.parametrize("host", ["2130706433", "0x7f.1", "127.1", "0177.0.0.1", "10.0.0.0x1"])
def test_a_number_that_browsers_read_as_an_address_is_told(host: str) -> None:
    assert "ip_address" in link(f"https://{host}/c").warnings


def test_a_host_that_browsers_decode_is_not_opened() -> None:
    with pytest.raises(ValueError, match="is no name"):
        link("https://good.example%2eevil.example/")


def test_a_port_of_zero_is_shown() -> None:
    assert link("https://a.example:0/").url == "https://a.example:0/"
