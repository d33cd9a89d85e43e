"""The fenced blocks of a page. The first word after the fence is the language, the second says what runs the block:

    ```python box
    ```toml apply
    ```json schema=CreateElicitation

``tests/docs`` has the runners, and fails where a block names none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

FENCE: Final = re.compile(
    r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<text>.*?)^(?P=indent)```[ ]*$", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Block:
    """``line`` is that of the fence. ``argument`` is what stands behind the runner's ``=``."""

    line: int
    language: str
    runner: str
    argument: str
    text: str


def blocks(markdown: str) -> Iterator[Block]:
    for found in FENCE.finditer(markdown):
        language, _, run = found["info"].strip().partition(" ")
        runner, _, argument = run.strip().partition("=")
        indent = len(found["indent"])
        text = "".join(line[indent:] for line in found["text"].splitlines(keepends=True))
        yield Block(markdown.count("\n", 0, found.start()) + 1, language, runner, argument, text)


def without_runners(markdown: str) -> str:
    """The same page with nothing but the language after each fence, as Markdown readers expect it."""
    return FENCE.sub(
        lambda found: found[0].replace(found["info"], found["info"].strip().partition(" ")[0], 1), markdown
    )
