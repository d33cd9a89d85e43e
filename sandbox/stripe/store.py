"""The double's state, in memory: accounts and their objects, each as the JSON that Stripe would show."""

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
USUAL_TAX = 1900  # basis points


@dataclass(frozen=True, slots=True)
class Account:
    """``key``: its own secret key; None for one that is reached through ``platform`` with the header Stripe-Account."""

    id: str
    name: str
    key: str | None = field(default=None, repr=False)
    platform: str | None = None


class Store:
    """Hold ``lock`` to read or change objects. ``offset``: how far the clock is ahead, in seconds.

    ``tax_basis_points``: the tax where all buyers live; None: Stripe Tax is not set up.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.offset = 0
        self.tax_basis_points: int | None = USUAL_TAX
        self.accounts: dict[str, Account] = {}
        self._things: dict[str, dict[str, Thing]] = {}
        self._by_kind: defaultdict[tuple[str, str], dict[str, Thing]] = defaultdict(dict)

    def now(self) -> int:
        """Seconds since the epoch, by the clock that ``/_control`` can move forward."""
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
        """The object. Raises StripeError resource_missing."""
        thing = self.find(account, kind, id)
        if thing is None:
            raise missing(kind, id, param, status)
        return thing

    def all(self, account: str, kind: str) -> list[Thing]:
        """All objects, newest first."""
        return list(reversed(self._by_kind[account, kind].values()))

    def owner(self, id: str) -> str | None:
        """The account of an object, for pages, which have no key."""
        return next((account for account, things in self._things.items() if id in things), None)

    def forget(self) -> None:
        """Delete everything but the accounts, and reset the clock and the tax."""
        self.offset, self.tax_basis_points = 0, USUAL_TAX
        for things in self._things.values():
            things.clear()
        self._by_kind.clear()


def new_id(prefix: str) -> str:
    """A new id; longer for objects that are part of an address."""
    return f"{prefix}_{secrets.token_hex(LONG if prefix == 'cs_test' else SHORT)}"
