"""Kind credentials: keys and passwords, typed into our page only."""

from elicit_flows.kinds.credentials.kind import Credentials

__all__ = ["Credentials"]
