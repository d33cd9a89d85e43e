"""What the double remembers, in memory: accounts and their things, each as the JSON that Stripe would show."""

from __future__ import annotations

import secrets
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from sandbox.stripe.errors import missing

Thing = dict[str, Any]
LONG, SHORT = 32, 12  # bytes


@dataclass(frozen=True, slots=True)
class Account:
    """``key``: its own secret key; None for one that is reached through ``platform`` with the header Stripe-Account."""

    id: str
    name: str
    key: str | None = field(default=None, repr=False)
    platform: str | None = None


class Store:
    """``lock`` is held by whoever reads or changes things. ``offset``: how far the clock is put forward, in seconds."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.offset = 0
        self.accounts: dict[str, Account] = {}
        self._things: dict[str, dict[str, Thing]] = {}
        self._by_kind: defaultdict[tuple[str, str], dict[str, Thing]] = defaultdict(dict)

    def now(self) -> int:
        """Seconds since the epoch, by the clock that ``/_control`` can put forward."""
        return int(time.time()) + self.offset

    def add_account(self, account: Account) -> None:
        self.accounts[account.id] = account
        self._things.setdefault(account.id, {})

    def put(self, account: str, thing: Thing) -> Thing:
        self._things[account][thing["id"]] = self._by_kind[account, thing["object"]][thing["id"]] = thing
        return thing

    def find(self, account: str, kind: str, id: str) -> Thing | None:
        thing = self._things[account].get(id)
        return thing if thing is not None and thing["object"] == kind else None

    def get(self, account: str, kind: str, id: str, param: str = "id", status: int = 404) -> Thing:
        """Raises StripeError resource_missing."""
        thing = self.find(account, kind, id)
        if thing is None:
            raise missing(kind, id, param, status)
        return thing

    def all(self, account: str, kind: str) -> list[Thing]:
        """The newest first."""
        return list(reversed(self._by_kind[account, kind].values()))

    def owner(self, id: str) -> str | None:
        """The account that a thing belongs to: for pages, which know no key."""
        return next((account for account, things in self._things.items() if id in things), None)

    def forget(self) -> None:
        """Everything but the accounts; the clock goes right again."""
        self.offset = 0
        for things in self._things.values():
            things.clear()
        self._by_kind.clear()


def new_id(prefix: str) -> str:
    """Longer for what stands in an address."""
    return f"{prefix}_{secrets.token_hex(LONG if prefix == 'cs_test' else SHORT)}"
