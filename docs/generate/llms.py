"""llms.txt and llms-full.txt (https://llmstxt.org): the documentation for programs that read it for somebody."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docs.generate import blocks, pages


def write(site: Path, nav: list[Any], about: str) -> None:
    lines = ["# Elicit Flows", "", f"> {about}", ""]
    whole = []
    for section in nav:
        [(title, inner)] = section.items()
        found = list(in_nav(inner))
        lines += [f"## {title}", "", *(line(page) for page in found), ""]
        whole += [blocks.without_runners(pages.read(page)) for page in found]
    (site / "llms.txt").write_text("\n".join(lines), encoding="utf-8")
    (site / "llms-full.txt").write_text("\n\n".join(whole), encoding="utf-8")


def in_nav(entry: Any) -> Iterator[str]:
    """The pages below an entry of mkdocs.yml's nav."""
    if isinstance(entry, str):
        yield entry
    else:
        for inner in entry.values() if isinstance(entry, dict) else entry:
            yield from in_nav(inner)


def line(page: str) -> str:
    """The page's title and its first sentence."""
    text = pages.read(page)
    title = re.search(r"^# (.+)$", text, re.MULTILINE)
    body = text.partition("\n\n")[2].partition("\n\n")[0]
    first = re.split(r"(?<=[.:])\s", " ".join(re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", body).split()))[0]
    return f"- [{title[1] if title else page}]({page.removesuffix('.md')}.html): {first.rstrip(':')}"
