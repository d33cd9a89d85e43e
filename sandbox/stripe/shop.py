"""One account at work: its objects, and the events about them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass

from sandbox.stripe.store import Account, Store, Thing, new_id

API_VERSION = "2026-10-28.endive"
Send = Callable[[Account, Thing], None]


def shown(thing: Thing) -> Thing:
    """A copy without the fields that only the double uses (their names begin with an underscore)."""
    return {name: copy.deepcopy(value) for name, value in thing.items() if not name.startswith("_")}


@dataclass(frozen=True, slots=True)
class Shop:
    """``root`` is the sandbox's address; ``request`` and ``key`` identify the API request that it works for.

    Hold the store's lock while using a shop.
    """

    store: Store
    account: Account
    root: str
    send: Send
    request: str | None = None
    key: str | None = None

    @property
    def now(self) -> int:
        return self.store.now()

    def put(self, thing: Thing) -> Thing:
        return self.store.put(self.account.id, thing)

    def find(self, kind: str, id: str | None) -> Thing | None:
        return self.store.find(self.account.id, kind, id) if id else None

    def get(self, kind: str, id: str, param: str = "id", status: int = 404) -> Thing:
        return self.store.get(self.account.id, kind, id, param, status)

    def all(self, kind: str) -> list[Thing]:
        return self.store.all(self.account.id, kind)

    def emit(self, type: str, thing: Thing, previous: Thing | None = None) -> Thing:
        """Record a snapshot event, and send it to the endpoints that want it."""
        data = {"object": shown(thing)} | ({"previous_attributes": previous} if previous else {})
        event: Thing = {
            "id": new_id("evt"),
            "object": "event",
            "api_version": API_VERSION,
            "created": self.now,
            "data": data,
            "livemode": thing.get("livemode", False),
            "pending_webhooks": 0,
            "request": {"id": self.request, "idempotency_key": self.key},
            "type": type,
        }
        if self.account.platform:
            event["account"] = self.account.id
        self.put(event)
        self.send(self.account, event)
        return event
