"""choose: another account came back than the one that was to be connected again, or one that anybody may have connected
on another device, and the person says what is to be.

Until then the earlier connection stays as it is, and what was granted is held sealed (threats T29, T120).
"""

from __future__ import annotations

from django.db import IntegrityError, transaction

from elicit_flows import vault
from elicit_flows.errors import BadRequest, StartAgain
from elicit_flows.flow.moving import mine, move, provider_of
from elicit_flows.models import Connection, Elicitation
from elicit_flows.states import Status
from elicit_flows.values import Claim, Grant

BOTH, REPLACE, BACK = "both", "replace", "back"
YES, NO = "yes", "no"


def meant_instead(row: Elicitation, grant: Grant) -> Connection | None:
    """The connection that was to be connected again, where ``grant`` is for another account."""
    meant = vault.reconnecting(row)
    return None if meant is None or meant.account_id == (grant.account_id or "") else meant


def hold_back(row: Elicitation, grant: Grant) -> bool:
    """Whether ``grant`` is held until the person has chosen: it is for another account than was meant."""
    meant = meant_instead(row, grant)
    if meant is None:
        return False
    with transaction.atomic():
        held = move(row, Status.STARTED, only=[Status.SETTLING], settling_since=None)
        if held:
            vault.hold(row, meant, grant)
    return held


def choose(elicitation_id: str, claim: Claim, choice: str, held: str) -> Elicitation:
    """``both``: the other account is connected beside the earlier one; ``replace``: in its place; ``back``: not at all,
    and they start again. Where no other was meant ``yes`` and ``no``. ``held`` names what the page showed: a yes is for
    that. Raises NotFound, WrongUser, Over, BadRequest, StartAgain.
    """
    row = mine(elicitation_id, claim)
    if choice in (BACK, NO):
        vault.reject(row)
    elif choice in (BOTH, REPLACE, YES):
        try:
            _keep(row, held, replace=choice == REPLACE)
        except IntegrityError:  # another elicitation has just kept the same account: now it is there to be updated
            _keep(row, held, replace=choice == REPLACE)
    else:
        raise BadRequest("This is not one of the choices.", elicitation=row.pk)
    return row


def _keep(row: Elicitation, held: str, *, replace: bool) -> None:
    """Nothing outside is asked, so all of it is one transaction."""
    provider = provider_of(row)
    if provider is None:
        raise StartAgain("This provider has just been switched off.", elicitation=row.pk)
    with transaction.atomic():
        taken = vault.take(row, held)
        if taken is None or not move(row, Status.SETTLING, only=[Status.STARTED]):
            raise StartAgain("There is nothing to choose any more. Start again from the link.", elicitation=row.pk)
        grant, meant = taken
        kept = vault.keep(row.agent, row.claim, provider, grant)
        if replace and meant and kept.pk != meant.pk:
            vault.revoke(meant, vault.Use.Actor.PERSON)
        move(row, Status.COMPLETED, only=[Status.SETTLING], result=vault.result(kept))
