"""The double as a whole: its state, where it sends events, and its accounts."""

from __future__ import annotations

import base64
import binascii
import threading

from werkzeug.datastructures import Headers

from sandbox.doubles.faults import Faults
from sandbox.doubles.keys import Keys
from sandbox.doubles.seen import Seen
from sandbox.stripe.endpoints import Endpoint
from sandbox.stripe.errors import StripeError
from sandbox.stripe.off_session import lapse_due
from sandbox.stripe.sessions import expire_due
from sandbox.stripe.shop import Shop
from sandbox.stripe.store import Account, Store
from sandbox.stripe.webhooks import Sender

TICK_SECONDS = 1.0
TEST_KEYS = ("sk_test_", "rk_test_")


class Double:
    """``root``: the sandbox's own address, without a trailing slash."""

    def __init__(self, root: str, accounts: list[Account], endpoints: list[Endpoint]) -> None:
        self.root = root
        self.store = Store()
        self.keys = Keys()
        self.faults = Faults()
        self.sender = Sender()
        self.bent: dict[str, object] = {}
        self.seen: list[Seen] = []
        self._usual = list(endpoints)
        self.sender.endpoints = list(endpoints)
        for account in accounts:
            self.store.add_account(account)
        threading.Thread(target=self.tick, daemon=True).start()

    def shop(self, account: Account, request: str | None = None, key: str | None = None) -> Shop:
        """Call it only while holding the store's lock."""
        return Shop(self.store, account, self.root, self.sender.send, request, key)

    def shop_of(self, id: str) -> Shop | None:
        """The shop that this object belongs to. Call it only while holding the store's lock."""
        owner = self.store.owner(id)
        return self.shop(self.store.accounts[owner]) if owner else None

    def caller(self, headers: Headers) -> Account:
        """The account with that key, or the connected account that the request names. Raises StripeError 401 or 403."""
        key = secret_key(headers.get("Authorization", ""))
        if not key.startswith(TEST_KEYS):
            raise StripeError(401, "SANDBOX: only test keys (sk_test_…, rk_test_…) are taken here.")
        platform = next((one for one in self.store.accounts.values() if one.key == key), None)
        if platform is None:
            raise StripeError(401, f"Invalid API Key provided: {key[:8]}****")
        named = headers.get("Stripe-Account") or headers.get("Stripe-Context") or platform.id
        account = self.store.accounts.get(named)
        if account is None or platform.id not in {account.id, account.platform}:
            sentence = f"The provided key does not have access to account '{named}' (or that account does not exist)."
            raise StripeError(403, sentence, code="account_invalid")
        return account

    def tick(self) -> None:
        """Expire sessions, whether or not anybody asks."""
        pause = threading.Event()
        while not pause.wait(TICK_SECONDS):
            self.expire_due()

    def expire_due(self) -> None:
        with self.store.lock:
            for account in list(self.store.accounts.values()):
                expire_due(self.shop(account))
                lapse_due(self.shop(account))

    def forget(self) -> None:
        """Return to the initial state, but keep accounts that were added."""
        with self.store.lock:
            self.store.forget()
            self.keys.forget()
            self.faults.forget()
            self.sender.forget()
            self.sender.endpoints = list(self._usual)
            self.bent = {}
            self.seen = []


def secret_key(authorization: str) -> str:
    """The key from a bearer token or basic authentication; "" if there is none."""
    scheme, _, given = authorization.partition(" ")
    if scheme.lower() == "bearer":
        return given.strip()
    try:
        return base64.b64decode(given).decode().partition(":")[0] if scheme.lower() == "basic" else ""
    except (binascii.Error, UnicodeDecodeError):
        return ""
