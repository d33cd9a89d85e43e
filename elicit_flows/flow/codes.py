"""user_code, by_code: the link as a word, for who reads it where they have no browser.

They type it on a device of theirs that has one, and are asked there who they are as anybody who follows the link.
"""

from __future__ import annotations

import secrets

from elicit_flows.errors import AlreadyOver, NotFound
from elicit_flows.lib import clock
from elicit_flows.models import Elicitation, UserCode

# RFC 8628, section 6.1: no vowels, so that it makes no words, and nothing that looks like something else.
ALPHABET = "BCDFGHJKLMNPQRSTVWXZ"
LENGTH = 8  # 34 bits: to be typed, and far apart among a million that are open


def user_code(row: Elicitation) -> str:
    """``WDJB-MJHT``; the same whenever it is asked for. Raises AlreadyOver."""
    if row.over or row.overdue:
        raise AlreadyOver("The elicitation is over: nobody can answer it any more.")
    code = UserCode.objects.get_or_create(elicitation=row, defaults={"code": _new()})[0].code
    return f"{code[:4]}-{code[4:]}"


def by_code(typed: str) -> Elicitation:
    """What is still open under that code, however it is written. Raises NotFound."""
    code = "".join(letter for letter in typed.upper() if letter in ALPHABET)
    known = UserCode.objects.select_related("elicitation").filter(code=code).first() if len(typed) < 100 else None
    if known is None or known.elicitation.over or known.elicitation.expires_at <= clock.now():
        raise NotFound("There is no such code, or its time is up.")
    return known.elicitation


def _new() -> str:
    """One that stands for nothing yet, nor for what is over and not purged."""
    while UserCode.objects.filter(code=(code := "".join(secrets.choice(ALPHABET) for _ in range(LENGTH)))).exists():
        pass
    return code
