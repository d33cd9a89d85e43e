"""Sites' sign-in assertions: stored when they arrive, and redeemed once by the browser that brought them."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta

from django.db import IntegrityError, transaction

from elicit_flows.domain.errors import BadCallback
from elicit_flows.domain.values import Claim
from elicit_flows.identity import SignedIn
from elicit_flows.identity.site import Vouched
from elicit_flows.lib import clock, ids
from elicit_flows.models import IdentityProvider, LoginAssertion

LIFE = timedelta(seconds=60)  # until the browser must have redeemed it


def store_login_assertion(row: IdentityProvider, vouched: Vouched) -> str:
    """Store it, and return the code with which this browser redeems it.

    Raises BadCallback if the assertion, or another one for the same sign-in, was used before.
    """
    who, code = vouched.signed_in, ids.token()
    try:
        with transaction.atomic():
            LoginAssertion.objects.create(
                identity_provider=row,
                assertion_hash=ids.digest(vouched.name),
                code_hash=ids.digest(code),
                state_hash=ids.digest(vouched.state),
                elicitation=vouched.elicitation[:64],  # what fits: a longer one is the id of no link of ours
                sub=who.claim.sub,
                label=who.label,
                auth_time=who.auth_time,
            )
    except IntegrityError:
        raise BadCallback("This sign-in has been used already. Open your link again.") from None
    return code


def redeem_login_assertion(
    row: IdentityProvider, code: str, state_hashes: Collection[str]
) -> tuple[LoginAssertion, SignedIn] | None:
    """The assertion that this browser brought for one of the sign-ins that it began, once; None if there is none.

    The code proves that this browser brought it. Without it, a stranger could make another person's browser bring an
    assertion, and redeem it for a sign-in of their own.
    """
    now = clock.now()
    brought = LoginAssertion.objects.filter(
        identity_provider=row, code_hash=ids.digest(code), created_at__gt=now - LIFE
    )
    found = brought.filter(state_hash__in=state_hashes).first()
    if found is None or not LoginAssertion.objects.filter(pk=found.pk, used_at=None).update(used_at=now):
        return None
    return found, SignedIn(Claim(row.issuer, found.sub), found.auth_time, found.label)
