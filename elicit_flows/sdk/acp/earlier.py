"""The elicitations of a session that nobody has acted on yet, as the service remembers them."""

from __future__ import annotations

from elicit_flows.sdk import once
from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.shapes import Elicitation
from elicit_flows.values import Claim

SCOPE = "acp"  # the member of the metadata that holds the scope


async def unfinished(elicit: Elicit, user: Claim, session_id: str) -> list[Elicitation]:
    """Of this user and no other, oldest first: a session's id alone proves nothing."""
    return await once.unfinished(elicit, user, lambda one: _session(one) == session_id)


def _session(elicitation: Elicitation) -> str | None:
    scope = elicitation.metadata.get(SCOPE)
    return scope.get("sessionId") if isinstance(scope, dict) else None
