"""ACP's elicitation RFD before it was stable (until 2026-07): ``session/elicitation``, always in a session.

It has the refusal -32042, as MCP 2025-11-25 does. A client that declares ``elicitation: {}`` supports form mode only.
"""

from __future__ import annotations

from elicit_flows.domain.values import Json
from elicit_flows.wires import acp, mcp_2025_11_25
from elicit_flows.wires.asked import is_over

required = mcp_2025_11_25.required
reply = acp.reply


def message(body: Json, session: str) -> Json:
    """The next message: ``session/elicitation`` in URL mode, or, once it is over, the notification."""
    if is_over(body):
        return mcp_2025_11_25.completion(body)
    return {"method": "session/elicitation", "params": {"sessionId": session, **acp.params(body)}}


def form(body: Json, session: str) -> Json:
    """``session/elicitation`` in form mode. Raises Invalid, AlreadyOver."""
    asked = acp.message(body, form=True)["params"]
    return {"method": "session/elicitation", "params": {"sessionId": session, **asked}}
