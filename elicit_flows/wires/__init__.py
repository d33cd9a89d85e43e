"""An elicitation as messages of each protocol: pure functions from the API's JSON to messages, and from answers back.

The names in ``MESSAGES`` are those of ``GET /v1/elicitations/{id}/wire/{protocol}``. Earlier versions of a protocol are
modules of their own: ``ahp_session_input``, ``acp_session_elicitation``, ``mcp_input_list``.
"""

from __future__ import annotations

from collections.abc import Callable

from elicit_flows.domain.values import Json
from elicit_flows.wires import acp, ahp, mcp_2025_11_25, mcp_2026_07_28, tesseron

# Takes the body of GET /v1/elicitations/{id}, and whether the questions go to the client in form mode.
Message = Callable[[Json, bool], Json]

MESSAGES: dict[str, Message] = {
    "mcp-2025-11-25": mcp_2025_11_25.message,
    "mcp-2026-07-28": mcp_2026_07_28.message,
    "acp": acp.message,
    "ahp": ahp.message,
    "tesseron": tesseron.message,
}
