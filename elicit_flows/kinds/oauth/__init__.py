"""Connect an account at an OAuth provider."""

from elicit_flows.kinds.oauth.kind import OAuth
from elicit_flows.kinds.oauth.renewal import refresh, revoke, revoke_grant

__all__ = ["OAuth", "refresh", "revoke", "revoke_grant"]
