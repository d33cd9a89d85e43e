"""A person's sessions, all at once: each keeps the epoch in which it began, and counts only in that."""

from __future__ import annotations

from elicit_flows.lib import clock, ids
from elicit_flows.models import SignOut
from elicit_flows.values import Claim


def epoch(claim: Claim) -> str:
    """What a session of this person has to know; "" until they sign out everywhere."""
    return SignOut.objects.filter(iss=claim.iss, sub=claim.sub).values_list("epoch", flat=True).first() or ""


def end_sessions(claim: Claim) -> None:
    """A new epoch: no session that began before counts any more."""
    SignOut.objects.update_or_create(iss=claim.iss, sub=claim.sub, defaults={"epoch": ids.token(), "at": clock.now()})
