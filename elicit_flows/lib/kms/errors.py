"""The error of key management services."""

from __future__ import annotations


class KmsError(Exception):
    """``str`` says why, to follow "key 'k2' cannot be unwrapped: ". It contains no key."""
