"""Tokens in and out: redeeming, refreshing and revoking, with our Secret around theirs."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from elicit_flows.kinds.oauth.account import Account, AccountMismatch, subject_of
from elicit_flows.kinds.oauth.config import OAuthProvider
from elicit_flows.kinds.oauth.endpoints import Endpoints, resolve
from elicit_flows.lib import clock, oauth
from elicit_flows.values import Grant, Secret


def refresh(
    config: OAuthProvider,
    refresh_token: Secret,
    scopes: Iterable[str],
    account_id: str | None = None,
    dpop_key: Secret | None = None,
) -> Grant:
    """A new grant for an old one; ``scopes`` are those granted so far.

    The refresh token is the old one where the provider sends none (RFC 6749, section 6). With ``account_id``, an ID
    token in the answer must still be about that account (OpenID Connect Core, 12.2). Tokens that were bound to
    ``dpop_key`` stay so. At most 20 seconds. Raises InvalidGrant, ProviderError, Transient.
    """
    endpoints = _reachable(config)
    who = client(config, dpop_key)
    tokens = oauth.refresh(endpoints.token, who, refresh_token=refresh_token.reveal(), resources=config.resources)
    subject = _subject(config, endpoints, tokens)
    if account_id and subject and subject != account_id:
        raise oauth.ProviderError("identity_changed", "The provider answered for another account.")
    kept = refresh_token if tokens.refresh_token is None else None
    return grant(tokens, tuple(scopes), (subject or account_id, None), kept)


def revoke(config: OAuthProvider, token: Secret, hint: str) -> bool:
    """Asks the provider to forget ``token``; ``hint`` is access_token or refresh_token.

    False when the provider offers no revocation, at all or for such tokens. Raises ProviderError, Transient.
    """
    endpoints = _reachable(config)
    if endpoints.revocation is None:
        return False
    return oauth.revoke(endpoints.revocation, client(config), token=token.reveal(), hint=hint)


def client(config: OAuthProvider, dpop_key: Secret | None = None) -> oauth.Client:
    secret = config.client_secret.reveal() if config.client_secret else None
    key = dpop_key.reveal() if dpop_key else None
    return oauth.Client(config.client_id, secret, config.token_auth, config.issuer, config.quirks, key)


def grant(tokens: oauth.Tokens, asked: tuple[str, ...], account: Account, kept: Secret | None = None) -> Grant:
    """``asked``: the scopes that hold when the provider names none; ``kept``: the refresh token when it sends none."""
    life = tokens.expires_in
    return Grant(
        access_token=Secret(tokens.access_token),
        refresh_token=Secret(tokens.refresh_token) if tokens.refresh_token else kept,
        token_type=tokens.token_type,
        expires_at=None if life is None else clock.now() + timedelta(seconds=life),
        scopes=asked if tokens.scopes is None else tokens.scopes,
        account_id=account[0],
        account_label=account[1],
    )


def _reachable(config: OAuthProvider) -> Endpoints:
    """Metadata that cannot be had now says nothing about a token: it is like a provider that does not answer."""
    try:
        return resolve(config)
    except oauth.DiscoveryError as error:
        raise oauth.Transient(str(error), sent=False) from None


def _subject(config: OAuthProvider, endpoints: Endpoints, tokens: oauth.Tokens) -> str | None:
    try:
        return subject_of(tokens.id_token, issuer=endpoints.issuer, client_id=config.client_id)
    except AccountMismatch as error:
        raise oauth.ProviderError("identity_changed", str(error)) from None
