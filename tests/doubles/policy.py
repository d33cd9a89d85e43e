"""Sets the policy of the HTTP client for one test."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from elicit_flows import http


@contextlib.contextmanager
def dialing(policy: http.Policy) -> Iterator[None]:
    """Sets ``policy``; puts the former one back at the end."""
    former = http.policy()
    http.configure(policy)
    try:
        yield
    finally:
        http.configure(former)


def loopback_allowed() -> contextlib.AbstractContextManager[None]:
    return dialing(http.Policy(allow_loopback=True))
