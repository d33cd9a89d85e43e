"""Refreshing and revoking what an OAuth provider granted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from elicit_flows import oauth
from elicit_flows.domain.values import Grant, Secret
from elicit_flows.kinds.oauth import connection_metadata, described_calls, scope_sets
from elicit_flows.kinds.oauth.provider import (
    AccountMismatch,
    Endpoints,
    OAuthProvider,
    client,
    grant,
    resolve,
    secrets_of,
    subject_of,
)

_EXPIRED = frozenset({described_calls.NO_GRANT, "token_expired", "invalid_auth"})  # Slack's come with status 200
_EXPIRED_SAID = "Invalid token"  # Twitch's, sent with status 400


def refresh(
    config: OAuthProvider,
    refresh_token: Secret,
    scopes: Iterable[str],
    account_id: str | None = None,
    dpop_key: Secret | None = None,
    sets: Mapping[str, Grant] | None = None,
) -> Grant:
    """A new grant for an old one. ``scopes`` are those granted so far, and ``sets`` the tokens of other scope sets.

    If the provider sends no refresh token, the old one is kept (RFC 6749, section 6). With ``account_id``, an ID token
    in the answer must still name that account (OpenID Connect Core, 12.2). Tokens that were bound to ``dpop_key`` stay
    bound to it. Takes at most 20 seconds. Raises InvalidGrant, ProviderError and Transient.
    """
    if config.quirks.renew_token:
        # The token makes itself last longer. It stands in place of a refresh token.
        return grant(described_calls.renewed(config, refresh_token), tuple(scopes), (account_id, None), None)
    endpoints = _reachable(config)
    who = client(config, dpop_key.reveal() if dpop_key else None)
    tokens = oauth.refresh(endpoints.token, who, refresh_token=refresh_token.reveal(), resources=config.resources)
    try:
        subject = subject_of(tokens.id_token, issuer=endpoints.issuer, client_id=config.client_id)
    except AccountMismatch as error:
        raise oauth.ProviderError(oauth.IDENTITY_CHANGED, str(error)) from None
    if account_id and subject and subject != account_id:
        raise oauth.ProviderError(oauth.IDENTITY_CHANGED, "The provider answered for another account.")
    kept = refresh_token if tokens.refresh_token is None else None
    granted = grant(tokens, tuple(scopes), (subject or account_id, None), kept)
    if config.quirks.scope_sets:
        granted = scope_sets.refreshed(config, granted, tokens, sets or {})
    if not config.metadata:
        return granted
    secrets = secrets_of(config, tokens)
    secrets.see({"refresh_token": refresh_token.reveal()})
    said = connection_metadata.taken(config.metadata, connection_metadata.TOKEN, tokens.said, secrets)
    return replace(granted, metadata=said)


def revoke_grant(
    config: OAuthProvider,
    access: Secret | None,
    refresh_token: Secret | None,
    token_secret: Secret | None = None,
    sets: Mapping[str, Grant] | None = None,
    keep: Callable[[Grant], None] = lambda _: None,
) -> bool:
    """End a grant at the provider, by RFC 7009 or as its entry describes, after the tokens of its other scope sets.
    ``keep`` gets the tokens of a refresh that this needed: with the former ones it could not be tried again. Returns
    and raises like ``revoke``.
    """
    for one in (sets or {}).values():
        revoke_grant(config, one.access_token, one.refresh_token)
    if config.quirks.revoke_call:
        try:
            expires = refresh_token is not None and not config.quirks.renew_token
            told = described_calls.revoke(config, access, refresh_token, token_secret, may_have_expired=expires)
            if told or access or refresh_token is None:
                return told
        except oauth.ProviderError as error:
            expired = error.status == 401 or error.code in _EXPIRED or error.said == _EXPIRED_SAID
            if refresh_token is None or not expired:
                raise
        # The call needs an access token, and none is kept or it has expired.
        try:
            granted = refresh(config, refresh_token, ())
        except oauth.InvalidGrant:
            return True  # it has ended already
        keep(granted)
        return described_calls.revoke(config, granted.access_token, granted.refresh_token, None)
    if refresh_token and not config.quirks.renew_token:
        return revoke(config, refresh_token, "refresh_token")
    return revoke(config, access, "access_token") if access else False


def revoke(config: OAuthProvider, token: Secret, hint: str) -> bool:
    """Ask the provider to revoke ``token``; ``hint`` is access_token or refresh_token.

    False if the provider offers no revocation, or not for such tokens. Raises ProviderError and Transient.
    """
    endpoints = _reachable(config)
    if endpoints.revocation is None:
        return False
    return oauth.revoke(endpoints.revocation, client(config), token=token.reveal(), hint=hint)


def _reachable(config: OAuthProvider) -> Endpoints:
    """The endpoints. If metadata cannot be fetched, the provider counts as unreachable: that says nothing about a
    token.
    """
    try:
        return resolve(config)
    except oauth.DiscoveryError as error:
        raise oauth.Transient(str(error), sent=False) from None
