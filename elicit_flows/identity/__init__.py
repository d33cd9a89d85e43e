"""Who is in the browser, or in a token: an OpenID Connect relying party, and the other ways to know a person. Knows no
session and no database.
"""

from elicit_flows.identity import passkeys, proxy, site
from elicit_flows.identity.errors import SignInRefused
from elicit_flows.identity.openid import OpenIdProvider, SignedIn, begin, finish
from elicit_flows.identity.user_token import ACCESS, Trusted, holder

__all__ = [
    "ACCESS",
    "OpenIdProvider",
    "SignInRefused",
    "SignedIn",
    "Trusted",
    "begin",
    "finish",
    "holder",
    "passkeys",
    "proxy",
    "site",
]
