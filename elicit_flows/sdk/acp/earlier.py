"""The elicitations of a session that nobody has acted on yet, as the service knows them."""

from __future__ import annotations

from elicit_flows.domain.values import Claim
from elicit_flows.sdk import idempotency
from elicit_flows.sdk.client import Elicit
from elicit_flows.sdk.shapes import Elicitation

SCOPE = "acp"  # the member of an elicitation's metadata that holds the scope
AGENT = "acp_agent"  # the member that holds the agent's name


async def unfinished(elicit: Elicit, user: Claim, agent: str, session_id: str) -> list[Elicitation]:
    """Those of this user that this agent asked in this session, oldest first.

    The session's id alone proves nothing, so user and agent have to match as well.
    """

    def is_theirs(one: Elicitation) -> bool:
        scope = one.metadata.get(SCOPE)
        session = scope.get("sessionId") if isinstance(scope, dict) else None
        return (one.metadata.get(AGENT), session) == (agent, session_id)

    return await idempotency.unfinished(elicit, user, is_theirs)
