"""What a person's organisation has decided: the elicitation is completed, or fails, and nobody leaves for a provider.

The identity provider and the server are called before anything is written: if the process dies meanwhile, the
elicitation is as it was.
"""

from __future__ import annotations

import logging
from contextlib import suppress

from django.db import IntegrityError, transaction

from elicit_flows import oauth, vault
from elicit_flows.domain.errors import FlowError, ProviderUnavailable
from elicit_flows.domain.status import Status
from elicit_flows.domain.values import Finish, Grant
from elicit_flows.elicitations import mcp_servers, variables
from elicit_flows.elicitations.transitions import move, provider_of, redirect_uri, traced
from elicit_flows.kinds.oauth.provider import OFFLINE, SWITCHED_OFF, scopes_to_request
from elicit_flows.lib import clock
from elicit_flows.lib.sentences import sentence
from elicit_flows.models import Elicitation, IdentityProvider, Provider

log = logging.getLogger(__name__)


class SignInAgain(Exception):
    """The organisation decides, and cannot be asked before the person has signed in again."""


def decides(row: Elicitation) -> IdentityProvider | None:
    """The identity provider that decides about this elicitation, if any."""
    if row.kind != "oauth" or not row.agent.managed_access:
        return None
    provider = provider_of(row)
    found = vault.organisation(row.claim, provider, row.params.get("mcp", ""))
    if found is None or strict(found):
        return found
    # An account that the person connected themselves stays as it is.
    there = vault.live_connections(row.agent, row.claim, provider) if provider else []
    return None if any(not one.managed_by for one in there) else found


def strict(found: IdentityProvider) -> bool:
    """Whether nobody may connect in another way."""
    return found.managed_refusal == "fail"


def offered(row: Elicitation) -> bool:
    """Whether the page says that the organisation decides."""
    found = decides(row)
    return found is not None and (strict(found) or vault.can_vouch(found, row.claim))


def connect_at_once(row: Elicitation) -> None:
    """Complete a new elicitation with no page, if the person has let this agent do so before, and has signed in since
    it was possible. If not, or if a server does not answer, it stays as it is.
    """
    if row.status != Status.PENDING or row.overdue:
        return
    found = decides(row)
    if found and vault.can_vouch(found, row.claim) and vault.vouched_before(row.agent, row.claim, provider_of(row)):
        with suppress(ProviderUnavailable):
            _connect_from(row, found)


def connect_by_button(row: Elicitation, shown: str) -> bool:
    """Do the same when the person presses the button. False: they leave for the provider as usual.

    ``shown``: the host that the page showed, "" if it said that the organisation decides. Raises SignInAgain,
    NotShownYet if the page has still to show where the usual way leads, and ProviderUnavailable.
    """
    found = decides(row)
    if found is None:
        return False
    if not vault.can_vouch(found, row.claim):
        if strict(found):
            raise SignInAgain
        return False
    if shown and not strict(found):
        return False
    if not _connect_from(row, found):
        raise variables.NotShownYet
    return True


def _connect_from(row: Elicitation, found: IdentityProvider) -> bool:
    """Whether the elicitation is over. Raises ProviderUnavailable if nobody may connect in another way."""
    try:
        with traced("managed", row):
            provider, grant = _granted(row, found)
    except oauth.NotAllowed as refused:
        log.info("elicitation %s: %s does not vouch for the person: %s", row.pk, found.slug, refused.said)
        if strict(found):
            finish = Finish.failed("organisation_refused", sentence("Your organisation does not allow this."))
            with transaction.atomic():
                if _settle(row):
                    move(row, Status.FAILED, only=[Status.SETTLING], error=finish.error)
        return strict(found)
    except (oauth.OAuthError, FlowError) as error:
        log.warning("elicitation %s: no token by the word of %s: %s", row.pk, found.slug, error)
        if strict(found):
            raise ProviderUnavailable("Your organisation's sign-in or this server does not answer.") from None
        return False
    try:
        kept = _record(row, provider, grant)
    except IntegrityError:  # another elicitation has just stored a connection there
        kept = _record(row, provider, grant)
    if not kept:
        vault.revoke_unkept_grant(provider, grant)
    return True


def _granted(row: Elicitation, found: IdentityProvider) -> tuple[Provider, Grant]:
    """Raises OAuthError, and FlowError for a server that is switched off, not allowed or does not answer."""
    if row.params.get("mcp"):
        with vault.answering(row.params["mcp"]):
            try:
                provider = mcp_servers.found(row)
            except ProviderUnavailable as error:
                raise oauth.DiscoveryError(error.detail) from None
    else:
        known = provider_of(row)
        if known is None:
            raise ProviderUnavailable(SWITCHED_OFF)
        provider = known
    vault.register_client(provider, redirect_uri(row, provider))
    config = vault.oauth(provider)
    # A refresh token is not wanted: the organisation is asked again.
    scopes = tuple(scope for scope in scopes_to_request(row.params, config) if scope != OFFLINE)
    return provider, vault.vouched_grant(found, config, row.claim, scopes)


def _record(row: Elicitation, provider: Provider, grant: Grant) -> bool:
    """Store the connection and complete the elicitation. False if it is over already."""
    with transaction.atomic():
        there = vault.live_connections(row.agent, row.claim, provider, lock=True)
        managed = [one for one in there if one.managed_by]
        same = next(iter(managed or vault.possible_accounts(there, None)), None)
        settling = _settle(row)
        if settling:
            kept = vault.keep(row.agent, row.claim, provider, grant, there=there, same=same)
            move(row, Status.COMPLETED, only=[Status.SETTLING], result=vault.result(kept))
    return settling


def _settle(row: Elicitation) -> bool:
    move(row, Status.STARTED, only=[Status.PENDING])
    return move(row, Status.SETTLING, only=[Status.STARTED], settling_since=clock.now())
