"""Kind link: visit a page of the agent's."""

from elicit_flows.kinds.link.kind import Link

__all__ = ["Link"]
