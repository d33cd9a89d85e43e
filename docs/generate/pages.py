"""A page as a reader gets it: the generated parts in their places, and no link that leads out of the documentation."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from docs.generate import api, lists, sdk

DOCS: Final = Path(__file__).resolve().parents[1]
MARK: Final = re.compile(r"^<!-- generate: ([\w-]+) -->$", re.MULTILINE)
LINK: Final = re.compile(r"(?<!!)\[([^\]\n]+)\]\(([^)\s#]*)(#[^)\s]*)?\)")
PARTS: Final[Mapping[str, Callable[[], str]]] = {
    "api": api.part,
    "commands": lists.commands,
    "configuration": lists.configuration,
    "decisions": lists.decisions,
    "errors": lists.errors,
    "events": lists.events,
    "jobs": lists.jobs,
    "metrics": lists.metrics,
    "most-used": lists.most_used,
    "providers": lists.providers,
    "providers-checked": lists.providers_checked,
    "sdk": sdk.part,
    "settings": lists.settings,
}


@cache
def part(name: str) -> str:
    return PARTS[name]()


def read(page: str) -> str:
    """``page`` is its path below docs/, such as ``reference/api.md``."""
    return expanded((DOCS / page).read_text(encoding="utf-8"), page)


def expanded(markdown: str, page: str) -> str:
    """Raises KeyError for a part that there is not."""
    whole = MARK.sub(lambda found: part(found[1]), markdown)
    return LINK.sub(lambda found: inside(found, posixpath.dirname(page)), whole)


def inside(found: re.Match[str], folder: str) -> str:
    """A link to a file of the repository outside docs/ becomes the file's name: the site does not have it."""
    target = posixpath.normpath(posixpath.join(folder, found[2]))
    if "://" in found[2] or not target.startswith("../"):
        return found[0]
    name = target.removeprefix("../")
    return f"{found[1]} (`{name}`)" if found[1].strip("`") != name else f"`{name}`"


def all_pages() -> list[str]:
    return sorted(
        path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md") if path.parent.name != "generate"
    )  # fmt: skip
