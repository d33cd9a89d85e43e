"""The brand's colours: which have enough contrast, and the style sheet that is made of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from elicit_flows.brands import theme
from elicit_flows.brands.theme import DARK, LIGHT
from elicit_flows.lib import colours

SHEET = Path(theme.__file__).parents[1] / "static" / "elicit" / "style.css"


def test_contrast_is_measured_as_wcag_says() -> None:
    assert colours.contrast("#000000", "#ffffff") == pytest.approx(21)
    assert colours.contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)
    assert colours.contrast("#ffffff", "#777777") == colours.contrast("#777777", "#ffffff")
    assert colours.contrast("#ff0000", "#ff0000") == 1


def test_the_colours_that_a_brand_is_measured_against_are_those_of_the_pages() -> None:
    blocks = re.findall(r":root \{\n(.*?)\}", SHEET.read_text(), re.DOTALL)
    for scheme, block in zip((LIGHT, DARK), blocks, strict=False):
        found = dict(re.findall(r"--([\w-]+): (#\w+);", block))
        whole = {name: re.sub(r"^#(\w)(\w)(\w)$", r"#\1\1\2\2\3\3", value) for name, value in found.items()}
        assert (scheme.ground, scheme.sheet, scheme.quote) == (whole["ground"], whole["sheet"], whole["quote"])
        assert theme.OWN[scheme.name] == whole["lead"]


@pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("colour", ["#000000", "#ffffff", "#ffdd00", "#808080", "#0b5cad", "#ff0000", "#00ff7f"])
def test_the_colour_that_is_proposed_has_enough_contrast(colour: str, scheme: theme.Scheme) -> None:
    proposed = theme.nearest(colour, scheme)
    assert theme.fault(proposed, scheme) == ""
    assert colours.contrast(proposed, scheme.ground) >= 4.5
    on = re.search(r"--on-lead: (#\w+);", theme.properties(proposed, scheme))
    deep = re.search(r"--lead-deep: (#\w+);", theme.properties(proposed, scheme))
    assert on is not None
    assert deep is not None
    for background in (proposed, deep[1]):
        assert colours.contrast(on[1], background) >= 4.5, "the text of a button, also under the pointer"
    assert (proposed == colour) == (theme.fault(colour, scheme) == "")


def test_a_fault_says_the_ratio_the_pair_and_what_to_do() -> None:
    assert theme.fault("#ffdd00", LIGHT) == (
        "has a contrast of 1.24:1 as text on the page (#f5f6f4) in the light colours, and needs 4.5:1; "
        "take a darker one, such as " + theme.nearest("#ffdd00", LIGHT)
    )
    assert "a lighter one" in theme.fault("#0b5cad", DARK)


def test_the_sheet_is_ours_with_the_colours_of_the_brand() -> None:
    name = theme.sheet_name("#0B5CAD", "", "0")
    sheet = (theme.sheet(name) or b"").decode()
    assert sheet.startswith(SHEET.read_text())
    assert "--lead: #0b5cad;" in sheet
    assert f"--lead: {theme.nearest('#0b5cad', DARK)};" in sheet.partition("prefers-color-scheme: dark")[2]
    assert "--radius: 0;" in sheet
    assert sheet.count("{") == sheet.count("}")
    assert theme.sheet_name("", "", "") == theme.sheet_name("", "", "1rem") == "", "ours as it is"
    assert theme.sheet_name("", "#ffffff", "").startswith(theme.OWN["light"][1:])


@pytest.mark.parametrize("font", theme.FONTS)
def test_a_font_is_one_that_readers_have(font: str) -> None:
    name = theme.sheet_name("", "", "", font)
    assert bool(name) == (font != "system")
    sheet = (theme.sheet(theme.forced_name("", "", "", font, DARK)) or b"").decode()
    assert f"font-family: {theme.FONTS[font]};" in sheet
    assert "@font-face" not in sheet
    assert "url(" not in sheet
    assert theme.FONTS[font].endswith(("serif", "sans-serif"))


@pytest.mark.parametrize(
    "name",
    [
        "",
        "x",
        "0b5cad-7db8ff-3",
        "0b5cad-7db8ff-0-font0",
        "0b5cad-7db8ff-0-font9",
        "0b5cad-7db8ff-0}",
        "0B5CAD-7db8ff-0",
        "0b5cad-0",
    ],
)
def test_t52_no_address_puts_anything_else_into_a_sheet(name: str) -> None:
    assert theme.sheet(name) is None
