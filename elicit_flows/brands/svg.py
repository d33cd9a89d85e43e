"""SVG pictures without anything active: shapes, gradients and text that load nothing and run nothing."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from elicit_flows.brands.values import Image, Unsafe

SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
MAX_ELEMENTS, MAX_DEPTH = 2000, 40
SHAPES = frozenset({"path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text"})
_WITH_TEXT = frozenset({"title", "desc", "text", "tspan", "style"})
ELEMENTS = SHAPES | _WITH_TEXT | frozenset({
    "svg", "g", "defs", "linearGradient", "radialGradient", "stop", "clipPath", "mask",
})  # fmt: skip
_NAMES = """
    alignment-baseline baseline-shift class clip-path clip-rule clipPathUnits color cx cy d display dominant-baseline dx
    dy fill fill-opacity fill-rule font-family font-size font-style font-weight fr fx fy gradientTransform gradientUnits
    height href id lengthAdjust letter-spacing mask mask-type maskContentUnits maskUnits offset opacity paint-order
    points preserveAspectRatio r rotate rx ry shape-rendering spreadMethod stop-color stop-opacity stroke
    stroke-dasharray stroke-dashoffset stroke-linecap stroke-linejoin stroke-miterlimit stroke-opacity stroke-width
    style text-anchor textLength transform vector-effect version viewBox visibility width word-spacing x x1 x2 y y1
    y2
"""
ATTRIBUTES = frozenset(_NAMES.split())
# The functions of CSS and of SVG that load nothing.
_FUNCTIONS = frozenset({"rgb", "rgba", "hsl", "hsla", "matrix", "translate", "scale", "rotate", "skewX", "skewY", ""})
_NAME_BACKWARDS = re.compile(r"\s*([\w-]*)")
_OWN_PART = re.compile(r"""url\(\s*["']?#[\w.-]+["']?\s*\)""")
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:px)?\s*")


def clean(text: str) -> Image:
    """The picture without what could act. Raises Unsafe if it cannot be made safe."""
    target = _Cleaner()
    # Entities, the danger of XML from others, need a document type, which _Cleaner refuses before it is read.
    parser: ElementTree.XMLParser = ElementTree.XMLParser(target=target)  # noqa: S314
    try:
        parser.feed(text)
        root = parser.close()
    except ElementTree.ParseError as error:
        raise Unsafe(f"is not well-formed SVG: {error}") from None
    if root is None or not target.drawn:
        raise Unsafe("has no shapes left after everything active was taken out")
    width, height = _size(root)
    root.set("xmlns", SVG)
    content = ElementTree.tostring(root, encoding="unicode").encode()
    return Image("image/svg+xml", content, width, height, tuple(sorted(target.removed)))


class _Cleaner:
    """A target of the parser that keeps what is on the lists. ``removed`` names the rest."""

    def __init__(self) -> None:
        self.removed: set[str] = set()
        self.drawn = False
        self._builder = ElementTree.TreeBuilder()
        self._kept: list[str] = []  # the open elements that are kept
        self._skipped = 0  # how many open elements are left out
        self._count = 0
        self._style = ""

    def doctype(self, *_: object) -> None:
        # Entities are declared there, and a few of them can stand for gigabytes.
        raise Unsafe("has a document type; save it without <!DOCTYPE>")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._count += 1
        if self._count > MAX_ELEMENTS or len(self._kept) + self._skipped >= MAX_DEPTH:
            raise Unsafe(f"has over {MAX_ELEMENTS} elements, or over {MAX_DEPTH} in each other; make it simpler")
        space, _, name = tag.rpartition("}")
        ours = space == "{" + SVG
        if not self._kept and not (ours and name == "svg"):
            raise Unsafe(f'is not SVG: its outermost element must be <svg xmlns="{SVG}">')
        if ours and name == "use":
            raise Unsafe("draws parts of itself again with <use>; save it with these as paths")
        # In a style sheet an element would cut what browsers read in one piece.
        if self._skipped or not ours or name not in ELEMENTS or self._kept[-1:] == ["style"]:
            self._skipped += 1
            if ours:
                self.removed.add(f"<{name}>")
            return
        self._kept.append(name)
        self.drawn = self.drawn or name in SHAPES
        self._builder.start(name, self._attributes(attributes))

    def end(self, _tag: str) -> None:
        if self._skipped:
            self._skipped -= 1
            return
        name = self._kept.pop()
        if name == "style":
            if not _is_inert(self._style):
                raise Unsafe("has a <style> that loads or imports something; save it with attributes instead")
            self._style = ""
        self._builder.end(name)

    def data(self, text: str) -> None:
        if not self._skipped and self._kept and self._kept[-1] in _WITH_TEXT:
            self._builder.data(text)
            if self._kept[-1] == "style":
                self._style += text

    def close(self) -> ElementTree.Element | None:
        return self._builder.close() if self._count else None

    def _attributes(self, given: dict[str, str]) -> dict[str, str]:
        found = {}
        for full, value in given.items():
            name = "href" if full == f"{{{XLINK}}}href" else full
            inert = value.startswith("#") if name == "href" else _is_inert(value)
            if name in ATTRIBUTES and inert:
                found[name] = value
            elif not name.startswith("{"):  # those of drawing programs mean nothing to a browser
                self.removed.add(name)
        return found


def _is_inert(value: str) -> bool:
    """Whether it names nothing outside of the picture. A backslash could spell what is looked for here."""
    if "\\" in value or "@" in value:
        return False
    # Each name is read from its bracket on, backwards: a search for names would read a long word once for each letter.
    before = _OWN_PART.sub("", value).split("(")[:-1]
    names = [found[1][::-1] for part in before if (found := _NAME_BACKWARDS.match(part[::-1]))]
    return all(name in _FUNCTIONS for name in names)


def _size(root: ElementTree.Element) -> tuple[int, int]:
    """Width and height, in whole numbers of about the same ratio."""
    box = root.get("viewBox", "").replace(",", " ").split()
    sizes = box[2:] if len(box) == 4 else [root.get("width", ""), root.get("height", "")]
    found = [_SIZE.fullmatch(size) for size in sizes]
    numbers = [float(one[1]) if one else 0.0 for one in found]
    if not all(0 < number < 100_000 for number in numbers):
        raise Unsafe("has no size: give it a viewBox, or a width and a height in numbers")
    if len(box) != 4:
        root.set("viewBox", f"0 0 {numbers[0]:g} {numbers[1]:g}")
    # 100 units high, since a small viewBox would lose its ratio when rounded.
    return max(1, round(100 * numbers[0] / numbers[1])), 100
