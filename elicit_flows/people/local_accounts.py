"""Local accounts: invitations and passkeys."""

from __future__ import annotations

import re
from datetime import timedelta

from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import IntegrityError, transaction

from elicit_flows.domain.errors import Conflict, Invalid, NotFound
from elicit_flows.domain.values import Claim, Json
from elicit_flows.identity.passkeys import NewPasskey, Used
from elicit_flows.lib import clock, ids
from elicit_flows.models import Invitation, Member, Passkey

INVITATION_LIFE = timedelta(hours=24)
MAX_PASSKEYS = 20


def new(name: str) -> Member:
    """A new account. Raises Invalid."""
    if not 0 < len(name.strip()) <= 100 or not name.isprintable():
        raise Invalid.at("name", "Give one line of text, 1 to 100 characters.")
    return Member.objects.create(name=name.strip())


def link(member: Member) -> str:
    """The link of a new invitation. The token follows the #, so browsers do not send it to any server."""
    return f"{settings.ELICIT_PUBLIC_URL}/invitation#{invite(member)}"


def invite(member: Member) -> str:
    """The token of a new invitation. Unused earlier ones become void."""
    token, now = ids.token(), clock.now()
    with transaction.atomic():
        member.invitations.filter(used_at=None).update(used_at=now)
        Invitation.objects.create(member=member, token_hash=ids.digest(token), expires_at=now + INVITATION_LIFE)
    return token


def invited(token: str) -> Invitation:
    """The invitation. Raises NotFound if it is unknown, used or expired."""
    found = Invitation.objects.select_related("member").filter(
        token_hash=ids.digest(token), used_at=None, expires_at__gt=clock.now(), member__enabled=True
    )
    row = found.first()
    if row is None:
        raise NotFound("This invitation has been used or has expired. Ask for another one.")
    return row


def enrol(token_hash: str, made: NewPasskey) -> Member:
    """Give the passkey to the invited person, and use up the invitation. Raises NotFound and Conflict."""
    with transaction.atomic():
        open_still = Invitation.objects.filter(token_hash=token_hash, used_at=None, expires_at__gt=clock.now())
        if not open_still.update(used_at=clock.now()):
            raise NotFound("This invitation has been used or has expired. Ask for another one.")
        member = Member.objects.get(invitations__token_hash=token_hash)
        add(member, made)
    return member


def add(member: Member, made: NewPasskey) -> Passkey:
    """Add a passkey. Raises Conflict."""
    if member.passkeys.count() >= MAX_PASSKEYS:
        raise Conflict("This account has the maximum number of passkeys. Remove one first.")
    try:
        with transaction.atomic():
            return Passkey.objects.create(
                member=member,
                credential_id=made.credential_id,
                credential_hash=ids.digest(made.credential_id),
                public_key=made.public_key,
                sign_count=made.sign_count,
                backed_up=made.backed_up,
            )
    except IntegrityError:
        raise Conflict("This passkey is known already.") from None


def by_credential(credential_id: str) -> Passkey | None:
    found = Passkey.objects.select_related("member").filter(credential_hash=ids.digest(credential_id))
    return found.filter(member__enabled=True).first()


def note_use(row: Passkey, use: Used) -> bool:
    """Record the use. False if another use with the same counter was recorded first: one of the two is a copy."""
    now = {"sign_count": use.sign_count, "backed_up": use.backed_up, "last_used_at": clock.now()}
    return Passkey.objects.filter(pk=row.pk, sign_count=row.sign_count).update(**now) == 1


def remove(member: Member, passkey_id: int) -> None:
    """Remove a passkey. Raises NotFound, and Conflict for the last one."""
    with transaction.atomic():
        Member.objects.select_for_update().get(pk=member.pk)
        row = member.passkeys.filter(pk=passkey_id).first()
        if row is None:
            raise NotFound("You have no such passkey.")
        if member.passkeys.count() == 1:
            raise Conflict("This is your only passkey. Add another one first.")
        row.delete()


def find(sub: str) -> Member | None:
    """The account, if it may sign in."""
    return Member.objects.filter(sub=sub, enabled=True).first()


def of(claim: Claim) -> Member | None:
    """The account behind a claim; None for people who sign in elsewhere."""
    return Member.objects.filter(sub=claim.sub).first() if claim.iss == settings.ELICIT_PUBLIC_URL else None


def about(claim: Claim) -> Json | None:
    """What is stored about the account, for its owner."""
    row = of(claim)
    if row is None:
        return None
    passkeys = [
        {"created_at": clock.rfc3339(one.created_at), "last_used_at": clock.rfc3339(one.last_used_at)}
        for one in row.passkeys.order_by("created_at")
    ]
    return {"name": row.name, "created_at": clock.rfc3339(row.created_at), "passkeys": passkeys}


def delete(member: Member, name: str) -> None:
    """Delete the account. The operators' log keeps what they did with it, with ``name`` and without its own names."""
    about = ContentType.objects.get_for_model(Member)
    with transaction.atomic():
        for entry in LogEntry.objects.filter(content_type=about, object_id=str(member.pk)):
            # Their values are in quotes, as JSON; that somebody was switched off is not.
            said = re.sub(r'"(\\.|[^"\\])*"', '""', entry.change_message)
            LogEntry.objects.filter(pk=entry.pk).update(object_repr=name, change_message=said)
        member.delete()
