"""shown, poll: nobody leaves; the person goes on wherever they like with what our page shows, and the worker asks the
provider how it stands (kinds.base.Polled).

Nobody can know who was at it there, so what was granted waits for the person's yes (flow.choosing, threat T120).
"""

from __future__ import annotations

import logging
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import cast

from django.db import transaction
from django.db.models import QuerySet

from elicit_flows import kinds, vault
from elicit_flows.errors import ClientUnknown, FlowError
from elicit_flows.flow.choosing import meant_instead
from elicit_flows.flow.moving import context_of, forget_client, move, provider_of, visit_of
from elicit_flows.kinds.base import Polled
from elicit_flows.lib import clock, ids, tally
from elicit_flows.models import Attempt, Elicitation
from elicit_flows.states import Status
from elicit_flows.values import Again, Finish, Json, Visit, Wait

log = logging.getLogger(__name__)

AT_ONCE = 16
LEASE = timedelta(seconds=60)  # longer than all of them together may take


@dataclass(frozen=True, slots=True)
class Shown:
    """What the page shows until then: ``what`` the kind wants shown, or in ``over`` why it is of no use any more."""

    what: Json
    until: datetime
    over: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """An attempt that is ours to ask about as long as its ``poll_at`` stays what it is."""

    attempt: Attempt
    kind: Polled
    visit: Visit


def shown(row: Elicitation, browser: str) -> Shown | None:
    """For the browser that pressed the button; None when there is nothing to show there."""
    attempt = row.attempts.filter(browser_hash=ids.digest(browser)).order_by("-created_at").first()
    if attempt is None or row.status != Status.STARTED:
        return None
    stash = vault.open_stash(attempt.stash, attempt.state_hash)
    if stash.get("over"):
        return Shown({}, attempt.expires_at, stash["over"])
    if attempt.used_at or "shown" not in stash:
        return None
    late = attempt.expires_at <= clock.now()
    return Shown({} if late else stash["shown"], attempt.expires_at, "The time for it ran out." if late else "")


def poll_due() -> int:
    """Ask about what is due, each once; how many were asked about. Called by the worker."""
    due = Attempt.objects.filter(poll_at__lte=clock.now(), used_at=None).order_by("poll_at")
    found = due.select_related("elicitation__agent", "elicitation__parent")[:AT_ONCE]
    claimed = [asked for asked in map(_claim, found) if asked]
    if claimed:
        with ThreadPoolExecutor(len(claimed), thread_name_prefix="poll") as pool:
            answers = [(asked, pool.submit(asked.kind.poll, asked.visit)) for asked in claimed]
            for asked, answer in answers:
                _take(asked, answer)
    return len(claimed)


def _claim(attempt: Attempt) -> Asked | None:
    """Of several workers one asks; where it dies over it, another does when the lease is over."""
    row, now = attempt.elicitation, clock.now()
    moot = row.over or row.overdue or row.head.over or attempt.expires_at <= now or not row.agent.enabled
    next_at = None if moot else now + LEASE
    if not _mine(attempt).update(poll_at=next_at) or moot:
        return None
    attempt.poll_at = next_at
    try:
        stash = vault.open_stash(attempt.stash, attempt.state_hash)
        return Asked(attempt, cast(Polled, kinds.get(row.kind)), visit_of(row, stash=stash["kind"]))
    except FlowError as error:
        log.warning("elicitation %s cannot be asked about: %s", row.pk, error)
        return None


def _mine(attempt: Attempt) -> QuerySet[Attempt]:
    """The row, while nobody else has asked and the person has not begun anew."""
    return Attempt.objects.filter(pk=attempt.pk, used_at=None, poll_at=attempt.poll_at)


def _take(asked: Asked, answer: Future[Finish | Again | Wait]) -> None:
    error = answer.exception()
    if error:
        log.error("a poll met what nobody foresaw; its lease runs out and it is tried again", exc_info=error)
        return
    outcome = answer.result()
    if isinstance(outcome, Wait):
        _later(asked.attempt, outcome)
    elif isinstance(outcome, Again):
        _give_up(asked.attempt, outcome)
    else:
        _conclude(asked.attempt, outcome)


def _later(attempt: Attempt, wait: Wait) -> None:
    if wait.unanswered:
        tally.count("provider_errors", context_of(attempt.elicitation), "poll")
    stash = vault.open_stash(attempt.stash, attempt.state_hash) | {"kind": wait.stash}
    sealed = vault.seal_stash(stash, attempt.state_hash)
    _mine(attempt).update(stash=sealed, poll_at=clock.now() + timedelta(seconds=wait.seconds))


def _give_up(attempt: Attempt, again: Again) -> None:
    """The page says why; the person may start again."""
    if again.code == ClientUnknown.code:
        forget_client(attempt.elicitation)
    sealed = vault.seal_stash({"url": "", "kind": {}, "over": again.reason}, attempt.state_hash)
    _mine(attempt).update(stash=sealed, used_at=clock.now(), poll_at=None)


def _conclude(attempt: Attempt, outcome: Finish) -> None:
    row = attempt.elicitation
    if _recorded(attempt, outcome):
        return
    provider = provider_of(row)
    if outcome.grant and provider:
        log.info("elicitation %s went on without the grant that came: it is given back", row.pk)
        vault.drop(provider, outcome.grant)


def _recorded(attempt: Attempt, outcome: Finish) -> bool:
    """Whoever has an outcome writes it down, however late, unless the person has begun anew or it is over."""
    with transaction.atomic():
        row = Elicitation.objects.select_for_update(of=["self"]).select_related("agent").get(pk=attempt.elicitation_id)
        if row.status != Status.STARTED or row.overdue or row.head.over:
            return False
        ended = Attempt.objects.filter(pk=attempt.pk, used_at=None).update(used_at=clock.now(), poll_at=None)
        if ended and outcome.grant:
            vault.hold(row, meant_instead(row, outcome.grant), outcome.grant)
        elif ended:
            move(row, Status(outcome.status), only=[Status.STARTED], error=outcome.error)
    return ended == 1
