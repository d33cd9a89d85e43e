"""Our patterns against an engine of ECMA-262 that others wrote: Chromium's, with the u flag."""

from __future__ import annotations

import random
import re

import pytest
from playwright.sync_api import Browser

from elicit_flows.lib.pattern import Pattern, PatternError

ATOMS = [
    "a", "b", "Z", "é", "字", "😀", "1", "_", "-", " ", "/", r"\.", r"\/", r"\d", r"\D", r"\w", r"\W", r"\s", r"\S",
    r"\b", r"\B", "^", "$", ".", "[ab]", "[^ab]", "[a-z]", "[]", "[^]", r"[\w-]", r"[^\s\d]", r"[\]\-]", r"[\b]",
    "[.$^]",
    r"\x41", r"\u0042", r"\u{1F600}", r"\t", r"\n", r"\0", r"\p{L}", r"\P{L}", r"\p{Lu}", r"[\p{Nd}_]", r"[^\p{L}]",
    r"\p{gc=Zs}", "(?=a)", r"\1", "(", ")", "]", "{", "}", "[z-a]", r"\e", r"[a-\d]",
]  # fmt: skip
AGAIN = ["", "", "", "*", "+", "?", "{2}", "{0,2}", "{1,}", "*?", "+?", "??", "{2}?", "**", "{2,1}"]
TEXTS = [
    "",
    "a",
    "b",
    "ab",
    "aab",
    "Z é",
    "字😀",
    "1_1",
    "a-b",
    "a/b.c",
    "\n",
    "a\nb",
    "\u2028",
    "\u00a0a",
    "B A",
    "\t\0",
    "٣",
]
# What we refuse and say so, though the standard has it: lookaround and references, and sizes.
OURS = re.compile(r"look|refer|large|long|many|deep|propert", re.IGNORECASE)
ASK = """asked => asked.map(([pattern, texts]) => {
    try { const found = new RegExp(pattern, 'u'); return texts.map(text => found.test(text)); } catch { return null; }
})"""


def patterns(count: int) -> list[str]:
    rng = random.Random(262)

    def one(depth: int) -> str:
        parts = [_part(depth) for _ in range(rng.randint(1, 4))]
        return "".join(parts)

    def _part(depth: int) -> str:
        if depth and rng.random() < 0.25:
            opened = rng.choice(["(", "(?:", f"(?<n{rng.randrange(10**6)}>"])
            inner = one(depth - 1) + (f"|{one(depth - 1)}" if rng.random() < 0.4 else "")
            return f"{opened}{inner}){rng.choice(AGAIN)}"
        return rng.choice(ATOMS) + rng.choice(AGAIN)

    return [one(2) for _ in range(count)]


@pytest.mark.slow
def test_what_we_take_the_standard_takes_and_finds_in_the_same_texts(browser: Browser) -> None:
    asked = [[pattern, TEXTS] for pattern in patterns(4000)]
    page = browser.new_page()
    theirs = page.evaluate(ASK, asked)
    page.close()
    taken = refused = 0
    for (pattern, texts), found in zip(asked, theirs, strict=True):
        ours = _read(str(pattern))
        if isinstance(ours, str):
            assert found is None or OURS.search(ours), (pattern, ours)
            refused += 1
        else:
            assert [ours.search(text) for text in texts] == found, pattern
            taken += 1
    assert (taken > 800, refused > 800) == (True, True), (taken, refused)


def _read(pattern: str) -> Pattern | str:
    """The pattern, or why it is refused."""
    try:
        return Pattern(pattern)
    except PatternError as error:
        return str(error)
