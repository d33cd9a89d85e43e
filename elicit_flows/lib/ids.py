"""Random ids and tokens, and the hash under which they are stored."""

from __future__ import annotations

import hashlib
import secrets


def name(prefix: str) -> str:
    """A new opaque id with 192 random bits, such as ``el_…``."""
    return f"{prefix}_{secrets.token_urlsafe(24)}"


def token() -> str:
    """256 random bits, URL-safe, 43 characters: fits PKCE verifiers (RFC 7636 4.1), states and nonces."""
    return secrets.token_urlsafe(32)


def digest(text: str) -> str:
    """SHA-256 in hex, to look up values that are random themselves (API keys, states), so they need no salt."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
