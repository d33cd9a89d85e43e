"""Connecting by a short code that the person types at the provider, in any browser (RFC 8628).

Nobody can know who typed it (sections 5.4 and 5.5): the line asks the person about the account before it is kept.
"""

from __future__ import annotations

from elicit_flows import errors
from elicit_flows.kinds.oauth.concluding import SWITCHED_OFF, asked_of, conclude, key_of, refusal, wanted
from elicit_flows.kinds.oauth.config import OAuthProvider
from elicit_flows.kinds.oauth.endpoints import Endpoints, resolve
from elicit_flows.kinds.oauth.exchange import client
from elicit_flows.lib import oauth
from elicit_flows.values import Again, Finish, Json, Leave, Show, Visit, Wait

SLOWER = 5  # seconds that "slow_down" adds for good (section 3.5)
RAN_OUT = "The code ran out before it was entered. Start again, and you get a new one."
LOST = "The provider does not know the code any more. Start again, and you get a new one."


def begin(config: OAuthProvider, endpoints: Endpoints) -> Leave:
    """Raises ProviderUnavailable."""
    if endpoints.device is None:
        raise errors.ProviderUnavailable("The provider gives out no codes for other devices.")
    key = oauth.new_dpop_key() if config.dpop == "required" else None
    return Leave("", {"dpop_key": key, **asked_of(config, endpoints)}, hand_over=True)


def ask(visit: Visit, config: OAuthProvider) -> Show:
    """A code of the provider's. At most 15 seconds. Raises ProviderUnavailable."""
    try:
        code = _code(visit, config)
    except oauth.Transient as trouble:
        raise errors.ProviderUnavailable(str(trouble), retry_after=2) from None
    except oauth.OAuthError as refused:
        if isinstance(refused, oauth.ProviderError) and refused.code == "invalid_client":
            raise errors.ClientUnknown from None
        raise errors.ProviderUnavailable(f"The provider gives out no code: {refused}") from None
    shown = {"code": code.user_code, "address": code.address, "complete": code.complete or code.address}
    kept = {**visit.stash, "device_code": code.device_code, "interval": code.interval, "pause": code.interval}
    return Show(shown, kept, seconds=code.interval, life=code.expires_in)


def _code(visit: Visit, config: OAuthProvider) -> oauth.DeviceCode:
    endpoint = resolve(config).device
    if endpoint is None:
        raise oauth.DiscoveryError("there is no address to ask for one.")
    who = client(config)
    return oauth.authorize_device(endpoint, who, scopes=wanted(visit.params, config), resources=config.resources)


def poll(visit: Visit) -> Finish | Again | Wait:
    """Asks once. At most 30 seconds."""
    config: OAuthProvider | None = visit.config
    if config is None:
        return Again("provider_unavailable", SWITCHED_OFF)
    try:
        endpoints = resolve(config)
    except oauth.DiscoveryError:
        return _no_answer(visit.stash)
    if any(visit.stash.get(name) != value for name, value in asked_of(config, endpoints).items()):
        return Again("provider_changed", "The provider's settings were changed meanwhile. Start again.")
    return _redeem(visit, config, endpoints)


def _redeem(visit: Visit, config: OAuthProvider, endpoints: Endpoints) -> Finish | Again | Wait:
    code, who = visit.stash["device_code"], client(config, key_of(visit))
    try:
        tokens = oauth.redeem_device(endpoints.token, who, device_code=code, resources=config.resources)
    except oauth.NotYet as answer:
        return _not_yet(visit.stash, slower=answer.slower)
    except oauth.Transient:
        return _no_answer(visit.stash)
    except oauth.InvalidGrant:
        return Again("invalid_grant", LOST)
    except oauth.ProviderError as error:
        return _refused(error, config)
    return conclude(visit, config, endpoints, tokens)


def _not_yet(stash: Json, *, slower: bool) -> Wait:
    interval = min(stash["interval"] + (SLOWER if slower else 0), oauth.MOST_INTERVAL)
    return Wait(interval, {**stash, "interval": interval, "pause": interval})


def _no_answer(stash: Json) -> Wait:
    """Twice as long each time, until there is an answer."""
    pause = min(2 * stash["pause"], oauth.MOST_INTERVAL)
    return Wait(pause, {**stash, "pause": pause}, unanswered=True)


def _refused(error: oauth.ProviderError, config: OAuthProvider) -> Finish | Again:
    if error.code == "expired_token":
        return Again("expired_token", RAN_OUT)
    if error.code == "invalid_client" and config.registration == "dynamic":
        return Again(errors.ClientUnknown.code, errors.ClientUnknown.title)
    return refusal(error.code, None) if error.code == "access_denied" else Finish.failed("provider_error", str(error))
