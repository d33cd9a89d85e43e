"""The kind: leave for the provider, come back with a code, end with a grant; or type a code there, on any device."""

from __future__ import annotations

from elicit_flows import errors
from elicit_flows.kinds.oauth import device, params
from elicit_flows.kinds.oauth.concluding import SWITCHED_OFF, asked_of, conclude, key_of, refusal, wanted
from elicit_flows.kinds.oauth.config import OAuthProvider
from elicit_flows.kinds.oauth.endpoints import Endpoints, authorize_url, resolve
from elicit_flows.kinds.oauth.exchange import client
from elicit_flows.kinds.oauth.pushing import push
from elicit_flows.lib import oauth, text
from elicit_flows.values import Again, Answer, Finish, Json, Leave, Show, Visit, Wait

MAX_CODE = 4096


class OAuth:
    """Connect an account at an OAuth 2.0 provider (RFC 6749, authorization code with PKCE; or RFC 8628)."""

    context: str | None = "provider"
    takes_money = False
    leaves = True

    def clean(self, given: Json) -> Json:
        """``{provider, scopes?, connection?}``. Raises Invalid."""
        return params.clean(given)

    def describe(self, asked: Json, config: OAuthProvider | None) -> Json:
        """``{title, host, host_warning, scopes, scope_words, by_device}``: what is connected, the ASCII host that comes
        next (with a sentence where it may imitate another; "" where nobody leaves), and what is asked for, some in
        words. Asks nobody.
        """
        if config is None:
            unknown = {"host": "", "host_warning": "", "scope_words": {}, "by_device": False}
            return {"title": asked["provider"], "scopes": asked["scopes"], **unknown}
        url = "" if config.by_device else authorize_url(config) or ""
        return {
            "title": config.name,
            "host": text.ascii_host(url),
            "host_warning": text.host_warning(url),
            "scopes": list(wanted(asked, config)),
            "scope_words": config.scope_words,
            "by_device": config.by_device,
        }

    def begin(self, visit: Visit) -> Leave:
        """The provider's authorization page, or the request for a code. Raises ProviderUnavailable."""
        config: OAuthProvider | None = visit.config
        if config is None:
            raise errors.ProviderUnavailable(SWITCHED_OFF)
        try:
            endpoints = resolve(config)
        except oauth.DiscoveryError as error:
            raise errors.ProviderUnavailable(str(error)) from None
        if config.by_device:
            return device.begin(config, endpoints)
        scopes = wanted(visit.params, config)
        verifier = None if config.pkce == "off" else oauth.new_verifier()
        nonce = oauth.new_verifier() if "openid" in scopes and config.quirks.nonce else None
        key = oauth.new_dpop_key() if config.dpop == "required" else None
        url = oauth.authorization_url(
            endpoints.authorize,
            client_id=config.client_id,
            redirect_uri=visit.redirect_uri,
            scopes=scopes,
            state=visit.state,
            verifier=verifier,
            nonce=nonce,
            login_hint=visit.account if nonce else None,
            resource=list(config.resources),
            dpop_jkt=oauth.thumbprint(key) if key else None,
        )
        url = oauth.bend_url(url, config.quirks)
        kept = {"verifier": verifier, "nonce": nonce, "sends_iss": endpoints.sends_iss, "dpop_key": key}
        return Leave(url, kept | asked_of(config, endpoints), hand_over=endpoints.pushed is not None)

    def hand_over(self, visit: Visit, url: str) -> str | Show:
        """Pushes the authorization request (RFC 9126), or asks for a code. Raises ProviderUnavailable."""
        config: OAuthProvider | None = visit.config
        if config is None:
            raise errors.ProviderUnavailable(SWITCHED_OFF)
        return push(config, url) if url else device.ask(visit, config)

    def poll(self, visit: Visit) -> Finish | Again | Wait:
        """Whether the code was typed. At most 30 seconds."""
        return device.poll(visit)

    def check_answer(self, visit: Visit, answer: Answer) -> None:
        """One code or one error, from the issuer that was asked (RFC 9207). Raises BadCallback."""
        stash = visit.stash
        try:
            given = answer.fields.get("iss", [])
            oauth.check_issuer(given, expected=stash.get("issuer"), required=bool(stash.get("sends_iss")))
        except oauth.IssuerMismatch as error:
            raise errors.BadCallback(str(error)) from None
        code, error_code = answer.one("code"), answer.one("error")
        if answer.repeated("code") or answer.repeated("error") or bool(code) == bool(error_code):
            raise errors.BadCallback("The provider's answer is neither a code nor an error.")
        if code and len(code) > MAX_CODE:
            raise errors.BadCallback("The provider's answer is too long.")

    def resume(self, visit: Visit, answer: Answer) -> Finish | Again:
        """Redeems the code. At most 30 seconds."""
        refused = answer.one("error")
        if refused is not None:
            return refusal(refused, answer.one("error_description"))
        config: OAuthProvider | None = visit.config
        if config is None:
            return Again("provider_unavailable", SWITCHED_OFF)
        try:
            endpoints = resolve(config)
        except oauth.DiscoveryError as error:
            return Again("provider_unavailable", str(error))
        if any(visit.stash.get(name) != value for name, value in asked_of(config, endpoints).items()):
            return Again("provider_changed", "The provider's settings were changed meanwhile. Start again.")
        return _redeem(visit, config, endpoints, answer.one("code") or "")


def _redeem(visit: Visit, config: OAuthProvider, endpoints: Endpoints, code: str) -> Finish | Again:
    try:
        tokens = oauth.redeem(
            endpoints.token,
            client(config, key_of(visit)),
            code=code,
            redirect_uri=visit.redirect_uri,
            verifier=visit.stash.get("verifier"),
            resources=config.resources,
        )
    except oauth.InvalidGrant:
        return Again("invalid_grant", "The provider did not accept its own answer any more. Try again.")
    except oauth.Transient:
        return Again("provider_unavailable", "The provider does not answer. Try again.")
    except oauth.ProviderError as error:
        if error.code == "invalid_client" and config.registration == "dynamic":
            return Again(errors.ClientUnknown.code, errors.ClientUnknown.title)
        return Finish.failed("provider_error", str(error))
    return conclude(visit, config, endpoints, tokens)
