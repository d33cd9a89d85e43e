"""Kind form: questions whose answers the agent may see."""

from elicit_flows.kinds.form.kind import Form

__all__ = ["Form"]
