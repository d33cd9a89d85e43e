"""The device grant: the person types a short code at the provider, in any browser (RFC 8628).

Nobody can know who typed it (sections 5.4 and 5.5), so the person confirms the account before it is kept.
"""

from __future__ import annotations

from elicit_flows import oauth
from elicit_flows.domain import errors
from elicit_flows.domain.values import Again, Finish, Leave, Show, Visit, Wait
from elicit_flows.kinds.oauth.provider import (
    Endpoints,
    OAuthProvider,
    client,
    finish_with,
    provider_identity,
    redemption_refused,
    resolve,
    same_endpoints,
    scopes_to_request,
)
from elicit_flows.lib.sentences import sentence

SLOWER = 5  # seconds that "slow_down" adds to all later intervals (section 3.5)
RAN_OUT = sentence("The code expired before it was entered. Start again to get a new one.")
ENDED: dict[str, Finish | Again] = {
    "expired_token": Again("expired_token", RAN_OUT),
    "access_denied": Finish("declined"),
    "authorization_declined": Finish("declined"),  # Microsoft's
}
LOST = sentence("The provider no longer knows the code. Start again to get a new one.")


def begin(config: OAuthProvider, endpoints: Endpoints) -> Leave:
    """The step in which ``ask`` requests a code. Raises ProviderUnavailable if the provider offers no device grant."""
    if endpoints.device is None:
        raise errors.ProviderUnavailable("The provider does not offer the device grant.")
    key = oauth.new_dpop_key() if config.dpop == "required" else None
    kept = {"dpop_key": key, "variables": dict(config.variables), **provider_identity(config, endpoints)}
    return Leave("", kept, hand_over=True)


def ask(visit: Visit, config: OAuthProvider) -> Show:
    """Request a code from the provider; takes at most 15 seconds. Raises DiscoveryError, ProviderError and
    Transient.
    """
    endpoint = resolve(config).device
    if endpoint is None:
        raise oauth.DiscoveryError("The provider has no device authorization endpoint.")
    scopes = scopes_to_request(visit.params, config)
    code = oauth.authorize_device(endpoint, client(config), scopes=scopes, resources=config.resources)
    shown = {"code": code.user_code, "address": code.address, "complete": code.complete or code.address}
    kept = {**visit.stash, "device_code": code.device_code, "interval": code.interval, "pause": code.interval}
    return Show(shown, kept, seconds=code.interval, life=code.expires_in)


def poll(visit: Visit) -> Finish | Again | Wait:
    """Ask once whether the person has typed the code; takes at most 30 seconds."""
    try:
        endpoints = same_endpoints(visit)
        if isinstance(endpoints, Again):
            return endpoints
        code, who = visit.stash["device_code"], client(visit.config, visit.stash.get("dpop_key"))
        tokens = oauth.redeem_device(endpoints.token, who, device_code=code, resources=visit.config.resources)
        return finish_with(visit, endpoints, tokens)
    except oauth.NotYet as answer:
        interval = min(visit.stash["interval"] + (SLOWER if answer.slower else 0), oauth.MOST_INTERVAL)
        return Wait(interval, {**visit.stash, "interval": interval, "pause": interval})
    except (oauth.DiscoveryError, oauth.Transient):
        # The provider does not answer: double the pause each time.
        pause = min(2 * visit.stash["pause"], oauth.MOST_INTERVAL)
        return Wait(pause, {**visit.stash, "pause": pause}, unanswered=True)
    except oauth.InvalidGrant:
        return Again("invalid_grant", LOST)
    except oauth.ProviderError as error:
        return ENDED.get(error.code) or redemption_refused(error, visit.config)
