"""Where requests may go beyond the fixed rules. Strict until ``configure`` says otherwise, once, at start-up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Policy:
    """``allow_loopback``: this machine may be called, also over http and on any port (development and tests).

    ``own_hosts``: our own public names, each ``host`` (every port) or ``host:port``; never called, so that nobody can
    make the service talk to itself.
    """

    allow_loopback: bool = False
    own_hosts: frozenset[str] = frozenset()


_current = [Policy()]
_watchers: list[Callable[[], None]] = []


def configure(new: Policy) -> None:
    """Sets the policy of the whole process and drops every open connection made under the former one."""
    _current[0] = new
    for changed in _watchers:
        changed()


def policy() -> Policy:
    return _current[0]


def on_change(changed: Callable[[], None]) -> None:
    _watchers.append(changed)
