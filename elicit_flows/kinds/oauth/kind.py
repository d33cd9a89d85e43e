"""Kind oauth: the person goes to the provider and comes back with a code, or types a code there on any device. Both
ways end with a grant.
"""

from __future__ import annotations

from elicit_flows import http, oauth
from elicit_flows.domain import errors
from elicit_flows.domain.values import Again, Answer, Finish, Json, Leave, Show, Visit, Wait
from elicit_flows.kinds.oauth import described_calls, device_grant, oauth1_grant, params, scope_sets
from elicit_flows.kinds.oauth.provider import (
    SWITCHED_OFF,
    Endpoints,
    OAuthProvider,
    authorization_refused,
    authorize_url,
    client,
    finish_with,
    provider_identity,
    redemption_refused,
    resolve,
    same_endpoints,
    scopes_to_request,
)
from elicit_flows.lib import ids, text

MAX_CODE = 4096


class OAuth:
    """Connect an account at an OAuth 2.0 provider (RFC 6749, authorization code with PKCE; or RFC 8628)."""

    context: str | None = "provider"
    takes_money = False
    leaves = True

    def clean(self, given: Json) -> Json:
        """``{provider or mcp, scopes?, reasons?, connection?, variables?}``. Raises Invalid."""
        return params.clean(given)

    def describe(self, asked: Json, config: OAuthProvider | None) -> Json:
        """``{title, host, host_warning, scopes, scope_words, reasons, by_device, mcp, issuer_host,
        seen}``.

        ``host`` is the ASCII host that comes next, "" if the browser stays here, or if it is not known yet.
        ``host_warning`` is a sentence if the host may imitate another. ``mcp``: the address of a remote MCP server, or
        ""; ``issuer_host``: the host of its authorization server; ``seen`` changes with what was discovered of it, so
        that nobody goes on with a page that shows something else. Makes no outside call.
        """
        server = asked.get("mcp", "")
        if config is None:
            unknown = {"host": "", "host_warning": text.host_warning(server), "scope_words": {}, "by_device": False}
            title = text.ascii_host(server) if server else asked["provider"]
            said = {"title": title, "scopes": asked["scopes"], "reasons": asked.get("reasons", {})}
            return {**said, "mcp": server, "issuer_host": "", "seen": "", **unknown}
        url = "" if config.by_device else authorize_url(config) or ""
        url = "" if "{" in url else url  # the person has still to say where it is
        scopes = scopes_to_request(asked, config)
        return {
            "title": config.name,
            "host": text.ascii_host(url),
            "host_warning": text.host_warning(server) or text.host_warning(url),
            "scopes": list(scopes),
            "scope_words": config.scope_words,
            "reasons": asked.get("reasons", {}),
            "by_device": config.by_device,
            "mcp": server,
            "issuer_host": text.ascii_host(config.issuer or "") if server else "",
            "seen": ids.digest(" ".join([config.issuer or "", url, *sorted(scopes)])) if server else "",
        }

    def begin(self, visit: Visit) -> Leave:
        """The provider's authorization page, or the step that requests a device code. Raises ProviderUnavailable."""
        config: OAuthProvider | None = visit.config
        if config is None:
            raise errors.ProviderUnavailable(SWITCHED_OFF)
        endpoints = _endpoints(config)
        if config.by_device:
            return device_grant.begin(config, endpoints)
        if config.quirks.oauth1:
            return oauth1_grant.begin(visit, config, endpoints)
        scopes = scopes_to_request(visit.params, config)
        verifier = None if config.pkce == "off" else oauth.new_verifier()
        nonce = oauth.new_verifier() if "openid" in scopes and config.quirks.nonce else None
        key = oauth.new_dpop_key() if config.dpop == "required" else None
        # Providers ignore parameters that they do not know (RFC 6749, section 3.1). Those that do not say so in their
        # entry. What the operator wrote in the address stays.
        tells_language = config.quirks.ui_locales and "ui_locales=" not in endpoints.authorize
        url = oauth.authorization_url(
            endpoints.authorize,
            client_id=config.client_id,
            redirect_uri=visit.redirect_uri,
            scopes=scopes,
            state=visit.state,
            verifier=verifier,
            nonce=nonce,
            login_hint=visit.account if nonce else None,
            ui_locales=visit.language if tells_language else None,
            resource=list(config.resources),
            dpop_jkt=oauth.thumbprint(key) if key else None,
        )
        url = oauth.adapt_url(url, config.quirks)
        kept: Json = {"verifier": verifier, "nonce": nonce, "sends_iss": endpoints.sends_iss, "dpop_key": key}
        kept |= {"variables": dict(config.variables), **provider_identity(config, endpoints)}
        return Leave(url, kept, hand_over=endpoints.pushed is not None)

    def hand_over(self, visit: Visit, url: str) -> str | Show | Leave:
        """Push the authorization request ``url`` (RFC 9126). If ``url`` is "", request a device code, or temporary
        credentials (RFC 5849).

        Takes at most 20 seconds. Raises ProviderUnavailable and ClientUnknown.
        """
        config: OAuthProvider | None = visit.config
        if config is None:
            raise errors.ProviderUnavailable(SWITCHED_OFF)
        try:
            if visit.stash.get("oauth1"):
                return oauth1_grant.ask(visit, config)
            if not url:
                return device_grant.ask(visit, config)
            endpoint = resolve(config).pushed
            return oauth.push(endpoint, client(config), url) if endpoint else url
        except oauth.Transient as trouble:
            raise errors.ProviderUnavailable(str(trouble), retry_after=2) from None
        except oauth.OAuthError as refused:
            if isinstance(refused, oauth.ProviderError) and refused.code == "invalid_client":
                raise errors.ClientUnknown from None
            what = "refuses the request" if url else "issues no code"
            raise errors.ProviderUnavailable(f"The provider {what}: {refused}") from None

    def poll(self, visit: Visit) -> Finish | Again | Wait:
        """Ask once whether the code was typed; takes at most 30 seconds."""
        return device_grant.poll(visit)

    def check_answer(self, visit: Visit, answer: Answer) -> None:
        """Check that there is one code or one error, from the issuer that was asked (RFC 9207). Raises BadCallback."""
        stash = visit.stash
        if stash.get("oauth1"):
            oauth1_grant.check_answer(visit, answer)
            return
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
        """Redeem the code; takes at most 30 seconds."""
        if visit.stash.get("oauth1"):
            return oauth1_grant.resume(visit, answer)
        refused = answer.one("error")
        if refused is not None:
            return authorization_refused(refused, answer.one("error_description"))
        try:
            endpoints = same_endpoints(visit)
            if isinstance(endpoints, Again):
                return endpoints
            tokens = oauth.redeem(
                endpoints.token,
                client(visit.config, visit.stash.get("dpop_key")),
                code=answer.one("code") or "",
                redirect_uri=visit.redirect_uri,
                verifier=visit.stash.get("verifier"),
                resources=visit.config.resources,
            )
            if visit.config.quirks.long_token:
                tokens = described_calls.exchanged(visit.config, tokens)
            done = finish_with(visit, endpoints, tokens, answer)
            return scope_sets.finished(visit.config, done, tokens) if visit.config.quirks.scope_sets else done
        except oauth.OAuthError as error:
            return redemption_refused(error, visit.config)


def _endpoints(config: OAuthProvider) -> Endpoints:
    """Where somebody goes who leaves now. Raises ProviderUnavailable.

    Nobody has vouched for the metadata of a remote MCP server's authorization server. It may name the sign-in page of
    another one, which takes us for its client, as anybody can register there, and whose code would go to the token
    endpoint of the first. So both are at one site, or every answer has to name its issuer (RFC 9207; threat T151).
    """
    try:
        endpoints = resolve(config)
    except oauth.DiscoveryError as error:
        raise errors.ProviderUnavailable(str(error)) from None
    if config.mcp and not endpoints.sends_iss and not http.same_site(endpoints.authorize, endpoints.token):
        raise errors.ProviderUnavailable(
            "The authorization server of the MCP server has people sign in at another site, without the protection "
            "that this needs (RFC 9207). The operator can add it as a provider."
        )
    return endpoints
