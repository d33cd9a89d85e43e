"""What is known of a passkey, and the place that it is for."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Place:
    """The origin that a passkey is for."""

    origin: str
    name: str

    @property
    def host(self) -> str:
        return urlsplit(self.origin).hostname or ""


@dataclass(frozen=True, slots=True)
class NewPasskey:
    """A new passkey, its binary parts in base64url."""

    credential_id: str
    public_key: str
    sign_count: int
    backed_up: bool


@dataclass(frozen=True, slots=True)
class Used:
    sign_count: int
    backed_up: bool
