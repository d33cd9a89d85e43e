"""Why a key could not be had."""

from __future__ import annotations


class KmsError(Exception):
    """``str`` says why, in words that go behind "key 'k2' cannot be unwrapped: ", and repeats no key."""
