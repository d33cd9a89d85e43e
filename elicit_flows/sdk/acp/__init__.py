"""Questions of an ACP agent. Needs ``agent-client-protocol``: ``pip install "elicit-flows[acp]"``."""

from elicit_flows.sdk.acp.flows import AcpFlows, Resumed
from elicit_flows.sdk.acp.peer import CannotAsk, UnknownAnswer

__all__ = ["AcpFlows", "CannotAsk", "Resumed", "UnknownAnswer"]
