"""What a way in to a provider comes to, whichever grant it went by: whose tokens they are, or why there are none."""

from __future__ import annotations

from dataclasses import replace

from elicit_flows.kinds.oauth import account
from elicit_flows.kinds.oauth.config import OAuthProvider
from elicit_flows.kinds.oauth.endpoints import Endpoints
from elicit_flows.kinds.oauth.exchange import client, grant
from elicit_flows.lib import oauth
from elicit_flows.values import Again, Finish, Grant, Json, Secret, Visit

SWITCHED_OFF = "This provider is switched off."
_LATER = frozenset({"temporarily_unavailable", "server_error"})


def wanted(asked: Json, config: OAuthProvider) -> tuple[str, ...]:
    """The scopes that the operator always asks for, then the agent's."""
    return tuple(dict.fromkeys([*config.scopes, *asked["scopes"]]))


def asked_of(config: OAuthProvider, endpoints: Endpoints) -> Json:
    """Who was asked; a code goes to nobody else."""
    return {"issuer": endpoints.issuer, "token": endpoints.token, "client": config.client_id}


def refusal(code: str, description: str | None) -> Finish | Again:
    """What an error that the provider answered comes to."""
    if code == "access_denied":
        return Finish("declined")
    if code in _LATER:
        return Again("provider_unavailable", "The provider cannot do this now. Try again.")
    said = oauth.visible(description, 200)
    message = f"The provider answered {oauth.clean_code(code)}"
    return Finish.failed("provider_error", f'{message}: "{said}"' if said else f"{message}.")


def conclude(visit: Visit, config: OAuthProvider, endpoints: Endpoints, tokens: oauth.Tokens) -> Finish:
    """With tokens: whose they are. At most 10 seconds."""
    try:
        who = account.find(config, endpoints, tokens, visit.stash.get("nonce"), key_of(visit))
    except account.AccountMismatch as mismatch:
        _give_back(config, endpoints, tokens)
        return Finish.failed("provider_error", str(mismatch))
    granted = replace(grant(tokens, wanted(visit.params, config), who), dpop_key=key_of(visit))
    return Finish("completed", result=_result(config, granted), grant=granted)


def key_of(visit: Visit) -> Secret | None:
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
