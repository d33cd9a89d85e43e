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
EXPRESSION = re.compile(r"\{[+#./;?&]?[\w.,:*-]+\}")  # RFC 6570, and the names that servers have besides
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


def well_braced(uri: str) -> bool:
    """Whether all braces are those of a URI template. Servers read others, such as nested ones, each in its own way."""
    return not re.search("[{}]", EXPRESSION.sub("", unicodedata.normalize("NFKC", uri)))


def covers(template: str, uri: str) -> bool:
    """Whether a server may take ``uri`` for one of a template's, or for the same as one that is no template."""
    return any(fits(one, other) for one, other in zip(_readings(template), _readings(uri), strict=True))


def plain(uri: str) -> str:
    """One spelling for all that a server may take for the same: nothing escaped, the steps of the path taken, no query.

    For comparing only. Two resources can have the same.
    """
    return _readings(uri)[-1]


def _readings(uri: str) -> tuple[str, ...]:
    """A URI as it stands, with nothing escaped, without a query too, and as ``plain`` says.

    A server that takes no steps may find a template's name in ``..``, or an empty one where the last has no step.
    """
    stands, known = uri, ""
    while known != uri:
        # A percent sign that was escaped very often is taken at once: each round reads all of a URI.
        known, uri = uri, unquote(ESCAPED.sub("%25", uri))
    uri = unicodedata.normalize("NFKC", uri).casefold().replace("\\", "/")
    path_alone = re.split(r"[?#]", QUERY.sub("", uri), maxsplit=1)[0].strip()
    scheme, _, rest = path_alone.partition(":")
    host, path = "", rest
    if rest.startswith("//"):
        host, _, path = rest[2:].partition("/")
    taken: list[str] = []
    for step in path.split("/"):
        if step == "..":
            del taken[-1:]
        elif step not in ("", "."):
            taken.append(step.strip())
    return stands, uri, path_alone, "/".join((f"{scheme}:", "" if host == "localhost" else host, *taken))
