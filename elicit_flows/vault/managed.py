"""Enterprise-managed authorization: a person's organisation decides which MCP servers and providers they may use, and
its identity provider vouches for them there, so that nobody is shown a page.

What the identity provider issued at the sign-in is stored only where the operator turned this on, sealed, and shown to
that identity provider alone (threat T225). It is found by the person, never by what an agent says (threat T228).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

from elicit_flows import oauth
from elicit_flows.domain.values import Claim, Grant, Secret
from elicit_flows.identity import SignedIn, client_of
from elicit_flows.kinds.oauth import mcp_server
from elicit_flows.kinds.oauth.provider import OAuthProvider, client, grant, resolve
from elicit_flows.lib import clock
from elicit_flows.lib.backoff import CircuitBreaker
from elicit_flows.models import Agent, Connection, ConnectionUse, IdentityAssertion, IdentityProvider, Provider
from elicit_flows.models.upsert import upsert
from elicit_flows.vault import provider_settings
from elicit_flows.vault.seal import place, reveal, seal

REFRESH_TOKEN_LIFE = timedelta(days=30)  # the longest that a refresh token of an identity provider is kept
ASKED_AGAIN = timedelta(hours=1)  # how old a token gets before the organisation is asked again (threat T227)
# By issuer or host: one that has just not answered is not waited for again.
silent: CircuitBreaker[str] = CircuitBreaker(rest=30.0)  # seconds


def keep_assertion(row: IdentityProvider, signed_in: SignedIn) -> None:
    """Store what was issued at the sign-in, in place of an earlier one, if the operator has turned this on."""
    mine: Any = {"iss": signed_in.claim.iss, "sub": signed_in.claim.sub}
    issued = signed_in.issued
    if issued is None or not (row.managed_hosts or Provider.objects.filter(managed_by=row.slug).exists()):
        IdentityAssertion.objects.filter(**mine).delete()
        return
    kept = IdentityAssertion(identity_provider=row, **mine)
    until = issued.id_token_until
    kept.id_token = seal(issued.id_token, assertion_place(kept, "id_token"))
    kept.refresh_token = seal(issued.refresh_token, assertion_place(kept, "refresh_token"))
    kept.id_token_until = until
    kept.expires_at = max(until, clock.now() + REFRESH_TOKEN_LIFE) if issued.refresh_token else until
    upsert(kept, "iss", "sub")


def assertion_place(row: IdentityAssertion, field: str) -> str:
    return place("identityassertion", row.iss, row.sub, str(row.identity_provider_id), field)


def organisation(claim: Claim, provider: Provider | None, url: str = "") -> IdentityProvider | None:
    """The identity provider that decides whether its person may use this provider, or the remote MCP server at ``url``;
    None if nobody does.
    """
    row = IdentityProvider.objects.filter(issuer=claim.iss, sort=IdentityProvider.Sort.OPENID, enabled=True).first()
    if row is None:
        return None
    if url:
        return row if mcp_server.is_allowed(url, row.managed_hosts) else None
    return row if provider and provider.managed_by == row.slug else None


def is_managed(provider: Provider) -> bool:
    """Whether an identity provider decides about anybody's use of this provider."""
    if not provider.mcp:
        return bool(provider.managed_by)
    hosts = IdentityProvider.objects.filter(enabled=True).values_list("managed_hosts", flat=True)
    return any(mcp_server.is_allowed(provider.mcp, one) for one in hosts)


def can_vouch(row: IdentityProvider, claim: Claim) -> bool:
    """Whether the identity provider can be asked about this person, who signed in not too long ago."""
    found = IdentityAssertion.objects.filter(iss=claim.iss, sub=claim.sub, identity_provider=row)
    return found.filter(expires_at__gt=clock.now()).exists()


def vouched_before(agent: Agent, claim: Claim, provider: Provider | None) -> bool:
    """Whether the person has let this agent act with their organisation's word before, and has not ended it at this
    provider since (threat T228).
    """
    mine = Connection.objects.filter(agent=agent, iss=claim.iss, sub=claim.sub)
    if not mine.filter(status=Connection.Status.ACTIVE).exclude(managed_by="").exists():
        return False
    latest = mine.filter(provider=provider).order_by("-created_at").first() if provider else None
    if latest is None or latest.status != Connection.Status.REVOKED:
        return True
    ended = latest.uses.filter(action=ConnectionUse.Action.REVOKED, actor=ConnectionUse.Actor.PERSON)
    return not ended.exists()


def vouched_grant(row: IdentityProvider, config: OAuthProvider, claim: Claim, scopes: tuple[str, ...]) -> Grant:
    """A token of the provider for this person, by the word of their identity provider. Takes at most 20 seconds.

    Raises NotSignedIn, NotAllowed, InvalidGrant, ProviderError, Transient, and Unavailable where the client secret was
    given for other hosts.
    """
    op = provider_settings.openid(row)
    token, token_type = _shown(row, claim)
    resource = config.resources[0] if config.resources else ""
    wanted = oauth.WantedIdJag(op.issuer, config.issuer or "", config.client_id, resource, claim.sub)
    with answering(op.issuer):
        found = oauth.discover(op.issuer)
        if found.token_endpoint is None:
            raise oauth.DiscoveryError("The identity provider's metadata lacks an endpoint.")
        assertion, scopes = oauth.exchange_for_id_jag(
            found.token_endpoint, client_of(op, found), wanted, token=token, token_type=token_type, scopes=scopes
        )
    with answering(config.issuer or ""):
        endpoint = resolve(config).token
        tokens = oauth.redeem_id_jag(endpoint, client(config), assertion, scopes=scopes, resources=config.resources)
    granted = grant(tokens, scopes, (None, None))
    latest = clock.now() + ASKED_AGAIN
    return replace(
        granted,
        # The organisation would not hear of a refresh (threat T227).
        refresh_token=None,
        expires_at=min(granted.expires_at or latest, latest),
        bound_to=config.hosts,
        resource=resource if config.mcp else "",
        managed_by=row.slug,
    )


def renewed(row: Connection, provider: Provider, config: OAuthProvider) -> Grant:
    """The same again, for a connection. Raises NotAllowed also where the operator has turned it off since."""
    found = organisation(row.claim, provider, provider.mcp)
    if found is None or found.slug != row.managed_by or not row.agent.managed_access:
        raise oauth.NotAllowed("switched_off")
    return vouched_grant(found, config, row.claim, tuple(row.scopes))


@contextmanager
def answering(server: str) -> Iterator[None]:
    """Around calls to a server. Raises Transient without a call if it has just not answered, and where there is no
    metadata.
    """
    if server in silent.open_keys():
        raise oauth.Transient("This server did not answer a moment ago.", sent=False)
    try:
        yield
    except oauth.Transient:
        silent.trip(server)
        raise
    except oauth.DiscoveryError as error:
        silent.trip(server)
        raise oauth.Transient(str(error), sent=False) from None


def _shown(row: IdentityProvider, claim: Claim) -> tuple[str, str]:
    """What the identity provider is shown of this person's sign-in, and its type. Raises NotSignedIn."""
    kept = IdentityAssertion.objects.filter(iss=claim.iss, sub=claim.sub, identity_provider=row).first()
    now = clock.now()
    if kept and kept.id_token_until > now:
        name, token_type = "id_token", oauth.ID_TOKEN
    elif kept and kept.refresh_token and kept.expires_at > now:
        name, token_type = "refresh_token", oauth.REFRESH_TOKEN
    else:
        raise oauth.NotSignedIn("The person has to sign in again first.")
    token: Secret | None = reveal(getattr(kept, name), assertion_place(kept, name))
    return token.reveal() if token else "", token_type
