"""All sessions of a person: each stores the epoch in which it began, and is valid only in that epoch."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from elicit_flows.domain.values import Claim
from elicit_flows.lib import clock, ids
from elicit_flows.lib.compiled_query import CompiledQuery
from elicit_flows.models import IdentityAssertion, Member, SignedIn, SignOut
from elicit_flows.people import push

NOTED_EVERY = timedelta(hours=1)


def session_epoch(claim: Claim) -> str:
    """The person's current epoch; "" until they sign out everywhere for the first time."""
    return SignOut.objects.filter(iss=claim.iss, sub=claim.sub).values_list("epoch", flat=True).first() or ""


def end_sessions(claim: Claim) -> None:
    """Begin a new epoch, which ends all earlier sessions. No browser shows messages any more: one may be lost. What was
    issued at the sign-ins is used no more.
    """
    push.of(claim).delete()
    IdentityAssertion.objects.filter(iss=claim.iss, sub=claim.sub).delete()
    SignedIn.objects.filter(iss=claim.iss, sub=claim.sub).delete()
    SignOut.objects.update_or_create(iss=claim.iss, sub=claim.sub, defaults={"epoch": ids.token(), "at": clock.now()})


_NOTED = CompiledQuery(lambda session: SignedIn.objects.filter(session=session), "session")  # for each page


def note_session(claim: Claim, session: str, browser: str, system: str) -> None:
    """Note that the person uses this session now; ``session`` is the primary key of its row. Once an hour is enough."""
    now = clock.now()
    row = _NOTED.first(session)
    if row is None:
        told = {"iss": claim.iss, "sub": claim.sub, "browser": browser, "system": system}
        with suppress(IntegrityError), transaction.atomic():  # the session ended meanwhile, or is noted by now
            SignedIn.objects.create(session_id=session, **told)
    elif row.used_at <= now - NOTED_EVERY:
        SignedIn.objects.filter(pk=row.pk).update(used_at=now)


def sessions_of(claim: Claim) -> QuerySet[SignedIn]:
    """Where the person is signed in, the last used first."""
    live = {"session__expire_date__gt": clock.now()}
    return SignedIn.objects.filter(iss=claim.iss, sub=claim.sub, **live).order_by("-used_at", "-pk")


def end_session(claim: Claim, number: int) -> None:
    """End one session of the person, if it has not ended yet."""
    Session.objects.filter(signed_in__pk=number, signed_in__iss=claim.iss, signed_in__sub=claim.sub).delete()


def end_all_sessions() -> int:
    """End everybody's sessions, operators' too, after a restore, which brings ended ones back. Returns how many there
    were.
    """
    SignOut.objects.update(epoch=ids.token(), at=clock.now())
    return int(Session.objects.all().delete()[0])


def forget_passkeys(member: Member) -> None:
    """After a loss or theft: delete all passkeys of the account, and end its sessions."""
    member.passkeys.all().delete()
    end_sessions(Claim(settings.ELICIT_PUBLIC_URL, member.sub))
