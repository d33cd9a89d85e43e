"""A person's sessions, all at once: each keeps the epoch in which it began, and counts only in that."""

from __future__ import annotations

from django.conf import settings

from elicit_flows.lib import clock, ids
from elicit_flows.models import Member, SignOut
from elicit_flows.values import Claim


def epoch(claim: Claim) -> str:
    """What a session of this person has to know; "" until they sign out everywhere."""
    return SignOut.objects.filter(iss=claim.iss, sub=claim.sub).values_list("epoch", flat=True).first() or ""


def end_sessions(claim: Claim) -> None:
    """A new epoch: no session that began before counts any more."""
    SignOut.objects.update_or_create(iss=claim.iss, sub=claim.sub, defaults={"epoch": ids.token(), "at": clock.now()})


def forget_passkeys(member: Member) -> None:
    """After a loss or a theft: none of them signs anybody in any more, and whoever is signed in is out."""
    member.passkeys.all().delete()
    end_sessions(Claim(settings.ELICIT_PUBLIC_URL, member.sub))
