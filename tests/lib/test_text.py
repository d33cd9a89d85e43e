"""What others wrote, made fit to be shown (T53)."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elicit_flows.lib import text

ANY_TEXT = st.text(st.characters(), max_size=60)  # every code point, lone surrogates too
AWKWARD_TEXT = st.text(st.sampled_from("a\n\t \r\u2028\u200b\u202e\u0301\u00a0\u3164\ud800:/\\@[]?#.%:é"), max_size=60)


@pytest.mark.parametrize(
    ("given_text", "shown"),
    [
        ("Drive\u202eevig Bot", "Driveevig Bot"),
        ("pay\u2066pal\u2069", "paypal"),
        ("a\u200bb\u200cc\u200dd\ufeffe\u2060f\u00adg", "abcdefg"),
        ("\u200e\u200f\u061c", ""),
        ("tag\U000e0041\U000e0042", "tag"),
        ("\u3164\u115f\u1160\uffa0\u034f\u17b4\u2800", ""),
        ("red \x1b[31mtext\x00\x07\x7f\x9b", "red [31mtext"),
        ("odd\u00a0\u2003\u3000\tspaces", "odd    spaces"),
        ("one\r\ntwo\u2028three\x85four\x0bfive\rsix", "one\ntwo\nthree\nfour\nfive\nsix"),
        ("down" + "\n \t" * 200 + "\nhere", "down\n\nhere"),
        ("Z" + "\u0301" * 100 + "!", "Z" + "\u0301" * 8 + "!"),
        ("lone \ud800 private \ue000 none \uffff", "lone \ufffd private \ufffd none \ufffd"),
        ("  plain <b>&amp;</b> text, naïve 日本語 עברית 🙂  ", "plain <b>&amp;</b> text, naïve 日本語 עברית 🙂"),
    ],
)
def test_t53_nothing_invisible_is_left_in_a_text(given_text: str, shown: str):
    assert text.visible(given_text) == shown


@given(ANY_TEXT | AWKWARD_TEXT)
def test_t53_whatever_comes_in_only_visible_characters_come_out(anything: str):
    shown = text.visible(anything)
    unseen = {char for char in shown if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}}
    assert unseen <= {"\n"}
    assert "\n\n\n" not in shown
    shown.encode("utf-8")  # raises where a lone surrogate is left
    assert text.visible(shown) == shown


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("https://Example.COM/path", "example.com"),
        ("example.com", "example.com"),
        ("localhost:8001", "localhost"),
        ("http://127.0.0.1:8001/authorize", "127.0.0.1"),
        ("https://[2001:DB8::0:1]:444/x", "[2001:db8::1]"),
        ("https://аpple.com", "xn--pple-43d.com"),
        ("https://münchen.example", "xn--mnchen-3ya.example"),
        ("https://日本語。jp", "xn--wgv71a119e.jp"),
        ("ｅxample．com", "example.com"),
        ("https://i❤.example", "xn--i-7iq.example"),
        ("https://a_b.example.com.", "a_b.example.com."),
        # as browsers read them, and not otherwise
        ("https://good.example@bad.example/", "bad.example"),
        ("https://bad.example\\@good.example", "bad.example"),
        ("https://bad.example#@good.example", "bad.example"),
        ("https://bad.example?@good.example", "bad.example"),
        ("https:bad.example", "bad.example"),
        ("//bad.example/x", "bad.example"),
        ("ht\ntps://b\tad.example", "bad.example"),
        ("\x00 https://bad.example", "bad.example"),
        ("https://%62ad.example", "bad.example"),
        # no host that a browser would go to
        ("", ""),
        ("javascript:alert(1)", ""),
        ("ftp://files.example/", ""),
        ("https://a b.example", ""),
        ("https://[::zz]/", ""),
        ("https://x<svg>.example", ""),
    ],
)
def test_t53_a_host_is_shown_in_ascii_and_is_the_one_a_browser_goes_to(address: str, host: str):
    assert text.ascii_host(address) == host


@given(ANY_TEXT | AWKWARD_TEXT | AWKWARD_TEXT.map("https://{}".format))
def test_t53_a_host_is_plain_ascii_whatever_comes_in(anything: str):
    host = text.ascii_host(anything)
    assert host.isascii()
    assert not set(host) & set(" <>\"'&/\\@?#%\n\t")
    assert text.ascii_host(host) == host


@pytest.mark.parametrize("host", ["example.com", "https://a-b.example/x", "127.0.0.1", "[::1]", "localhost", ""])
def test_a_plain_host_needs_no_warning(host: str):
    assert text.host_warning(host) == ""


@pytest.mark.parametrize(
    "host", ["münchen.example", "xn--mnchen-3ya.example", "日本語.jp", "佐々木カナ.jp", "аррӏе.com", "i❤.example"]
)
def test_t53_a_host_with_foreign_letters_carries_a_warning(host: str):
    assert text.host_warning(host) == text.FOREIGN


@pytest.mark.parametrize(
    "host",
    ["аpple.com", "https://xn--pple-43d.com/", "gооgle.com", "ρaypal.com", "www.pаypal.com", "bücher.gооgle.com"],
)
def test_t53_a_host_of_mixed_alphabets_carries_the_stronger_warning(host: str):
    assert text.host_warning(host) == text.MIXED


@pytest.mark.parametrize(
    "url", ["https://a.example/x?y=1#z", "http://127.0.0.1:8001/", "HTTPS://A.example", "/", "/c/el_1"]
)
def test_an_address_of_the_web_or_of_ours_may_stand_in_a_link(url: str):
    assert text.safe_url(url) == url


@pytest.mark.parametrize(
    "url",
    [
        "",
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "java\nscript:alert(1)",
        " javascript:alert(1)",
        "\x01javascript:alert(1)",
        "data:text/html,<script>alert(1)</script>",
        "vbscript:x",
        "file:///etc/passwd",
        "//evil.example",
        "/\\evil.example",
        "/\t/evil.example",
        "https:evil.example",
        "https://ok.example\\@evil.example",
        "https://ok.example/\r\nSet-Cookie: a=b",
        "https://",
        "evil.example",
    ],
)
def test_t52_any_other_address_may_not(url: str):
    assert text.safe_url(url) == ""
    assert not text.is_app_address(url)


@pytest.mark.parametrize("url", ["com.example.app:/done", "com.example.app://done?x=1", "org.a-b.c1:/"])
def test_an_address_of_an_app_has_a_scheme_with_a_dot(url: str):
    assert text.is_app_address(url)


@pytest.mark.parametrize(
    "url",
    [
        "app:/done", "intent:/x", "com.example.app:done", "com.example.app:", "com.example.app:/done#x", ".app:/done",
        "com..app:/done", "com.example.:/done", "com.example.app:/a b", "com.example.app:/a\\b", "1com.example:/done",
        "COM.example.app:/done", "com.example.app:/d\u00f6ne", "com.example.app:/done\n",
        f"com.example.app:/{'x' * 2000}",
    ],
)  # fmt: skip
def test_t52_no_other_scheme_is_an_apps(url: str):
    assert not text.is_app_address(url)


def test_t145_what_cannot_be_seen_is_spelled_and_everything_else_stays() -> None:
    plain = "Line one\n\tline two, עברית, 日本語, é, 👍"
    assert text.spelled(plain) == plain
    assert text.spelled("a\u202eb\u2069c\ufeff\x00\U000e0041") == "a[U+202E]b[U+2069]c[U+FEFF][U+0000][U+E0041]"
