"""Who is in the browser: an OpenID Connect relying party. Knows no session and no database."""

from elicit_flows.identity.errors import SignInRefused
from elicit_flows.identity.openid import OpenIdProvider, SignedIn, begin, finish

__all__ = ["OpenIdProvider", "SignInRefused", "SignedIn", "begin", "finish"]
