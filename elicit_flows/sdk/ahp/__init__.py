"""The input requests of an AHP host, for agents written in Python: see ``AhpInputBridge``.

Needs no library of AHP's: the host gives a function that dispatches actions, and hands its clients' actions in.
"""

from elicit_flows.sdk.ahp.bridge import AhpInputBridge, ToolCall

__all__ = ["AhpInputBridge", "ToolCall"]
