"""What users subscribed to, and its renewals."""

from __future__ import annotations

from abc import ABC
from collections.abc import AsyncGenerator
from contextlib import aclosing

from elicit_flows.domain.values import Json
from elicit_flows.sdk.outcomes import Outcome
from elicit_flows.sdk.paths import SUBSCRIPTIONS, subscription_path
from elicit_flows.sdk.shapes import User, claim
from elicit_flows.sdk.transport import Transport

PAGE = 100


class Subscriptions(ABC):
    """Calls on subscriptions. ``subscription`` is the id of one, or the outcome of the question that asked for it."""

    _transport: Transport

    async def subscriptions(self, user: User | None = None, *, status: str | None = None) -> AsyncGenerator[Json, None]:
        """What users subscribed to, newest first; only those of ``user`` and with ``status`` (active, past_due or
        ended), if given.
        """
        who = claim(user) if user else None
        query = {"iss": who and who.iss, "sub": who and who.sub, "status": status, "limit": PAGE}
        async with aclosing(self._transport.pages(dict, SUBSCRIPTIONS, query)) as found:
            async for one in found:
                yield one

    async def subscription_of(self, subscription: str | Outcome) -> Json:
        """Return the subscription: its state, until when it is paid, and whether it is cancelled."""
        return await self._transport.fetch(dict, "GET", subscription_path(subscription))

    async def cancel_subscription(self, subscription: str | Outcome, *, now: bool = False) -> Json:
        """Cancel it at the end of the paid period, or ``now``. Returns the subscription. Only its user can take a
        cancellation back.
        """
        body = {"at": "now" if now else "period_end"}
        return await self._transport.fetch(dict, "POST", f"{subscription_path(subscription)}/cancel", json=body)

    async def renewals(self, subscription: str | Outcome) -> AsyncGenerator[Json, None]:
        """The periods after the first, newest first."""
        async with aclosing(
            self._transport.pages(dict, f"{subscription_path(subscription)}/renewals", {"limit": PAGE})
        ) as found:
            async for one in found:
                yield one
