"""What every log line of a request says beside its message: which request, whose agent, which elicitation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_fields: ContextVar[dict[str, str] | None] = ContextVar("log_fields", default=None)


@contextmanager
def request(**fields: str) -> Iterator[dict[str, str]]:
    """Within the block every line has these, and those that ``add`` brings."""
    known = dict(fields)
    token = _fields.set(known)
    try:
        yield known
    finally:
        _fields.reset(token)


def add(**fields: str) -> None:
    """For the rest of the request, where there is one."""
    known = _fields.get()
    if known is not None:
        known.update(fields)


def current() -> dict[str, str]:
    return _fields.get() or {}
