"""Rate limits against abuse: fixed windows, counted in Redis if there is one, or else in this process.

All of them are defined here. What one agent may ask is counted separately, in ``api.rate_limits``.
"""

from __future__ import annotations

import ipaddress
import threading
import time
from dataclasses import dataclass

from django.conf import settings
from django.core.cache import cache

from elicit_flows.lib import shared_redis

MAX_COUNTED = 100_000  # names that one process counts at once: about 20 MB


@dataclass(frozen=True, slots=True)
class RateLimit:
    """At most ``most`` within ``seconds``, counted separately for each ``whose``."""

    name: str
    most: int
    seconds: int

    def hit(self, whose: object = "") -> bool:
        """Count one more for ``whose``. False if that is too many. Without ``whose``, all are counted together."""
        return hit(f"{self.name}:{whose}" if whose else self.name, self.most, self.seconds)

    def hit_from(self, address: str) -> bool:
        """Like ``hit``, for the client at ``address``."""
        return hit_from(address, self.name, self.most, self.seconds)


# By address: more than this is guessing.
BAD_KEYS = RateLimit("bad-key", 60, 60)
UNKNOWN_LINKS = RateLimit("unknown", 100, 60)
USER_CODES = RateLimit("code", 20, 60)
# Each creates a session, which stays until the purge: by address, and for all together.
SIGN_INS = RateLimit("sign-ins", 120, 60)
ALL_SIGN_INS = RateLimit("sign-ins", 30_000, 60)
# By address: each may ask the payment provider.
PAYMENT_RETURNS = RateLimit("returned", 30, 60)
# By payment: each asks the provider.
CHECKOUTS = RateLimit("checkouts", 20, 600)
# By elicitation: codes that a person makes for another device.
PERSONS_CODES = RateLimit("persons-codes", 10, 600)
# By elicitation: what is typed may be sent to a provider to be checked.
SUBMISSIONS = RateLimit("submit", 20, 60)
# By elicitation: a person who types makes at most one change in half a second.
DRAFT_CHANGES = RateLimit("draft", 120, 60)
DRAFT_CHANGES_AN_HOUR = RateLimit("drafts", 1500, 3600)
# Attempts at an operator's password: by browser, by user name, by address.
OPERATOR_BY_DEVICE = RateLimit("operator-device", 10, 300)
OPERATOR_BY_NAME = RateLimit("operator-name", 10, 300)
OPERATOR_BY_ADDRESS = RateLimit("operator-address", 30, 300)


def hit(name: str, limit: int, seconds: int) -> bool:
    """Count one more of ``name`` in the current window of ``seconds``; False if there were ``limit`` before it.

    Without Redis the limit still holds: the count continues in this process.
    """
    window = int(time.time() // seconds)
    key = f"limit:{name}:{window}"
    if settings.REDIS_URL:
        try:
            cache.add(key, 0, timeout=seconds * 2)
            return int(cache.incr(key)) <= limit
        except shared_redis.errors(ValueError):
            pass
    return _counts.add(key, until=(window + 1) * seconds) <= limit


def hit_from(address: str, name: str, limit: int, seconds: int) -> bool:
    """Like ``hit``, for the client at ``address``."""
    return hit(f"{name}:{network(address)}", limit, seconds)


def network(address: str) -> str:
    """The network to count for an address: an IPv6 customer gets at least a /64 and can use every address in it."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(parsed) >> 64 << 64, 64)))


def forget() -> None:
    """Forget the counts of this process. For tests."""
    _counts.clear()


class Counts:
    """Counts by name, each kept until its window ends.

    If there are ``most`` names, those whose window has ended are dropped first, then those with the lowest counts.
    Names that an attacker makes up are seen once or twice each, so they push out each other and not the higher counts.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._counts: dict[str, tuple[int, float]] = {}
        self._lock = threading.Lock()

    def add(self, name: str, until: float) -> int:
        """Count one more, and return the count."""
        with self._lock:
            count = self._counts.get(name, (0, until))[0] + 1
            if count == 1 and len(self._counts) >= self._most:
                # Drop to nine tenths of the limit, so that this does not run for every name.
                now = time.time()
                kept = [(name, counted) for name, counted in self._counts.items() if counted[1] > now]
                kept.sort(key=lambda one: one[1][0], reverse=True)
                self._counts = dict(kept[: self._most * 9 // 10])
            self._counts[name] = (count, until)
            return count

    def clear(self) -> None:
        with self._lock:
            self._counts.clear()


_counts = Counts(MAX_COUNTED)
