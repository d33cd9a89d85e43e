"""A cleaned picture, and why a file is refused as one."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


class Unsafe(Exception):
    """The file cannot be served as a picture. ``str``: why, and what to do, as the end of a sentence."""


@dataclass(frozen=True, slots=True)
class Image:
    """``removed`` names what was taken out of it, for whoever gave it."""

    media_type: str
    content: bytes
    width: int
    height: int
    removed: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.content).hexdigest()
