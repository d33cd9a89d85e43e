"""The state of the double, in memory, the authentication of callers, and the events that it sends."""

from __future__ import annotations

import base64
import binascii
import json
import secrets
import string
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from werkzeug.datastructures import Headers

from sandbox.doubles.deliveries import Deliveries, Delivery
from sandbox.doubles.faults import Faults
from sandbox.doubles.keys import Keys
from sandbox.doubles.seen import Seen
from sandbox.paypal.errors import PayPalError, TokenError, missing
from sandbox.paypal.signing import Signer

Thing = dict[str, Any]
TEST_SECRETS = "development-only"
TOKEN_SECONDS = 32_400


@dataclass(slots=True)
class App:
    """``webhook`` is the id of its subscription to all events, ``listener`` where they go."""

    client_id: str
    secret: str
    merchant: str
    webhook: str
    listener: str


class Double:
    """``root``: the address under which all of it is served. Hold ``lock`` to read or change anything.

    ``orders`` have PayPal's members, and additional ones: ``_merchant``, ``_minor``, ``_over``, ``_how``, ``_back``,
    ``_cancel``. ``bent``: what the next captures take, in the smallest unit, in place of the order's amount.
    ``disputes_allowed``: whether apps may read disputes.
    """

    def __init__(self, root: str, apps: list[App]) -> None:
        self.root = root
        self.lock = threading.RLock()
        self.apps = {app.client_id: app for app in apps}
        self.tokens: dict[str, tuple[str, int]] = {}  # token -> (merchant, its end)
        self.orders: dict[str, Thing] = {}
        self.disputes: dict[str, Thing] = {}
        self.keys, self.faults, self.hooks = Keys(), Faults(), Deliveries()
        self.seen: list[Seen] = []
        self.offset = 0
        self.bent: int | None = None
        self.disputes_allowed = True

    @cached_property
    def signer(self) -> Signer:
        """Made on first use, because a key takes a moment."""
        return Signer(self.root)

    def now(self) -> int:
        """Seconds since the epoch, by the clock that the control can move forward."""
        return int(time.time()) + self.offset

    def moment(self, days: int = 0) -> str:
        """Now, or as many days later."""
        return datetime.fromtimestamp(self.now() + days * 86_400, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def new_token(self, headers: Headers) -> Thing:
        """Raises TokenError."""
        try:
            given = base64.b64decode(headers.get("Authorization", "").removeprefix("Basic "), validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            raise TokenError(401, "Client Authentication failed") from None
        client_id, _, secret = given.partition(":")
        app = self.apps.get(client_id)
        if app is None or not secrets.compare_digest(app.secret, secret):
            raise TokenError(401, "Client Authentication failed")
        if TEST_SECRETS not in secret:
            raise TokenError(401, f"SANDBOX: only secrets with {TEST_SECRETS} in them are taken here.")
        token = f"A21AA{secrets.token_urlsafe(48)}"
        self.tokens[token] = app.merchant, self.now() + TOKEN_SECONDS
        return {"scope": "https://uri.paypal.com/services/payments/payment/authcapture", "access_token": token,
                "token_type": "Bearer", "app_id": "APP-SANDBOX", "expires_in": TOKEN_SECONDS}  # fmt: skip

    def caller(self, headers: Headers) -> str:
        """The merchant with that token. Raises PayPalError 401."""
        merchant, end = self.tokens.get(headers.get("Authorization", "").removeprefix("Bearer ").strip(), ("", 0))
        if end <= self.now():
            raise PayPalError(401, "INVALID_TOKEN", "Authentication failed due to invalid authentication credentials.")
        return merchant

    def order(self, merchant: str, id: str) -> Thing:
        """An order that nobody captured is forgotten when its time is over. Raises PayPalError."""
        found = self.orders.get(id)
        if found is None or found["_merchant"] != merchant or self.is_over(found):
            raise missing()
        return found

    def is_over(self, order: Thing) -> bool:
        return bool(order["status"] != "COMPLETED" and order["_over"] <= self.now())

    def captured(self, merchant: str, id: str) -> tuple[Thing, Thing]:
        """An order and its capture with that id. Raises PayPalError."""
        for order in self.orders.values():
            for capture in payments(order)["captures"]:
                if capture["id"] == id and order["_merchant"] == merchant:
                    return order, capture
        raise missing()

    def tell(self, merchant: str, kind: str, resource_type: str, resource: Thing) -> None:
        """Send an event about this resource, as it is now."""
        app = next(one for one in self.apps.values() if one.merchant == merchant)
        name = f"WH-{new_id()}-{new_id()}"
        event = {
            "id": name,
            "event_version": "1.0",
            "create_time": self.moment(),
            "resource_type": resource_type,
            "resource_version": "2.0",
            "event_type": kind,
            "summary": f"SANDBOX: {kind}",
            "resource": plain(resource),
            "links": [{"href": f"{self.root}/v1/notifications/webhooks-events/{name}", "rel": "self", "method": "GET"}],
        }
        body = json.dumps(event).encode()
        headers = self.signer.headers(app.webhook, body, datetime.now(UTC))
        self.hooks.send(Delivery(app.listener, str(resource.get("id", resource.get("dispute_id"))), body, headers))

    def calm(self) -> None:
        self.faults.forget()
        self.bent, self.disputes_allowed, self.hooks.drop = None, True, False

    def forget(self) -> None:
        """Return to the initial state, but keep apps that were added."""
        self.calm()
        self.keys.forget()
        self.hooks.forget()
        self.orders.clear()
        self.disputes.clear()
        self.seen, self.offset = [], 0


def payments(order: Thing) -> Thing:
    return dict(order["purchase_units"][0].get("payments") or {"captures": [], "refunds": []})


def plain(thing: Thing) -> Thing:
    return {name: value for name, value in thing.items() if not name.startswith("_")}


def new_id() -> str:
    return "".join(secrets.choice(string.ascii_uppercase + string.digits) for _ in range(17))
