"""`manage.py forget` and `invite`, for an operator who mistypes."""

from __future__ import annotations

from io import StringIO

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from elicit_flows.models import Erasure, IdentityProvider, Invitation, Member
from tests.admin.rows import ISSUER, make

NOTHING = "Nothing is stored of this person"


def said(*words: str) -> str:
    out, err = StringIO(), StringIO()
    call_command(*words, stdout=out, stderr=err, no_color=True)
    return out.getvalue() + err.getvalue()


def test_who_is_not_known_by_this_sub_is_said(db: None) -> None:
    make()
    assert NOTHING not in said("forget", ISSUER, "alice")
    for _ in range(2):
        assert NOTHING in said("forget", ISSUER, "Alice")
    assert Erasure.objects.filter(iss=ISSUER, sub="Alice").exists(), "what is elsewhere, such as in events, is erased"


def test_who_has_an_account_here_and_nothing_else_is_known(db: None) -> None:
    own = settings.ELICIT_PUBLIC_URL
    IdentityProvider.objects.create(slug="own", sort="accounts", issuer=own)
    ines = Member.objects.create(name="Ines")
    assert NOTHING not in said("forget", own, ines.sub)


def test_who_is_switched_off_is_not_invited(db: None) -> None:
    """The link would lead nowhere."""
    IdentityProvider.objects.create(slug="own", sort="accounts", issuer=settings.ELICIT_PUBLIC_URL)
    ines = Member.objects.create(name="Ines", enabled=False)
    with pytest.raises(CommandError, match="switched off"):
        call_command("invite", ines.sub, "--forget")
    assert not Invitation.objects.exists()
