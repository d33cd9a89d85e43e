"""Mollie's library, which calls through our guarded HTTP client and within one deadline (see ``attempts``)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from mollie.api.client import Client

from elicit_flows.http import for_requests
from elicit_flows.kinds.payment.providers.attempts import Attempts
from elicit_flows.kinds.payment.providers.base import Refused
from elicit_flows.kinds.payment.providers.mollie import errors
from elicit_flows.kinds.payment.values import Account

_KEY = re.compile(r"(test|live)_[A-Za-z0-9_]+")  # checked here because the library's own error shows the key
_to_mollie = Attempts(errors)


def plain(answer: object, *names: str) -> dict[str, Any]:
    """An answer as plain JSON. If one of ``names`` is missing, the answer is not Mollie's, and the result is
    unknown.
    """
    found = dict(answer) if isinstance(answer, dict) else {}
    if any(name not in found for name in names):
        raise _to_mollie.failure()
    return found


@lru_cache(maxsize=64)
def client(account: Account) -> Client:
    """One client for each account, safe for threads. Raises Refused for a key that cannot be Mollie's."""
    key = account.secret_key.reveal()
    if not _KEY.fullmatch(key):
        raise Refused(
            "authentication_failed", "The account's key is not a Mollie key, which begins with test_ or live_."
        )
    made = Client(api_endpoint=account.api_base or "")
    made.set_api_key(key)
    made.UNAME = "elicit-flows"  # by default the library sends this machine's name
    made._client = for_requests.guarded_session(_to_mollie)
    return made
