"""OpenID Connect sign-in: builds the authentication request, and reads the response."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from elicit_flows import oauth
from elicit_flows.domain import errors
from elicit_flows.domain.values import Answer, Claim, Secret
from elicit_flows.identity import id_token, jwt_claims, signature
from elicit_flows.identity.errors import SignInRefused

log = logging.getLogger(__name__)

DEADLINE = 5.0
USERINFO_DEADLINE = 3.0
MAX_CODE = 4096
MAX_EMAIL = 254  # characters (RFC 5321, section 4.5.3.1.3, without the angle brackets)
# Microsoft's clouds. Their tokens say nothing of email_verified, and xms_edov where the app's optional claims have it:
# whether the domain's owner is verified (https://learn.microsoft.com/en-us/entra/identity-platform/optional-claims-reference).
ENTRA = ("login.microsoftonline.com", "login.microsoftonline.us", "login.partner.microsoftonline.cn")
NAMES = ("name", "preferred_username", "nickname")  # claims with a name of the person, the best one first
# Who asks for another account gets the former one again where a provider does not know prompt=login. Google names none,
# consent and select_account alone: https://developers.google.com/identity/openid-connect/openid-connect#prompt
PROMPTS = {"https://accounts.google.com": {"login": "select_account"}}
# Of what a scope asks for (OpenID Connect Core, section 5.4), the claims that pages and messages need.
CLAIMS = {"profile": NAMES, "email": ("email", "email_verified")}


@dataclass(frozen=True, slots=True)
class OpenIdProvider:
    """An identity provider as its operator configured it. ``max_age`` is in seconds."""

    slug: str
    issuer: str
    client_id: str
    client_secret: Secret | None
    scopes: tuple[str, ...] = ("openid",)
    max_age: int | None = None


@dataclass(frozen=True, slots=True)
class Issued:
    """What an OpenID provider issued at a sign-in and can be shown again."""

    id_token: Secret
    id_token_until: datetime
    refresh_token: Secret | None


@dataclass(frozen=True, slots=True)
class SignedIn:
    """``auth_time`` is in seconds since 1970, as the provider reports it. ``label`` is the person's name on pages.
    ``email`` is "" unless the provider says that it has verified it. ``issued``: by an OpenID provider.
    """

    claim: Claim
    auth_time: int | None
    label: str
    email: str = ""
    issued: Issued | None = None


def begin(
    op: OpenIdProvider,
    *,
    redirect_uri: str,
    state: str,
    nonce: str,
    verifier: str,
    prompt: str | None = None,
    ui_locales: str | None = None,
) -> str:
    """The address to send the browser to (OpenID Connect Core, 3.1.2.1). ``ui_locales``: language tags, the wanted one
    first. Raises ProviderUnavailable.
    """
    found = _metadata(op)
    return oauth.authorization_url(
        found.authorization_endpoint or "",
        client_id=op.client_id,
        redirect_uri=redirect_uri,
        scopes=op.scopes,
        state=state,
        verifier=verifier,
        nonce=nonce,
        prompt=prompt and PROMPTS.get(op.issuer, {}).get(prompt, prompt),
        ui_locales=ui_locales,
        max_age=None if op.max_age is None else str(op.max_age),
    )


def finish(
    op: OpenIdProvider,
    *,
    redirect_uri: str,
    answer: Answer,
    nonce: str,
    verifier: str,
    since: float | None = None,
) -> SignedIn:
    """The person who came back. The caller has checked ``state``.

    ``since`` is when the browser was sent away, in seconds since 1970; the sign-in's age is counted to it. Raises
    SignInRefused and ProviderUnavailable.
    """
    found = _metadata(op)
    code = _code(op, found, answer)
    try:
        tokens = oauth.redeem(
            found.token_endpoint or "",
            client_of(op, found),
            code=code,
            redirect_uri=redirect_uri,
            verifier=verifier,
            deadline=DEADLINE,
        )
        signed = signature.verify(tokens.id_token or "", found.jwks_uri or "")
    except oauth.InvalidGrant:
        raise SignInRefused("invalid_grant", "This sign-in has been used already, or it took too long.") from None
    except oauth.ProviderError as error:
        raise SignInRefused("provider_error", str(error)) from None
    except (oauth.Transient, oauth.DiscoveryError) as error:
        raise errors.ProviderUnavailable(str(error)) from None
    now = time.time()
    began = now if since is None else since
    expected = id_token.Expected(
        issuer=op.issuer,
        audiences=(op.client_id,),
        client_id=op.client_id,
        nonce=nonce,
        access_token=tokens.access_token,
        max_age=op.max_age,
        now=now,
        since=began,
    )
    id_token.check(signed, expected)
    return _signed_in(_with_userinfo(op, found, signed.claims, tokens.access_token), tokens)


def _metadata(op: OpenIdProvider) -> oauth.Metadata:
    try:
        found = oauth.discover(op.issuer)
    except oauth.DiscoveryError as error:
        raise errors.ProviderUnavailable(str(error)) from None
    if None in (found.authorization_endpoint, found.token_endpoint, found.jwks_uri):
        raise errors.ProviderUnavailable("The identity provider's metadata lacks an endpoint.")
    if not found.offers_s256():
        raise errors.ProviderUnavailable("The identity provider does not offer PKCE with S256.")
    return found


def _code(op: OpenIdProvider, found: oauth.Metadata, answer: Answer) -> str:
    try:
        oauth.check_issuer(answer.fields.get("iss", []), expected=op.issuer, required=found.sends_iss)
    except oauth.IssuerMismatch as error:
        raise SignInRefused("issuer_mismatch", str(error)) from None
    refused = answer.one("error")
    if refused:
        raise SignInRefused(oauth.clean_code(refused), "The identity provider did not sign you in.")
    code = answer.one("code")
    if not code or len(code) > MAX_CODE or answer.repeated("error"):
        raise SignInRefused("bad_answer", "The identity provider's answer cannot be used.")
    return code


def client_of(op: OpenIdProvider, found: oauth.Metadata) -> oauth.Client:
    """This service as the provider's client.

    It uses client_secret_basic unless the metadata lists methods without it (OpenID Connect Discovery, section 3).
    """
    secret = op.client_secret.reveal() if op.client_secret else None
    methods = found.auth_methods or ("client_secret_basic",)
    auth = "client_secret_basic" if "client_secret_basic" in methods else "client_secret_post"
    return oauth.Client(op.client_id, secret, auth, op.issuer)


def _with_userinfo(
    op: OpenIdProvider, found: oauth.Metadata, said: dict[str, Any], access_token: str
) -> dict[str, Any]:
    """The ID token's claims ``said``, and what its scopes ask for and only the userinfo endpoint says.

    By the standard that endpoint has them wherever there is an access token; Authelia and ZITADEL put none into the ID
    token. The person is signed in without them too, so an endpoint that fails does not matter.
    """
    asked = [scope for scope in CLAIMS if scope in op.scopes and not any(name in said for name in CLAIMS[scope])]
    if not asked or not found.userinfo_endpoint:
        return said
    try:
        more = oauth.userinfo(
            found.userinfo_endpoint, client_of(op, found), access_token=access_token, deadline=USERINFO_DEADLINE
        )
    except oauth.OAuthError as error:
        log.warning("the userinfo endpoint of identity provider %s gave nothing: %s", op.slug, error)
        return said
    if more.get("sub") != said["sub"]:  # section 5.3.2
        log.warning("the userinfo endpoint of identity provider %s spoke of somebody else", op.slug)
        return said
    return {**said, **{name: more[name] for scope in asked for name in CLAIMS[scope] if name in more}}


def _signed_in(said: dict[str, Any], tokens: oauth.Tokens) -> SignedIn:
    at = jwt_claims.seconds(said.get("auth_time"))
    return SignedIn(
        claim=Claim(said["iss"], said["sub"]),
        auth_time=None if at is None else int(at),
        label=label_of(said),
        email=verified_email(said),
        issued=Issued(
            Secret(tokens.id_token or ""),
            datetime.fromtimestamp(jwt_claims.seconds(said["exp"]) or 0, UTC),
            Secret(tokens.refresh_token) if tokens.refresh_token else None,
        ),
    )


def label_of(said: dict[str, Any]) -> str:
    """The person's name on pages."""
    names = (oauth.visible(said.get(name), 100) for name in (*NAMES, "sub"))
    return next((name for name in names if name), "")


def verified_email(said: dict[str, Any]) -> str:
    """The address in the claims if the provider has verified it, or else "" (threat T159).

    Some providers write ``email_verified`` as a text, as Apple's documentation says. Whoever can receive mail at an
    unverified address may be somebody else (OpenID Connect Core, section 5.7).
    """
    address, verified = said.get("email"), said.get("email_verified")
    if verified is None and urlsplit(str(said.get("iss"))).hostname in ENTRA:
        verified = said.get("xms_edov") in (True, "true", "1")
    if not (verified is True or verified == "true") or not isinstance(address, str) or len(address) > MAX_EMAIL:
        return ""
    try:
        validate_email(address)
    except ValidationError:
        return ""
    return address if address.isascii() else ""
