"""begin: the right user presses the button and leaves for the provider.

Where the outside has to be asked before anybody can leave, it is claim, act, record: the attempt is committed, then the
outside asked, then written down where the browser goes, or what our page shows because it goes nowhere. A press that
was cut off in between goes on where it was.
"""

from __future__ import annotations

from datetime import timedelta
from typing import cast

from django.db import IntegrityError, transaction

from elicit_flows import kinds, vault
from elicit_flows.errors import BadRequest, ClientUnknown, Over, ProviderUnavailable, StartAgain
from elicit_flows.flow import paying
from elicit_flows.flow.moving import (
    context_of,
    forget_client,
    mine,
    move,
    provider_of,
    redirect_uri,
    traced,
    visit_of,
)
from elicit_flows.kinds.base import HandsOver
from elicit_flows.lib import clock, ids, tally
from elicit_flows.models import Attempt, Elicitation
from elicit_flows.states import Status
from elicit_flows.values import Claim, Json, Leave, Show

ATTEMPT_LIFE = timedelta(minutes=10)


def begin(elicitation_id: str, claim: Claim, browser: str, press: str | None) -> str | None:
    """Where to send the browser; None when the done page tells how to go on: the elicitation is on its way already, or
    the person goes on wherever they like.

    ``browser`` is the session's own secret; ``press`` names one rendered button, so that pressing it twice is one
    attempt. Raises NotFound, WrongUser, Over, StartAgain, ProviderUnavailable.
    """
    row = mine(elicitation_id, claim)
    if row.status == Status.SETTLING:
        return None
    if not kinds.get(row.kind).leaves:
        raise BadRequest("This is answered on its own page.", elicitation=row.pk)
    try:
        with traced("begin", row):
            return _leave(row, browser, press)
    except ProviderUnavailable:
        tally.count("provider_errors", context_of(row), "begin")
        raise


def _leave(row: Elicitation, browser: str, press: str | None) -> str | None:
    if kinds.get(row.kind).takes_money:
        return paying.leave(row)
    attempt = _pressed(row, browser, press) or _left(row, browser, press)
    return _way_out(row, attempt) if attempt else None


def _pressed(row: Elicitation, browser: str, press: str | None) -> Attempt | None:
    """An earlier press of the same button, while it leads anywhere."""
    if not press:
        return None
    attempt = row.attempts.filter(press_hash=ids.digest(press), browser_hash=ids.digest(browser)).first()
    if attempt is None or attempt.used_at or attempt.expires_at <= clock.now():
        return None
    return attempt


def _left(row: Elicitation, browser: str, press: str | None) -> Attempt | None:
    provider, state = provider_of(row), ids.token()
    if provider:
        vault.make_known(provider, redirect_uri(row))
    leave = kinds.get(row.kind).begin(visit_of(row, state))
    try:
        with transaction.atomic():
            return _open_attempt(row, browser, press, state, leave)
    except IntegrityError:  # the other press of the same button was quicker
        return _pressed(row, browser, press)


def _open_attempt(row: Elicitation, browser: str, press: str | None, state: str, leave: Leave) -> Attempt:
    """A new way out; older ones die with it. Nobody has started as long as it is to be handed over."""
    now, state_hash = clock.now(), ids.digest(state)
    stash = {"url": leave.url, "kind": leave.stash, "hand_over": leave.hand_over}
    locked = Elicitation.objects.select_for_update().get(pk=row.pk)
    if locked.over:
        raise Over(elicitation=row.pk)
    row.attempts.filter(used_at=None).update(used_at=now)
    attempt = Attempt.objects.create(
        elicitation=row,
        state_hash=state_hash,
        browser_hash=ids.digest(browser),
        press_hash=ids.digest(press) if press else None,
        context=context_of(row),
        stash=vault.seal_stash(stash, state_hash),
        created_at=now,
        expires_at=min(now + ATTEMPT_LIFE, row.expires_at),
    )
    if locked.status == Status.PENDING and not leave.hand_over:
        move(row, Status.STARTED)
    return attempt


def _way_out(row: Elicitation, attempt: Attempt) -> str | None:
    """Where the attempt leads; None where our own page shows how to go on."""
    stash = vault.open_stash(attempt.stash, attempt.state_hash)
    if stash.get("hand_over"):
        stash = _handed_over(row, attempt, stash)
    return stash["url"] or None


def _handed_over(row: Elicitation, attempt: Attempt, stash: Json) -> Json:
    """Ask the outside, and write down what it said. Of two presses at once that of the quicker counts for both."""
    kind = cast(HandsOver, kinds.get(row.kind))
    try:
        step = kind.hand_over(visit_of(row, stash=stash["kind"]), stash["url"])
    except ClientUnknown:
        forget_client(row)
        raise
    made, fields = _made(step, stash, row)
    sealed = vault.seal_stash(made, attempt.state_hash)
    with transaction.atomic():
        locked = Elicitation.objects.select_for_update().get(pk=row.pk)
        if locked.over:
            raise Over(elicitation=row.pk)
        unasked = Attempt.objects.filter(pk=attempt.pk, used_at=None, stash=attempt.stash)
        if not unasked.update(stash=sealed, **fields):
            return _others(row, attempt)
        if locked.status == Status.PENDING:
            move(row, Status.STARTED)
    return made


def _made(step: str | Show, stash: Json, row: Elicitation) -> tuple[Json, Json]:
    """What the attempt remembers now, and the columns that change with it."""
    if isinstance(step, str):
        return {"url": step, "kind": stash["kind"]}, {}
    now = clock.now()
    ends = min(now + timedelta(seconds=step.life), row.expires_at)
    shown = {"url": "", "kind": step.stash, "shown": step.shown}
    return shown, {"expires_at": ends, "poll_at": now + timedelta(seconds=step.seconds)}


def _others(row: Elicitation, attempt: Attempt) -> Json:
    """What the other press has written down."""
    attempt.refresh_from_db()
    stash = vault.open_stash(attempt.stash, attempt.state_hash)
    if attempt.used_at or stash.get("hand_over"):
        raise StartAgain("Another press of the button was quicker.", elicitation=row.pk)
    return stash
