"""What becomes of a picture that an operator gives: cleaned, or refused with what to do."""

from __future__ import annotations

import base64
import time

import pytest

from elicit_flows.brands import pictures
from elicit_flows.brands.values import Image, Unsafe
from tests.brands.files import SVG, chunk, png, svg

SCRIPT = "<script>alert(1)</script>"


def cleaned(source: str | bytes) -> Image:
    return pictures.read(source.encode() if isinstance(source, str) else source)


def text(source: str) -> str:
    return cleaned(source).content.decode()


def test_a_plain_svg_stays_as_it_is() -> None:
    found = cleaned(SVG)
    assert (found.media_type, found.width, found.height, found.removed) == ("image/svg+xml", 300, 100, ())
    assert cleaned(found.content) == found, "and comes out the same again"
    for kept in ('fill="url(#g)"', 'stop-color="#0b5cad"', "<title>Acme</title>", 'viewBox="0 0 120 40"'):
        assert kept in found.content.decode()


ACTIVE = {
    "a script": (SCRIPT, "<script>"),
    "a script in a group": (f"<g>{SCRIPT}</g>", "<script>"),
    "a script of another spelling": ('<s:script xmlns:s="http://www.w3.org/2000/svg">x</s:script>', "<script>"),
    "a handler": ('<path d="M0 0" onclick="alert(1)"/>', "onclick"),
    "foreign content": ('<foreignObject><p xmlns="http://www.w3.org/1999/xhtml"/></foreignObject>', "<foreignObject>"),
    "a link": ('<a xlink:href="javascript:alert(1)"><path d="M0 0"/></a>', "<a>"),
    "a picture from elsewhere": ('<image href="https://evil.example/x.png"/>', "<image>"),
    "an animation": ('<set attributeName="href" to="javascript:alert(1)"/>', "<set>"),
    "another animation": ('<animate attributeName="fill" values="red;blue"/>', "<animate>"),
    "a gradient from elsewhere": ('<linearGradient xlink:href="https://evil.example/g.svg#g"/>', "href"),
    "data in place of a gradient": ('<radialGradient href="data:image/svg+xml,x"/>', "href"),
    "a fill from elsewhere": ('<path d="M0 0" fill="url(https://evil.example/x#g)"/>', "fill"),
    "a style from elsewhere": ('<path d="M0 0" style="background: image-set(\'https://evil.example/x\')"/>', "style"),
    "a style in disguise": ('<path d="M0 0" style="fill: u\\72l(https://evil.example)"/>', "style"),
    "a filter": ('<filter id="f"><feImage href="https://evil.example/x"/></filter>', "<filter>"),
}  # fmt: skip


@pytest.mark.parametrize("name", ACTIVE)
def test_t52_nothing_active_is_left_of_an_svg(name: str) -> None:
    inside, named = ACTIVE[name]
    found = cleaned(svg(inside))
    left = found.content.decode()
    assert named in found.removed, "the operator is told"
    for part in ("script", "alert", "evil.example", "javascript", "onclick", "data:", "foreign", "xhtml", "image-set"):
        assert part not in left, part
    assert cleaned(found.content) == Image("image/svg+xml", found.content, 100, 100)


def test_t52_nothing_active_is_left_of_the_outermost_element() -> None:
    found = cleaned(svg("", 'onload="alert(1)" xmlns:x="http://www.inkscape.org/" x:label="Layer 1"'))
    assert found.removed == ("onload",), "what drawing programs note means nothing, and is not worth a word"
    assert "alert" not in found.content.decode()
    assert "inkscape" not in found.content.decode()


def test_an_svg_may_have_styles_of_its_own() -> None:
    source = svg("<style>.a > b{fill:#0b5cad;stroke:rgb(1,2,3);mask:url(#m)}</style>")
    assert ".a &gt; b{fill:#0b5cad;stroke:rgb(1,2,3);mask:url(#m)}" in text(source)


BOMB = "<!DOCTYPE svg [<!ENTITY a 'aaaaaaaaaa'>" + "".join(
    f"<!ENTITY a{place} '{f'&a{place - 1 or str()};' * 10}'>" for place in range(1, 12)
) + "]>"  # fmt: skip
REFUSED = {
    "an entity bomb": (BOMB + svg("<title>&a11;</title>"), "<!DOCTYPE>"),
    "a file in an entity": ('<!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/passwd">]>' + svg("&x;"), "<!DOCTYPE>"),
    "a picture that multiplies": (svg('<g id="a"/><use href="#a"/>'), "<use>"),
    "an imported style": (svg("<style>@import url(https://evil.example)</style>"), "<style>"),
    "a style that loads": (svg("<style>rect{fill:url('https://evil.example')}</style>"), "<style>"),
    "a style in two pieces": (svg("<style>rect{fill:url<style/>('https://evil.example')}</style>"), "<style>"),
    "a style in disguise": (svg(r"<style>@\69mport 'https://evil.example'</style>"), "<style>"),
    "no shapes": ('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"><script/></svg>', "no shapes"),
    "no size": ('<svg xmlns="http://www.w3.org/2000/svg"><rect/></svg>', "viewBox"),
    "not well-formed": ("<svg xmlns='http://www.w3.org/2000/svg'><rect>", "well-formed"),
    "an undeclared entity": (svg("&nbsp;"), "well-formed"),
    "a page": ("<html><svg/></html>", "is not SVG"),
    "no namespace": ("<svg viewBox='0 0 1 1'><rect/></svg>", "is not SVG"),
    "deep": (svg("<g>" * 60 + "</g>" * 60), "simpler"),
    "much": (svg("<g/>" * 2100), "simpler"),
    "a text": ("hello", "neither"),
    "a JPEG": (b"\xff\xd8\xff\xe0" + b"\0" * 100, "neither"),
    "nothing": (b"", "neither"),
    "UTF-16": (SVG.encode("utf-16"), "neither"),
    "too large": (svg("<!--" + "x" * 70_000 + "-->"), "65536"),
    "cut off": (png()[:-20], "broken"),
    "a wrong sum": (png().replace(b"IHDR", b"IHDS"), "broken"),
    "without pixels": (png(pixels=b""), "broken"),
    "too many pixels": (png(pixels=b"\0" * 10_000), "broken"),
    "wide": (png(3000, 1), "2048"),
    "interlaced": (png(interlaced=1), "interlac"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_t52_what_cannot_be_made_safe_is_refused_with_what_to_do(name: str) -> None:
    source, said = REFUSED[name]
    began = time.monotonic()
    with pytest.raises(Unsafe, match=said):
        cleaned(source)
    assert time.monotonic() - began < 10, "an entity bomb would take hours"


@pytest.mark.parametrize("value", ["a" * 15_000, "a" + " " * 15_000 + "b", "(" * 15_000, "a(" * 7_500])
def test_t52_a_long_attribute_takes_no_time_that_grows(value: str) -> None:
    """No request of anybody is answered while a regular expression runs."""
    began = time.process_time()
    cleaned(svg(f'<path d="{value}"/>'))
    assert time.process_time() - began < 1


def test_of_a_png_only_what_draws_is_kept() -> None:
    noted = png(more=chunk(b"tEXt", b"Author\0Alice") + chunk(b"acTL", b"\0" * 8)) + b"<script>alert(1)</script>"
    found = cleaned(noted)
    assert found == Image("image/png", png(), 4, 3, ("acTL", "tEXt"))
    assert cleaned(found.content).content == found.content


def test_a_png_that_others_made_is_read() -> None:
    pixel = base64.b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
    )
    assert (cleaned(pixel).width, cleaned(pixel).height) == (1, 1)
