"""Sorts scopes by what they allow: to read, to change, or to delete and administer.

The words of a scope decide, so that a page cannot put under "Read" what its own words call a change. All words of the
catalogue begin with the verbs that say what is done: "Create, change and delete records in your bases".
"""

from __future__ import annotations

import re
from typing import Literal

Group = Literal["read", "change", "administer", "other"]
GROUPS: tuple[Group, ...] = ("administer", "change", "read", "other")

_VERBS = re.compile(r"(\w+)((?:, \w+)*)(?: and (\w+))?")
_READ = frozenset("download export get read receive search see".split())  # noqa: SIM905
_CHANGE = frozenset(
    """add begin block cancel change comment create delete follow hide join leave like merge mute play post publish
    remove repost run save send share start stop take unsave upload vote write""".split()  # noqa: SIM905
)
_ADMINISTER = frozenset("act administer delete do manage".split())  # noqa: SIM905


def group_of(words: str) -> Group:
    """The group of a scope with these English words; "other" if they are "" or begin with no verb that is known.

    What changes everything is in "administer" as well.
    """
    found = _VERBS.match(words.lower())
    verbs = set(re.findall(r"\w+", found[0])) if found else set()
    everything = "everything" in words.lower()
    if verbs & _ADMINISTER or (everything and verbs & _CHANGE) or words.startswith("Sign in to"):
        return "administer"
    if verbs & _CHANGE:
        return "change"
    return "read" if verbs & _READ or words.startswith("Sign you in") else "other"
