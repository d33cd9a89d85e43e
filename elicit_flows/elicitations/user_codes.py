"""User codes: the link as a short code to type on another device.

An agent shows one to a person who has no browser where they talk to it. A person makes one on the connect page, to
continue on another device of theirs. A code only leads to the link: whoever types it has to sign in, like anybody who
follows the link.
"""

from __future__ import annotations

import secrets
import unicodedata
from datetime import timedelta

from django.db import transaction

from elicit_flows.domain.errors import AlreadyOver, NotFound, TooMany
from elicit_flows.lib import clock, rate_limits
from elicit_flows.models import Elicitation, UserCode

# RFC 8628, section 6.1: no vowels, so that codes are not words, and no characters that look like others.
ALPHABET = "BCDFGHJKLMNPQRSTVWXZ"
LENGTH = 8  # 34 bits: short enough to type, and hard to guess even if a million codes are open
PERSONS_CODE_LIFE = timedelta(minutes=10)
Maker = UserCode.Maker


def create_user_code(row: Elicitation) -> str:
    """The code that an agent shows, such as ``WDJB-MJHT``; always the same. Raises AlreadyOver."""
    if row.over or row.overdue:
        raise AlreadyOver("The elicitation is over: nobody can answer it any more.")
    made, _ = UserCode.objects.get_or_create(elicitation=row, maker=Maker.AGENT, defaults={"code": _new()})
    return _grouped(made.code)


def replace_persons_code(row: Elicitation) -> None:
    """Make a code for another device of the person, who must be the right one and not yet done. It can be typed once,
    within ten minutes, and the one before it not any more. Raises TooMany.
    """
    if not rate_limits.PERSONS_CODES.hit(row.pk):
        raise TooMany("Too many codes were made for this request.", retry_after=60, elicitation=row.pk)
    made = {"code": _new(), "expires_at": min(clock.now() + PERSONS_CODE_LIFE, row.expires_at)}
    with transaction.atomic():
        Elicitation.objects.select_for_update().get(pk=row.pk)  # two presses at once: one after the other
        UserCode.objects.filter(elicitation=row, maker=Maker.PERSON).delete()
        UserCode.objects.create(elicitation=row, maker=Maker.PERSON, **made)


def persons_code(row: Elicitation) -> tuple[UserCode, str] | None:
    """The person's code that can still be typed, and how it is written; None if there is none."""
    made = UserCode.objects.filter(elicitation=row, maker=Maker.PERSON, expires_at__gt=clock.now()).first()
    return (made, _grouped(made.code)) if made else None


def find_user_code(typed: str) -> UserCode | None:
    """The code that was typed, in any case or width and with any separators, if its elicitation is open."""
    plain = unicodedata.normalize("NFKC", typed[:100]).upper()
    code = "".join(letter for letter in plain if letter in ALPHABET)
    known = UserCode.objects.select_related("elicitation").filter(code=code).first() if len(typed) < 100 else None
    if known is None or known.elicitation.over or known.elicitation.expires_at <= clock.now():
        return None
    return known


def redeem_user_code(typed: str) -> Elicitation:
    """The open elicitation with this code. A person's code is used up. Raises NotFound."""
    known = find_user_code(typed)
    if known and known.expires_at:  # the person's: of two who type it at once, one can
        current = UserCode.objects.filter(pk=known.pk, expires_at__gt=clock.now())
        known = known if current.delete()[0] == 1 else None
    if known is None:
        raise NotFound("There is no such code, or its time is up.")
    return known.elicitation


def _grouped(code: str) -> str:
    return f"{code[:4]}-{code[4:]}"


def _new() -> str:
    """A code that no stored elicitation has."""
    while UserCode.objects.filter(code=(code := "".join(secrets.choice(ALPHABET) for _ in range(LENGTH)))).exists():
        pass
    return code
