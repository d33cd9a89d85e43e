"""A site's word for a browser: kept as it arrives, and taken once by the browser that it is for."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta

from django.db import IntegrityError, transaction

from elicit_flows.errors import BadCallback
from elicit_flows.identity import SignedIn
from elicit_flows.identity.site import Vouched
from elicit_flows.lib import clock, ids
from elicit_flows.models import IdentityProvider, Vouch
from elicit_flows.values import Claim

LIFE = timedelta(seconds=60)  # until the browser has to be here


def keep_vouch(row: IdentityProvider, vouched: Vouched) -> str:
    """The code that the browser which brought it takes it with. Raises BadCallback when the assertion, or one for the
    same sign-in, was used before.
    """
    who, code = vouched.signed_in, ids.token()
    try:
        with transaction.atomic():
            Vouch.objects.create(
                identity_provider=row,
                assertion_hash=ids.digest(vouched.name),
                code_hash=ids.digest(code),
                state_hash=ids.digest(vouched.state),
                elicitation=vouched.elicitation,
                sub=who.claim.sub,
                label=who.label,
                auth_time=who.auth_time,
            )
    except IntegrityError:
        raise BadCallback("This was used already. Open your link again.") from None
    return code


def take_vouch(row: IdentityProvider, code: str, state_hashes: Collection[str]) -> tuple[Vouch, SignedIn] | None:
    """The word that this browser brought for one of the sign-ins that it began, once; None when there is none.

    Without the code a stranger could take, for a sign-in of theirs, a word that they had another's browser bring.
    """
    now = clock.now()
    brought = Vouch.objects.filter(identity_provider=row, code_hash=ids.digest(code), created_at__gt=now - LIFE)
    found = brought.filter(state_hash__in=state_hashes).first()
    if found is None or not Vouch.objects.filter(pk=found.pk, used_at=None).update(used_at=now):
        return None
    return found, SignedIn(Claim(row.issuer, found.sub), found.auth_time, found.label)
