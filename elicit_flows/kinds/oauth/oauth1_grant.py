"""OAuth 1.0a (RFC 5849): the person agrees to temporary credentials of ours, which are then exchanged for a token.

The protocol has no ``state``. Ours stands in the address that the person comes back to, and the answer must also name
the temporary credentials of the same attempt (threat T168).
"""

from __future__ import annotations

import hmac
from urllib.parse import urlencode

from elicit_flows import oauth
from elicit_flows.domain import errors
from elicit_flows.domain.values import Again, Answer, Finish, Leave, Visit
from elicit_flows.kinds.oauth.provider import (
    Endpoints,
    OAuthProvider,
    client1,
    finish_with,
    provider_identity,
    redemption_refused,
    resolve,
    same_endpoints,
    scopes_to_request,
)
from elicit_flows.oauth import oauth1

TOKEN_TYPE = "oauth1"
MOST = 4096  # characters of a token or verifier
# What the browser brings if the person says no. RFC 5849 has no word for it: the first is that of X
# (docs.x.com/fundamentals/authentication), the second is of the extension OAuth Problem Reporting.
REFUSALS = ("denied", "oauth_problem")


def begin(visit: Visit, config: OAuthProvider, endpoints: Endpoints) -> Leave:
    """The step in which ``ask`` gets temporary credentials."""
    kept = {"oauth1": True, "state": visit.state, "variables": dict(config.variables)}
    return Leave("", {**kept, **provider_identity(config, endpoints)}, hand_over=True)


def ask(visit: Visit, config: OAuthProvider) -> Leave:
    """Get temporary credentials, and where the person agrees to them; takes at most 20 seconds.

    Raises DiscoveryError, ProviderError and Transient.
    """
    endpoints, way = resolve(config), config.quirks.oauth1
    if way is None:
        raise oauth.DiscoveryError("The provider's settings have changed.")
    callback = f"{visit.redirect_uri}?{urlencode({'state': visit.stash['state']})}"
    temporary = oauth1.request_token(way.request_url, client1(config), callback=callback)
    url, scopes = oauth1.authorization_url(endpoints.authorize, temporary), scopes_to_request(visit.params, config)
    if scopes:  # not in the RFC, but at providers such as Trello
        url += "&" + urlencode({"scope": " ".join(scopes)})
    kept = {"temporary": temporary.token, "temporary_secret": temporary.secret}
    return Leave(oauth.adapt_url(url, config.quirks), {**visit.stash, **kept})


def check_answer(visit: Visit, answer: Answer) -> None:
    """Check that there is a verifier for the credentials of this attempt, or a refusal. Raises BadCallback."""
    given = {name: answer.one(name) or "" for name in ("oauth_token", "oauth_verifier", *REFUSALS)}
    if any(answer.repeated(name) or len(value) > MOST for name, value in given.items()):
        raise errors.BadCallback("The provider's answer is repeated or too long.")
    refused = any(given[name] for name in REFUSALS)
    if bool(given["oauth_verifier"]) == refused:
        raise errors.BadCallback("The provider's answer is neither a yes nor a no.")
    ours = visit.stash.get("temporary", "")
    if not refused and not hmac.compare_digest(given["oauth_token"].encode(), ours.encode()):
        raise errors.BadCallback("This answer belongs to another attempt. Start again from the link.")


def resume(visit: Visit, answer: Answer) -> Finish | Again:
    """Exchange the temporary credentials; takes at most 30 seconds."""
    if any(answer.one(name) for name in REFUSALS):
        return Finish("declined")
    try:
        endpoints = same_endpoints(visit)
        if isinstance(endpoints, Again):
            return endpoints
        token = oauth1.access_token(
            endpoints.token,
            client1(visit.config),
            oauth1.Token1(visit.stash["temporary"], visit.stash["temporary_secret"]),
            answered=answer.one("oauth_token") or "",
            verifier=answer.one("oauth_verifier") or "",
        )
        granted = oauth.Tokens(
            token.token, None, None, None, None, TOKEN_TYPE, dict(token.said), token_secret=token.secret
        )
        return finish_with(visit, endpoints, granted, answer)
    except oauth.OAuthError as error:
        return redemption_refused(error, visit.config)
