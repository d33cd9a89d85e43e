"""What an entry describes in place of an RFC: ending a grant, and tokens that are exchanged for longer ones."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from elicit_flows import oauth
from elicit_flows.domain.values import Secret
from elicit_flows.kinds.oauth.provider import OAuthProvider, client1
from elicit_flows.oauth import described_call

NO_GRANT = "no_grant"


def revoke(
    config: OAuthProvider,
    access: Secret | None,
    refresh_token: Secret | None,
    token_secret: Secret | None,
    *,
    may_have_expired: bool = False,
) -> bool:
    """End a grant with ``revoke_call``; takes at most ten seconds. False without the token that the call needs.

    ``may_have_expired``: the access token, so an answer that says that there is no such grant is an error, too. Raises
    ProviderError and Transient.
    """
    call = config.quirks.revoke_call
    values = _values(config, access_token=access, refresh_token=refresh_token, token_secret=token_secret)
    if call is None or call.names - values.keys():
        return False
    answer = described_call.send(call, values, signer=client1(config) if call.auth == "oauth1" else None)
    if may_have_expired and answer.status in call.done:
        raise oauth.ProviderError(NO_GRANT, "The provider knows no grant of this access token.", status=answer.status)
    with suppress(oauth.InvalidGrant):  # it has ended already
        described_call.succeeded(call, oauth.normalize_response(answer, config.quirks))
    return True


def exchanged(config: OAuthProvider, tokens: oauth.Tokens) -> oauth.Tokens:
    """The longer token for ``tokens`` of a provider that has ``long_token``; otherwise ``tokens``.

    Takes at most ten seconds. Raises ProviderError and Transient.
    """
    call = config.quirks.long_token
    if call is None:
        return tokens
    longer = _tokens(config, call, Secret(tokens.access_token))
    kept = longer.refresh_token or tokens.refresh_token
    scopes = tokens.scopes if longer.scopes is None else longer.scopes
    said = {**tokens.said, **longer.said}
    return replace(longer, refresh_token=kept, scopes=scopes, id_token=tokens.id_token, said=said)


def renewed(config: OAuthProvider, token: Secret) -> oauth.Tokens:
    """A token that lasts longer, for the present one. Raises InvalidGrant, ProviderError and Transient."""
    call = config.quirks.renew_token
    if call is None:
        raise oauth.ProviderError("not_allowed", "The provider does not make its tokens last longer.")
    return _tokens(config, call, token)


def _tokens(config: OAuthProvider, call: oauth.DescribedCall, token: Secret) -> oauth.Tokens:
    answer = described_call.send(call, _values(config, access_token=token))
    found = oauth.read_tokens(oauth.normalize_response(answer, config.quirks))
    return replace(found, refresh_token=found.access_token) if config.quirks.renew_token else found


def _values(config: OAuthProvider, **secrets: Secret | None) -> dict[str, str]:
    known = {**secrets, "client_secret": config.client_secret}
    return {"client_id": config.client_id} | {name: one.reveal() for name, one in known.items() if one}
