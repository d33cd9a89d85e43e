"""resume: the browser comes back from the provider. submit: the right user answers on our own page. finish: records the
outcome of both. choose: the account may not be the one that was expected, and the user decides.

Until the user has decided, the earlier connection stays as it is, and the new grant waits, sealed (threats T29, T120,
T137).
"""

from __future__ import annotations

import hmac
import logging

from django.db import IntegrityError, transaction

from elicit_flows import kinds, vault
from elicit_flows.domain.errors import (
    BadCallback,
    BadRequest,
    ClientUnknown,
    Invalid,
    Over,
    ProviderUnavailable,
    StartAgain,
    TooMany,
    WrongUser,
)
from elicit_flows.domain.status import Status
from elicit_flows.domain.values import Again, Answer, Claim, Finish, Grant
from elicit_flows.elicitations import form_drafts
from elicit_flows.elicitations.outcomes import reopen
from elicit_flows.elicitations.transitions import (
    check_agent,
    find_for,
    forget_client,
    move,
    provider_answered,
    provider_failed,
    provider_of,
    refuse,
    traced,
    visit_of,
)
from elicit_flows.lib import clock, ids, rate_limits
from elicit_flows.lib.compiled_query import CompiledQuery
from elicit_flows.models import Attempt, Connection, Elicitation, Provider
from elicit_flows.payments import authorizations

log = logging.getLogger(__name__)
SAME, BOTH, REPLACE, BACK = "same", "both", "replace", "back"
YES, NO = "yes", "no"
_ATTEMPT = CompiledQuery(
    lambda state_hash, context: Attempt.objects.select_related("elicitation__agent", "provider").filter(
        state_hash=state_hash, context=context
    ),
    "hash",
    "context",
)


def submit(elicitation_id: str, claim: Claim, answer: Answer) -> Elicitation:
    """Take the answer that the right user sent from our own page. If two are sent at the same time, one is taken.

    Raises NotFound, WrongUser, Over, StartAgain, BadRequest, TooMany, ProviderUnavailable, and Invalid if the user can
    correct the answer.
    """
    row = find_for(elicitation_id, claim)
    if not rate_limits.SUBMISSIONS.hit(row.pk):
        raise TooMany("This was sent too often.", retry_after=60, elicitation=row.pk)
    kind = kinds.get(row.kind)
    if kind.leaves:
        raise BadRequest("This is not answered on our page.", elicitation=row.pk)
    form_drafts.check_asked(row, answer)
    provider = provider_of(row)
    visit = visit_of(row, provider)
    try:
        kind.check_answer(visit, answer)
    except ProviderUnavailable as error:
        error.elicitation = row.pk  # the kind does not know it; the error page links back to it
        raise
    with transaction.atomic():
        form_drafts.check_unchanged(row, answer)
        move(row, Status.STARTED, only=[Status.PENDING])
        settling = move(row, Status.SETTLING, only=[Status.STARTED], settling_since=clock.now())
    if settling:
        with traced("submit", row):
            finish(row, kind.resume(visit, answer), provider)
    return row


def resume(context: str, answer: Answer, claim: Claim | None, browser: str | None) -> Elicitation:
    """Take the answer that a browser brought to the callback address that ends with ``context``.

    Returns the elicitation, also if the answer was taken before. Raises BadCallback, WrongUser, Over, StartAgain.
    """
    # The attempt with this state. Callback address, person and browser must be those that it was started with.
    state = answer.one("state") or ""
    attempt = None
    if 0 < len(state) <= 256:
        attempt = _ATTEMPT.first(ids.digest(state), context)
    if attempt is None or claim is None or browser is None:
        raise BadCallback("This answer was not asked for by this browser. Open the link again.")
    if attempt.elicitation.claim != claim:
        refuse(attempt.elicitation, "callback")
        raise WrongUser(elicitation=attempt.elicitation_id)
    if not hmac.compare_digest(attempt.browser_hash, ids.digest(browser)):
        raise BadCallback("This answer was not asked for by this browser. Open the link again.")
    row = attempt.elicitation
    if attempt.used_at and (row.over or row.status == Status.SETTLING):
        return row
    if row.over or row.overdue:
        raise Over(elicitation=row.pk)
    if attempt.used_at:
        raise StartAgain("You already came back from the other site. Start again from the link.", elicitation=row.pk)
    if attempt.expires_at <= clock.now():
        raise BadCallback("This took longer than ten minutes. Start again from the link.", elicitation=row.pk)
    check_agent(row)
    kind = kinds.get(row.kind)
    provider = attempt.provider if attempt.provider and attempt.provider.enabled else None
    visit = visit_of(row, provider, stash=vault.open_stash(attempt.stash, attempt.state_hash)["kind"])
    kind.check_answer(visit, answer)
    # Only one of several callbacks with the same state uses the attempt up, and goes on to the provider.
    if move(row, Status.SETTLING, only=[Status.STARTED], uses_up=attempt, settling_since=clock.now()):
        with traced("resume", row):
            finish(row, kind.resume(visit, answer), provider)
    return row


def finish(row: Elicitation, outcome: Finish | Again, provider: Provider | None) -> None:
    """Record the outcome with its grant or credentials, all or nothing. ``provider``: the one that was called, if any.

    Raises StartAgain if there is no outcome, and Invalid if the person can correct the answer on our page.
    """
    if isinstance(outcome, Again):
        if outcome.code == ClientUnknown.code:
            forget_client(row)
        reopen(row)
        if outcome.code == "provider_unavailable":
            provider_failed(row, "return")
        if outcome.field:
            raise Invalid.at(outcome.field, outcome.reason)
        raise StartAgain(outcome.reason, elicitation=row.pk)
    if outcome.grant:
        provider_answered(row)
    if outcome.credentials and row.params.get("provider"):
        # Read it again: credentials are not stored for a provider that was switched off meanwhile.
        provider = provider_of(row)
        if provider is None:
            reopen(row)
            raise StartAgain("This provider has just been switched off.", elicitation=row.pk)
    try:
        recorded = _record(row, outcome, provider)
    except IntegrityError:  # another elicitation has just stored the same account, or one that may be the same
        recorded = _record(row, outcome, provider)
    if outcome.grant and provider and not recorded and not outcome.credentials:
        log.info("elicitation %s was over before the grant came: it is not kept", row.pk)
        vault.revoke_unkept_grant(provider, outcome.grant)


def _record(row: Elicitation, outcome: Finish, provider: Provider | None) -> bool:
    """Store the grant or credentials and complete the elicitation.

    If the grant is or may be for another account than expected, it waits until the person has chosen; if the provider
    does not name accounts, that is so from the second one on. Returns False, and writes nothing, if the elicitation is
    no longer settling.
    """
    grant, result = outcome.grant, outcome.result
    with transaction.atomic():
        if grant and provider:
            meant = expected_connection(row, grant)
            there = vault.live_connections(row.agent, row.claim, provider, lock=True)
            if meant or vault.possible_accounts(there, grant.account_id):
                held = move(row, Status.STARTED, only=[Status.SETTLING], settling_since=None)
                if held:
                    vault.store_pending_grant(row, meant, grant)
                return held
        if row.kind == "x402":
            outcome = authorizations.reserve(row)
            result = outcome.result
        if outcome.credentials:
            label = kinds.get(row.kind).describe(row.params, None)["title"]
            kept = vault.keep_credentials(row.agent, row.claim, provider, label, outcome.credentials, grant)
            result = vault.result(kept)
        elif grant and provider:
            result = vault.result(vault.keep(row.agent, row.claim, provider, grant, there=there))
        moved = move(row, Status(outcome.status), only=[Status.SETTLING], result=result, error=outcome.error)
        transaction.set_rollback(not moved)
    return moved


def expected_connection(row: Elicitation, grant: Grant) -> Connection | None:
    """The connection that was to be connected again, if ``grant`` is for another account; else None."""
    meant = vault.connection_to_renew(row)
    if meant is None or (meant.account_id == (grant.account_id or "") and meant.is_at(grant.variables)):
        return None
    return meant


def choose(elicitation_id: str, claim: Claim, choice: str, held: str, earlier: str = "") -> Elicitation:
    """Carry out what the person chose for the grant that waits.

    ``same``: the grant is for the account of the connection ``earlier``, which is updated; ``both``: it becomes a
    new connection, and the earlier one stays; ``replace``: it becomes a new connection, and the earlier one is revoked;
    ``back``: it is dropped, and the person starts again. If no other account was expected, the choices are ``yes`` and
    ``no``. ``held`` is the id of the grant that the page showed: the choice counts for no other. Raises NotFound,
    WrongUser, Over, BadRequest, StartAgain.
    """
    row = find_for(elicitation_id, claim)
    if choice in (BACK, NO):
        vault.reject_pending_grant(row)
    elif choice in (SAME, BOTH, REPLACE, YES):
        try:
            _keep(row, held, choice, earlier)
        except IntegrityError:  # another elicitation has just stored the same account, so it is updated now
            _keep(row, held, choice, earlier)
    else:
        raise BadRequest("This is not one of the choices.", elicitation=row.pk)
    return row


def _keep(row: Elicitation, held: str, choice: str, earlier: str) -> None:
    """Store the connection in one transaction, which is possible because no other server is called."""
    provider = provider_of(row)
    if provider is None:
        raise StartAgain("This provider has just been switched off.", elicitation=row.pk)
    with transaction.atomic():
        taken = vault.take_pending_grant(row, held)
        there = vault.live_connections(row.agent, row.claim, provider, lock=True)
        if taken is None or not move(row, Status.SETTLING, only=[Status.STARTED]):
            raise StartAgain("There is nothing to choose any more. Start again from the link.", elicitation=row.pk)
        grant, meant = taken
        doubtful = vault.possible_accounts(there, grant.account_id)
        chosen = next((one for one in doubtful if one.pk == earlier), None)
        if provider.mcp and there and choice == BOTH:
            raise BadRequest("There is one connection to each MCP server.", elicitation=row.pk)
        if ((earlier or choice == SAME) and chosen is None) or (choice == YES and doubtful):
            raise StartAgain("Your connections were changed meanwhile. Look again, and choose.", elicitation=row.pk)
        same = chosen if choice == SAME else None
        kept = vault.keep(row.agent, row.claim, provider, grant, there=there, same=same, beside=True)
        replaced = (chosen or meant) if choice == REPLACE else None
        if replaced and kept.pk != replaced.pk:
            vault.revoke(replaced, vault.ConnectionUse.Actor.PERSON)
        move(row, Status.COMPLETED, only=[Status.SETTLING], result=vault.result(kept))
