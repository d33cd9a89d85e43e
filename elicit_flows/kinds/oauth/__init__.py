"""Connect an account at an OAuth provider."""

from elicit_flows.kinds.oauth.exchange import refresh, revoke
from elicit_flows.kinds.oauth.kind import OAuth

__all__ = ["OAuth", "refresh", "revoke"]
