"""The names of tools and prompts of several servers behind one, and the URIs of resources."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from urllib.parse import unquote

Owned = tuple[str, str]  # server, its own name for it
HOLE = re.compile(r"\{[^{}]*\}")
QUERY = re.compile(r"\{[?#&][^{}]*\}")
ESCAPED = re.compile(r"%(?:25)+")


def exposed(listed: Mapping[str, Iterable[str]], prefixed: Iterable[str] = ()) -> dict[str, Owned]:
    """By the name that clients see: the server and the server's own name.

    A name that only one server has stays as it is. One that several have becomes ``server_name`` for all of them, so
    that no server can take over a name of another. ``prefixed``: servers whose names always are. Names of servers have
    no underscore, so a name with a prefix is nobody else's with a prefix.
    """
    owned = [(server, name) for server, names in listed.items() for name in names]
    always = set(prefixed)
    marked = {one for one in owned if one[0] in always}
    while True:
        shown = {one: f"{one[0]}_{one[1]}" if one in marked else one[1] for one in owned}
        times = Counter(shown.values())
        clashing = {one for one, name in shown.items() if times[name] > 1} - marked
        if not clashing:
            return {name: one for one, name in shown.items()}
        marked |= clashing


def fits(template: str, uri: str) -> bool:
    """Whether ``uri`` is one of a URI template's, or the same as one that is no template.

    What is outside the braces is looked for from left to right, so a long URI takes no longer than its length.
    """
    first, *others = HOLE.split(template)
    if not others:
        return uri == first
    *between, last = others
    at, end = len(first), len(uri) - len(last)
    if end < at or not uri.startswith(first) or not uri.endswith(last):
        return False
    for part in between:
        found = uri.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


def plain(uri: str) -> str:
    """One spelling for all that a server may take for the same: nothing escaped, the steps of the path taken, no query.

    For comparing only. Two resources can have the same.
    """
    known = ""
    while known != uri:
        # A percent sign that was escaped very often is taken at once: each round reads all of a URI.
        known, uri = uri, unquote(ESCAPED.sub("%25", uri))
    uri = QUERY.sub("", unicodedata.normalize("NFKC", uri).casefold().replace("\\", "/"))
    scheme, _, rest = re.split(r"[?#]", uri, maxsplit=1)[0].strip().partition(":")
    host, path = "", rest
    if rest.startswith("//"):
        host, _, path = rest[2:].partition("/")
    taken: list[str] = []
    for step in path.split("/"):
        if step == "..":
            del taken[-1:]
        elif step not in ("", "."):
            taken.append(step.strip())
    return "/".join((f"{scheme}:", "" if host == "localhost" else host, *taken))
