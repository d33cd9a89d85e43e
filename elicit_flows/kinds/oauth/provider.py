"""An OAuth provider: its configuration and endpoints, the tokens that it gives, and the account that they are for."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from elicit_flows import http, oauth
from elicit_flows.domain import errors
from elicit_flows.domain.values import Again, Answer, Finish, Grant, Json, ScopeWords, Secret, Visit
from elicit_flows.http import strict_json
from elicit_flows.kinds.oauth import connection_metadata
from elicit_flows.lib import clock
from elicit_flows.lib.sentences import sentence
from elicit_flows.oauth import PLAIN, Quirks, oauth1

SWITCHED_OFF = sentence("This provider is switched off.")

OFFLINE = "offline_access"
Account = tuple[str | None, str | None]  # the account's id at the provider, and a label for people

_IDS = ("sub", "id", "login")
_LABELS = ("preferred_username", "login", "username", "nickname", "name", "display_name")
_OF_ATTEMPTS = ("verifier", "nonce", "dpop_key", "device_code", "temporary", "temporary_secret")
_LATER = frozenset({"temporarily_unavailable", "server_error"})
# The person said no. The last two are LinkedIn's, and the last one Apple's, too (learn.microsoft.com/linkedin/shared/
# authentication/authorization-code-flow; developer.apple.com, "Handling authentication responses").
_DECLINED = frozenset({"access_denied", "user_cancelled_login", "user_cancelled_authorize"})


@dataclass(frozen=True, slots=True)
class OAuthProvider:
    """With ``issuer``, endpoints that are None come from metadata discovery (RFC 8414, OpenID Connect Discovery).

    With ``token_auth`` private_key_jwt, ``client_secret`` is the private key (PEM or JWK), and ``issuer`` is required.
    """

    slug: str
    name: str
    client_id: str
    client_secret: Secret | None = None
    issuer: str | None = None
    authorize_url: str | None = None
    token_url: str | None = None
    revocation_url: str | None = None
    userinfo_url: str | None = None
    device_authorization_url: str | None = None
    token_auth: str = "client_secret_basic"  # client_secret_post | private_key_jwt | none
    scopes: tuple[str, ...] = ()
    grant: str = "authorization_code"  # device_code: the person types a code at the provider, on any device (RFC 8628)
    pkce: str = "S256"  # "off" only with a warning
    registration: str = "off"  # dynamic | document: how this service registers at the provider
    par: str = "auto"  # required | off; auto: requests are pushed if the provider offers it (RFC 9126)
    dpop: str = "off"  # required
    resources: tuple[str, ...] = ()  # the audience of the tokens (RFC 8707)
    quirks: Quirks = PLAIN
    scope_words: ScopeWords = field(default_factory=dict)  # what a scope allows, in words for the person
    hosts: Mapping[str, str] | None = None  # by purpose, the hosts that receive the grant's secrets
    metadata: tuple[connection_metadata.Named, ...] = ()  # what is kept of what the provider says beside the tokens
    variables: Mapping[str, str] = field(default_factory=dict)  # what the person named in the addresses
    metadata_url: str | None = None  # asked once, with the token, for the metadata from "call"
    mcp: str = ""  # the address of a remote MCP server; its authorization server was discovered
    default_scopes: tuple[str, ...] = ()  # requested if an agent names none

    @property
    def by_device(self) -> bool:
        return self.grant == "device_code"


@dataclass(frozen=True, slots=True)
class Endpoints:
    """``issuer`` None: the provider has no issuer to compare answers with. ``authorize`` is "" if the browser never
    goes there. ``pushed`` None: requests are not pushed.
    """

    issuer: str | None
    authorize: str
    token: str
    revocation: str | None
    userinfo: str | None
    sends_iss: bool = False
    pushed: str | None = None
    device: str | None = None


def resolve(config: OAuthProvider) -> Endpoints:
    """The configured endpoints, and the others from the provider's metadata, which takes up to 10 seconds.

    Raises DiscoveryError if the metadata cannot be fetched, if the provider does not offer what is required, or if an
    endpoint is missing or refused.
    """
    if any("{" in (url or "") for url in (config.issuer, config.authorize_url, config.token_url)):
        raise oauth.DiscoveryError("The provider's address is not complete.")
    by_device = config.by_device
    entrance = config.device_authorization_url if by_device else config.authorize_url
    wanted = (entrance, config.token_url, config.revocation_url, config.userinfo_url)
    needs_metadata = None in wanted or (config.par == "required" and not by_device)
    found = oauth.discover(config.issuer, for_mcp=bool(config.mcp)) if config.issuer and needs_metadata else None
    if found and not found.offers_s256() and config.pkce != "off" and not by_device:
        raise oauth.DiscoveryError("The provider does not offer PKCE with S256.")
    authorize = "" if by_device else config.authorize_url or (found.authorization_endpoint if found else None)
    token = config.token_url or (found.token_endpoint if found else None)
    pushed = found.pushed_authorization_request_endpoint if found else None
    if not by_device and pushed is None and (config.par == "required" or (found and found.requires_par)):
        raise oauth.DiscoveryError("The provider does not offer pushed authorization requests.")
    if authorize is None or token is None:
        raise oauth.DiscoveryError("The provider's endpoints are not known.")
    try:
        for url in (token,) if by_device else (authorize, token):
            http.check_url(url)
    except http.Refused as refusal:
        raise oauth.DiscoveryError(f"An endpoint of the provider is refused: {refusal}") from None
    # "off" is for a provider whose support is faulty; one that requires pushed requests gets them all the same.
    pushes = not by_device and (config.par != "off" or (found and found.requires_par))
    return Endpoints(
        issuer=config.issuer,
        authorize=authorize,
        token=token,
        revocation=config.revocation_url or (found.revocation_endpoint if found else None),
        # A token for an MCP server is sent to nobody else (threat T154).
        userinfo=config.userinfo_url or (found.userinfo_endpoint if found and not config.mcp else None),
        sends_iss=found.sends_iss if found else False,
        pushed=pushed if pushes else None,
        device=config.device_authorization_url or (found.device_authorization_endpoint if found else None),
    )


def authorize_url(config: OAuthProvider) -> str | None:
    """The authorization endpoint, or another address of the same provider, without an outside call."""
    known = oauth.discovered(config.issuer) if config.issuer else None
    return config.authorize_url or (known and known.authorization_endpoint) or config.issuer


class AccountMismatch(Exception):
    """The provider's statements about the account contradict each other. ``str`` is safe to show."""


def client(config: OAuthProvider, dpop_key: str | None = None) -> oauth.Client:
    """This service as a client of the provider, with its secrets revealed."""
    secret = config.client_secret.reveal() if config.client_secret else None
    return oauth.Client(config.client_id, secret, config.token_auth, config.issuer, config.quirks, dpop_key)


def client1(config: OAuthProvider) -> oauth1.Client1:
    """This service as a client of a provider of OAuth 1.0a, with its secret revealed."""
    way = config.quirks.oauth1
    secret = config.client_secret.reveal() if config.client_secret else ""
    return oauth1.Client1(config.client_id, secret, way.signature if way else "HMAC-SHA1")


def scopes_to_request(asked: Json, config: OAuthProvider) -> tuple[str, ...]:
    """The operator's scopes, then the agent's."""
    return tuple(dict.fromkeys([*config.scopes, *(asked["scopes"] or config.default_scopes)]))


def provider_identity(config: OAuthProvider, endpoints: Endpoints) -> Json:
    """Which provider is asked. It is stored with the attempt, whose code and token go to no other provider."""
    return {
        "issuer": endpoints.issuer,
        "token": endpoints.token,
        "userinfo": endpoints.userinfo,
        "client": config.client_id,
    }


def authorization_refused(code: str, description: str | None) -> Finish | Again:
    """The outcome of an error from the authorization endpoint."""
    if code in _DECLINED:
        return Finish("declined")
    if code in _LATER:
        return Again("provider_unavailable", "The provider is not available. Try again.")
    said = oauth.visible(description, 200)
    message = f"The provider answered {oauth.clean_code(code)}"
    return Finish.failed("provider_error", f'{message}: "{said}"' if said else f"{message}.")


def same_endpoints(visit: Visit) -> Endpoints | Again:
    """Where the attempt's code may be redeemed: at the provider that it was begun with, while that is as it was.

    Takes at most 10 seconds. Raises DiscoveryError.
    """
    config: OAuthProvider | None = visit.config
    if config is None:
        return Again("provider_unavailable", SWITCHED_OFF)
    endpoints = resolve(config)
    if any(visit.stash.get(name) != value for name, value in provider_identity(config, endpoints).items()):
        return Again("provider_changed", "The provider's settings have changed. Start again.")
    return endpoints


def redemption_refused(error: oauth.OAuthError, config: OAuthProvider | None) -> Finish | Again:
    """The outcome of a code that was not redeemed. What the token endpoint refuses for good fails."""
    if isinstance(error, oauth.DiscoveryError):
        return Again("provider_unavailable", str(error))
    if isinstance(error, oauth.InvalidGrant):
        return Again("invalid_grant", "The provider no longer accepts this sign-in. Try again.")
    if not isinstance(error, oauth.ProviderError):
        return Again("provider_unavailable", "The provider does not answer. Try again.")
    if error.code == "invalid_client" and config and config.registration == "dynamic":
        # The provider has deleted our registration. A new one is made when the person starts again.
        return Again(errors.ClientUnknown.code, errors.ClientUnknown.title)
    return Finish.failed("provider_error", str(error))


def secrets_of(
    config: OAuthProvider, tokens: oauth.Tokens, visit: Visit | None = None, came: Answer | None = None
) -> connection_metadata.Secrets:
    """Everything that must not become metadata."""
    stash = visit.stash if visit else {}
    known = connection_metadata.Secrets(
        tokens.access_token,
        tokens.refresh_token,
        tokens.id_token,
        config.client_secret.reveal() if config.client_secret else None,
        *(stash.get(name) for name in _OF_ATTEMPTS),
        tokens.token_secret,
        visit.state if visit else None,
        *((came.one(name) for name in ("code", "state", "oauth_verifier")) if came else ()),
    )
    known.see(tokens.said)
    return known


def finish_with(visit: Visit, endpoints: Endpoints, tokens: oauth.Tokens, came: Answer | None = None) -> Finish:
    """The outcome of an attempt that got ``tokens``. ``came``: what the browser brought.

    Asks the provider for the account and the metadata; takes at most 15 seconds.
    """
    config: OAuthProvider = visit.config
    key: str | None = visit.stash.get("dpop_key")
    asked = _Asked(config, tokens, oauth.Client(config.client_id, quirks=config.quirks, dpop_key=key))
    if config.metadata:
        asked.secrets = secrets_of(config, tokens, visit, came)
        asked.keep(connection_metadata.TOKEN, tokens.said)
        asked.keep(connection_metadata.CALLBACK, {name: came.one(name) for name in came.fields} if came else {})
    try:
        account = find_account(asked, endpoints, visit.stash.get("nonce"))
    except AccountMismatch as mismatch:
        hint = "refresh_token" if tokens.refresh_token else "access_token"
        if endpoints.revocation:
            # The tokens are not kept, so try to revoke them. If that fails, they expire by themselves.
            with contextlib.suppress(oauth.Transient, oauth.ProviderError, oauth.InvalidGrant):
                token = tokens.refresh_token or tokens.access_token
                oauth.revoke(endpoints.revocation, client(config), token=token, hint=hint, deadline=3.0)
        return Finish.failed("provider_error", str(mismatch))
    if config.metadata_url:
        asked.keep(connection_metadata.CALL, asked.api(config.metadata_url))
    scopes = scopes_to_request(visit.params, config)
    # Strava says beside the code what the person left ticked, and nothing at the token endpoint.
    ticked = ((came and came.one("scope")) or "").replace(",", " ").split()
    if set(ticked) & set(scopes):
        scopes = tuple(one for one in scopes if one in (*ticked, OFFLINE))
    granted = replace(
        grant(tokens, scopes, account),
        dpop_key=Secret(key) if key else None,
        bound_to=config.hosts,
        variables=config.variables,
        metadata=asked.metadata,
        resource=config.resources[0] if config.mcp else "",
    )
    named = {"id": granted.account_id, "label": granted.account_label or granted.account_id}
    result = {
        "provider": config.slug,
        "scopes": list(granted.scopes),
        "account": named if granted.account_id else None,
    }
    return Finish("completed", result=result, grant=granted)


@dataclass(eq=False, repr=False)
class _Asked:
    """What the provider says to one set of tokens: userinfo, the follow-up call, and the metadata so far."""

    config: OAuthProvider
    tokens: oauth.Tokens
    client: oauth.Client  # without its secret, which only the token endpoint gets
    secrets: connection_metadata.Secrets = field(init=False)  # where the entry names metadata
    metadata: Json = field(default_factory=dict)

    def keep(self, source: str, said: Any) -> None:
        found = connection_metadata.taken(self.config.metadata, source, said, self.secrets)
        self.metadata = connection_metadata.merged(self.metadata, found)

    def userinfo(self, url: str) -> dict[str, Any]:
        """{} if the provider does not answer: the account has no name then. The connection works all the same."""
        said: Any = {}
        if endpoint := self.filled(url) if self.config.metadata else url:
            with contextlib.suppress(oauth.Transient, oauth.ProviderError, oauth.InvalidGrant):
                if self.config.quirks.oauth1:
                    said = self._signed(endpoint)
                else:
                    said = oauth.userinfo(endpoint, self.client, access_token=self.tokens.access_token)
        found: dict[str, Any] = said if isinstance(said, dict) else {}
        if self.config.metadata:
            self.keep(connection_metadata.USERINFO, found)
        return found

    def api(self, url: str) -> Any:
        """None if the provider does not answer, or if the address has a place for what it did not say."""
        endpoint = self.filled(url)
        if endpoint and self.config.quirks.oauth1:
            return self._signed(endpoint)
        with contextlib.suppress(oauth.Transient, oauth.ProviderError, oauth.InvalidGrant):
            return oauth.fetch(endpoint, self.client, access_token=self.tokens.access_token) if endpoint else None
        return None

    def _signed(self, url: str) -> Any:
        """The same with a signature of OAuth 1.0a."""
        token = oauth1.Token1(self.tokens.access_token, self.tokens.token_secret or "")
        with contextlib.suppress(oauth.Transient, oauth.ProviderError, oauth.InvalidGrant):
            return oauth1.fetch(url, client1(self.config), token)
        return None

    def filled(self, url: str) -> str | None:
        return connection_metadata.filled(url, self.config.metadata, self.metadata)


def find_account(asked: _Asked, endpoints: Endpoints, nonce: str | None) -> Account:
    """The account's id and a label without e-mail addresses; None if the provider does not say.

    Raises AccountMismatch if userinfo and ID token have different subjects (OpenID Connect Core, 5.3.2).
    """
    tokens, quirks = asked.tokens, asked.config.quirks
    subject = subject_of(tokens.id_token, issuer=endpoints.issuer, client_id=asked.config.client_id, nonce=nonce)
    said: dict[str, Any] = {}
    if subject is None and quirks.account_source == "token":
        said = tokens.said
    elif subject is None and quirks.account_source == "metadata":
        said = asked.metadata
    elif endpoints.userinfo:
        said = asked.userinfo(endpoints.userinfo)
    if subject is None:
        # From the fields that the provider's quirks name, or else from the usual ones.
        subject = id_in({"id": oauth.value_at(said, quirks.account_id)} if quirks.account_id else said)
        said = {"name": oauth.value_at(said, quirks.account_label)} if quirks.account_label else said
    elif "sub" not in said:
        return subject, None
    elif said["sub"] != subject:
        raise AccountMismatch("The provider describes another account than the one that was connected.")
    shown = (oauth.visible(said.get(name), 100) for name in _LABELS)
    return subject, next((label for label in shown if label and "@" not in label), None)


def grant(tokens: oauth.Tokens, asked: tuple[str, ...], account: Account, kept: Secret | None = None) -> Grant:
    """``asked``: the scopes to assume if the provider names none. ``kept``: the refresh token to keep if it
    sends none.
    """
    life, refresh_token = tokens.expires_in, Secret(tokens.refresh_token) if tokens.refresh_token else kept
    scopes = asked if tokens.scopes is None else tokens.scopes
    if OFFLINE in asked and OFFLINE not in scopes and refresh_token:
        # Microsoft never names it. What it asks for is a refresh token (OpenID Connect Core, section 11).
        scopes = (*scopes, OFFLINE)
    return Grant(
        access_token=Secret(tokens.access_token),
        refresh_token=refresh_token,
        token_type=tokens.token_type,
        expires_at=None if life is None else clock.now() + timedelta(seconds=life),
        scopes=scopes,
        account_id=account[0],
        account_label=account[1],
        token_secret=Secret(tokens.token_secret) if tokens.token_secret is not None else None,
    )


def subject_of(id_token: str | None, *, issuer: str | None, client_id: str, nonce: str | None = None) -> str | None:
    """``sub`` of an ID token that came directly from the token endpoint; None if there is none to read.

    The signature is not checked: TLS to the token endpoint replaces that (OpenID Connect Core, 3.1.3.7, item 6), and
    nobody is signed in with it. Raises AccountMismatch if the token has another issuer or audience, or the nonce of
    another attempt.
    """
    claims: Any = None
    parts = id_token.split(".") if id_token else []
    if len(parts) == 3:
        with contextlib.suppress(ValueError):
            claims = strict_json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    if not isinstance(claims, dict) or not isinstance(claims.get("sub"), str):
        return None
    audience = claims.get("aud")
    if client_id not in (audience if isinstance(audience, list) else [audience]):
        raise AccountMismatch("The provider answered with an identity that was issued to another client.")
    if issuer is not None and claims.get("iss") != issuer:
        raise AccountMismatch("The provider answered with an identity of another issuer.")
    if nonce is not None and claims.get("nonce") != nonce:
        raise AccountMismatch("The provider answered with an identity of another attempt.")
    return id_in(claims)


def id_in(said: dict[str, Any]) -> str | None:
    for name in _IDS:
        value = said.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        if isinstance(value, str) and 0 < len(value) <= 255 and value.isprintable():
            return value
    return None
