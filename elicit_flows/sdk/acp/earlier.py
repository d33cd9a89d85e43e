"""The elicitations of a session that nobody has acted on yet, as the service remembers them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.paths import ELICITATIONS
from elicit_flows.sdk.shapes import Elicitation
from elicit_flows.values import Claim, Json

PAGE = 100
LONGEST = timedelta(days=30)  # no link lives longer
SCOPE = "acp"  # the member of the metadata that holds the scope


async def unfinished(elicit: Elicit, user: Claim, session_id: str) -> list[Elicitation]:
    """Of this user and no other, oldest first: a session's id alone proves nothing."""
    query: Json = {"iss": user.iss, "sub": user.sub, "limit": PAGE}
    found: list[Elicitation] = []
    cursor: str | None = ""
    while cursor is not None and not (found and _too_old(found[-1])):
        page = await elicit._transport.call("GET", ELICITATIONS, params=query | {"cursor": cursor})
        found += [Elicitation.read(body) for body in page["data"]]
        cursor = page["next_cursor"]
    return [one for one in reversed(found) if one.consumed_at is None and _session(one) == session_id]


def _too_old(elicitation: Elicitation) -> bool:
    return elicitation.created_at is not None and datetime.now(UTC) - elicitation.created_at > LONGEST


def _session(elicitation: Elicitation) -> str | None:
    scope = elicitation.metadata.get(SCOPE)
    return scope.get("sessionId") if isinstance(scope, dict) else None
