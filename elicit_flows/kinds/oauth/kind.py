"""The kind: leave for the provider, come back with a code, end with a grant."""

from __future__ import annotations

from dataclasses import replace

from elicit_flows import errors
from elicit_flows.kinds.oauth import account, params
from elicit_flows.kinds.oauth.config import OAuthProvider
from elicit_flows.kinds.oauth.endpoints import Endpoints, authorize_url, resolve
from elicit_flows.kinds.oauth.exchange import client, grant
from elicit_flows.kinds.oauth.pushing import hand_over
from elicit_flows.lib import oauth, text
from elicit_flows.values import Again, Answer, Finish, Grant, Json, Leave, Secret, Visit

MAX_CODE = 4096
_SWITCHED_OFF = "This provider is switched off."
_LATER = frozenset({"temporarily_unavailable", "server_error"})


class OAuth:
    """Connect an account at an OAuth 2.0 provider (RFC 6749, authorization code with PKCE)."""

    context: str | None = "provider"
    takes_money = False
    leaves = True

    def clean(self, given: Json) -> Json:
        """``{provider, scopes?, connection?}``. Raises Invalid."""
        return params.clean(given)

    def describe(self, asked: Json, config: OAuthProvider | None) -> Json:
        """``{title, host, host_warning, scopes, scope_words}``: what is connected, the ASCII host that comes next (with
        a sentence where it may imitate another), and what is asked for, some of it in words. Asks nobody.
        """
        if config is None:
            unknown = {"host": "", "host_warning": "", "scope_words": {}}
            return {"title": asked["provider"], "scopes": asked["scopes"], **unknown}
        url = authorize_url(config) or ""
        return {
            "title": config.name,
            "host": text.ascii_host(url),
            "host_warning": text.host_warning(url),
            "scopes": list(wanted(asked, config)),
            "scope_words": config.scope_words,
        }

    def begin(self, visit: Visit) -> Leave:
        """The provider's authorization page. Raises ProviderUnavailable."""
        config: OAuthProvider | None = visit.config
        if config is None:
            raise errors.ProviderUnavailable(_SWITCHED_OFF)
        try:
            endpoints = resolve(config)
        except oauth.DiscoveryError as error:
            raise errors.ProviderUnavailable(str(error)) from None
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
        return Leave(url, kept | _asked(config, endpoints), hand_over=endpoints.pushed is not None)

    def hand_over(self, visit: Visit, url: str) -> str:
        """Pushes the authorization request (RFC 9126). Raises ProviderUnavailable."""
        return hand_over(visit.config, url)

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
            return _refused(refused, answer.one("error_description"))
        config: OAuthProvider | None = visit.config
        if config is None:
            return Again("provider_unavailable", _SWITCHED_OFF)
        try:
            endpoints = resolve(config)
        except oauth.DiscoveryError as error:
            return Again("provider_unavailable", str(error))
        if any(visit.stash.get(name) != value for name, value in _asked(config, endpoints).items()):
            return Again("provider_changed", "The provider's settings were changed meanwhile. Start again.")
        return _redeem(visit, config, endpoints, answer.one("code") or "")


def wanted(asked: Json, config: OAuthProvider) -> tuple[str, ...]:
    """The scopes that the operator always asks for, then the agent's."""
    return tuple(dict.fromkeys([*config.scopes, *asked["scopes"]]))


def _asked(config: OAuthProvider, endpoints: Endpoints) -> Json:
    """Who was asked; a code goes to nobody else."""
    return {"issuer": endpoints.issuer, "token": endpoints.token, "client": config.client_id}


def _refused(code: str, description: str | None) -> Finish | Again:
    if code == "access_denied":
        return Finish("declined")
    if code in _LATER:
        return Again("provider_unavailable", "The provider cannot do this now. Try again.")
    said = oauth.visible(description, 200)
    message = f"The provider answered {oauth.clean_code(code)}"
    return Finish.failed("provider_error", f'{message}: "{said}"' if said else f"{message}.")


def _redeem(visit: Visit, config: OAuthProvider, endpoints: Endpoints, code: str) -> Finish | Again:
    try:
        tokens = oauth.redeem(
            endpoints.token,
            client(config, _key(visit)),
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
    return _conclude(visit, config, endpoints, tokens)


def _conclude(visit: Visit, config: OAuthProvider, endpoints: Endpoints, tokens: oauth.Tokens) -> Finish:
    try:
        who = account.find(config, endpoints, tokens, visit.stash.get("nonce"), _key(visit))
    except account.AccountMismatch as mismatch:
        _give_back(config, endpoints, tokens)
        return Finish.failed("provider_error", str(mismatch))
    granted = replace(grant(tokens, wanted(visit.params, config), who), dpop_key=_key(visit))
    return Finish("completed", result=_result(config, granted), grant=granted)


def _key(visit: Visit) -> Secret | None:
    """What this attempt's tokens are bound to, if anything."""
    key = visit.stash.get("dpop_key")
    return Secret(key) if key else None


def _result(config: OAuthProvider, granted: Grant) -> Json:
    named = {"id": granted.account_id, "label": granted.account_label or granted.account_id}
    return {
        "provider": config.slug,
        "scopes": list(granted.scopes),
        "account": named if granted.account_id else None,
    }


def _give_back(config: OAuthProvider, endpoints: Endpoints, tokens: oauth.Tokens) -> None:
    """Nobody keeps these tokens; a provider that cannot be told lets them run out."""
    if endpoints.revocation is None:
        return
    token, hint = tokens.access_token, "access_token"
    if tokens.refresh_token:
        token, hint = tokens.refresh_token, "refresh_token"
    try:
        oauth.revoke(endpoints.revocation, client(config), token=token, hint=hint, deadline=3.0)
    except (oauth.Transient, oauth.ProviderError, oauth.InvalidGrant):
        return
