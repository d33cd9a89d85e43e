"""Questions as input requests of an AHP host, for agents written in Python: see ``AhpInputBridge``.

No AHP library is needed: the host passes a function that dispatches actions, and passes in its clients' actions.
"""

from elicit_flows.sdk.ahp.bridge import AhpInputBridge, ToolCall

__all__ = ["AhpInputBridge", "ToolCall"]
