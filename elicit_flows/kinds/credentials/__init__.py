"""Kind credentials: keys and passwords, which are typed only into our page."""

from elicit_flows.kinds.credentials.kind import Credentials

__all__ = ["Credentials"]
