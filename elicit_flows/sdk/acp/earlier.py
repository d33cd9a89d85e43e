"""The elicitations of a session that nobody has acted on yet, as the service remembers them."""

from __future__ import annotations

from contextlib import aclosing
from datetime import UTC, datetime, timedelta

from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.shapes import Elicitation
from elicit_flows.values import Claim

LONGEST = timedelta(days=30)  # no link lives longer
SCOPE = "acp"  # the member of the metadata that holds the scope


async def unfinished(elicit: Elicit, user: Claim, session_id: str) -> list[Elicitation]:
    """Of this user and no other, oldest first: a session's id alone proves nothing."""
    found: list[Elicitation] = []
    async with aclosing(elicit.elicitations(user)) as newest_first:
        async for one in newest_first:
            if one.created_at is not None and datetime.now(UTC) - one.created_at > LONGEST:
                break
            if one.consumed_at is None and _session(one) == session_id:
                found.append(one)
    return found[::-1]


def _session(elicitation: Elicitation) -> str | None:
    scope = elicitation.metadata.get(SCOPE)
    return scope.get("sessionId") if isinstance(scope, dict) else None
