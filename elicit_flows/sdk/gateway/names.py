"""The names of tools and prompts of several servers behind one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

Owned = tuple[str, str]  # server, its own name for it


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
