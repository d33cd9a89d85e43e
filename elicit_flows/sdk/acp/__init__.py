"""Questions of an ACP agent. Needs ``agent-client-protocol``: ``pip install "elicit-flows[acp]"``."""

from elicit_flows.sdk.acp.errors import CannotAsk, UnknownAnswer
from elicit_flows.sdk.acp.flows import AcpFlows, Resumed

__all__ = ["AcpFlows", "CannotAsk", "Resumed", "UnknownAnswer"]
