"""What users allowed this agent to charge later, and charging it."""

from __future__ import annotations

import uuid
from abc import ABC
from collections.abc import AsyncGenerator
from contextlib import aclosing

from elicit_flows.domain.values import Json
from elicit_flows.sdk.outcomes import Outcome
from elicit_flows.sdk.paths import MANDATES, mandate_path
from elicit_flows.sdk.shapes import User, claim
from elicit_flows.sdk.transport import Transport

PAGE = 100


class Mandates(ABC):
    """Calls on mandates. ``mandate`` is the id of one, or the outcome of the question that asked for it."""

    _transport: Transport

    async def mandates(self, user: User | None = None, *, status: str | None = None) -> AsyncGenerator[Json, None]:
        """The mandates that users gave this agent, newest first; only those of ``user`` and with ``status`` (active or
        ended), if given.
        """
        who = claim(user) if user else None
        query = {"iss": who and who.iss, "sub": who and who.sub, "status": status, "limit": PAGE}
        async with aclosing(self._transport.pages(dict, MANDATES, query)) as found:
            async for one in found:
                yield one

    async def mandate_of(self, mandate: str | Outcome) -> Json:
        """Return the mandate with its limits, and in ``used`` what is charged or reserved of them."""
        return await self._transport.fetch(dict, "GET", mandate_path(mandate))

    async def charge(
        self,
        mandate: str | Outcome,
        amount: int,
        *,
        description: str,
        item: str | None = None,
        uses: int | None = None,
        metadata: Json | None = None,
        idempotency_key: str | None = None,
    ) -> Json:
        """Charge ``amount`` minor units under the mandate, for ``description``. Returns the charge.

        Its ``status`` is paid, failed, processing (an event follows), announced, or requires_action: then the user has
        to open its ``url``. Use one ``idempotency_key`` for each purchase: called again under it, it is charged once.
        ``item`` and ``uses``: what the user may use then. Raises PermissionDeniedError ``over_limit`` beyond a limit,
        ConflictError when the mandate has ended, and NotCompleted for an outcome without a mandate.
        """
        said = {"item": item, "uses": uses, "metadata": metadata}
        body = {"amount": amount, "description": description, **{k: v for k, v in said.items() if v is not None}}
        headers = {"Idempotency-Key": idempotency_key or uuid.uuid4().hex}
        return await self._transport.fetch(dict, "POST", f"{mandate_path(mandate)}/charges", json=body, headers=headers)

    async def charges(self, mandate: str | Outcome) -> AsyncGenerator[Json, None]:
        """The charges of a mandate, newest first."""
        query = {"limit": PAGE}
        async with aclosing(self._transport.pages(dict, f"{mandate_path(mandate)}/charges", query)) as found:
            async for one in found:
                yield one

    async def end_mandate(self, mandate: str | Outcome) -> Json:
        """End it: nothing more can be charged. Returns the mandate."""
        return await self._transport.fetch(dict, "POST", f"{mandate_path(mandate)}/end")
