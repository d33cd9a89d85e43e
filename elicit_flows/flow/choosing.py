"""choose: another account came back than the one that was to be connected again, and the person says what is to be.

Until then the earlier connection stays as it is, and what was granted is held sealed (threat T29).
"""

from __future__ import annotations

from django.db import IntegrityError, transaction

from elicit_flows import vault
from elicit_flows.errors import BadRequest, StartAgain
from elicit_flows.flow.moving import mine, move, provider_of
from elicit_flows.models import Elicitation
from elicit_flows.states import Status
from elicit_flows.values import Claim, Grant

BOTH, REPLACE, BACK = "both", "replace", "back"


def hold_back(row: Elicitation, grant: Grant) -> bool:
    """Whether ``grant`` is held until the person has chosen: it is for another account than was meant."""
    meant = vault.reconnecting(row)
    if meant is None or meant.account_id == (grant.account_id or ""):
        return False
    with transaction.atomic():
        held = move(row, Status.STARTED, only=[Status.SETTLING], settling_since=None)
        if held:
            vault.hold(row, meant, grant)
    return held


def choose(elicitation_id: str, claim: Claim, choice: str) -> Elicitation:
    """``both``: the other account is connected beside the earlier one; ``replace``: in its place; ``back``: not at all,
    and they start again. Raises NotFound, WrongUser, Over, BadRequest, StartAgain.
    """
    row = mine(elicitation_id, claim)
    if choice == BACK:
        vault.reject(row)
    elif choice in (BOTH, REPLACE):
        try:
            _keep(row, replace=choice == REPLACE)
        except IntegrityError:  # another elicitation has just kept the same account: now it is there to be updated
            _keep(row, replace=choice == REPLACE)
    else:
        raise BadRequest("This is not one of the choices.", elicitation=row.pk)
    return row


def _keep(row: Elicitation, *, replace: bool) -> None:
    """Nothing outside is asked, so all of it is one transaction."""
    provider = provider_of(row)
    if provider is None:
        raise StartAgain("This provider has just been switched off.", elicitation=row.pk)
    with transaction.atomic():
        taken = vault.take(row)
        if taken is None or not move(row, Status.SETTLING, only=[Status.STARTED]):
            raise StartAgain("There is nothing to choose any more. Start again from the link.", elicitation=row.pk)
        grant, meant = taken
        kept = vault.keep(row.agent, row.claim, provider, grant)
        if replace and kept.pk != meant.pk:
            vault.revoke(meant, vault.Use.Actor.PERSON)
        move(row, Status.COMPLETED, only=[Status.SETTLING], result=vault.result(kept))
