"""Who is using the browser, or who a token belongs to: an OpenID Connect relying party and the other ways of signing
in.

This package knows nothing about sessions or the database.
"""

from elicit_flows.identity import proxy, site
from elicit_flows.identity.errors import SignInRefused
from elicit_flows.identity.openid import Issued, OpenIdProvider, SignedIn, begin, client_of, finish
from elicit_flows.identity.user_token import ACCESS, Trusted, holder

__all__ = [
    "ACCESS",
    "Issued",
    "OpenIdProvider",
    "SignInRefused",
    "SignedIn",
    "Trusted",
    "begin",
    "client_of",
    "finish",
    "holder",
    "proxy",
    "site",
]
