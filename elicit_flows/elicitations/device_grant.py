"""The device grant: our page shows a code, the person types it at the provider on any device, and the worker polls the
provider (kinds.base.Polled).

Nobody can know who was at it there, so what was granted waits for the person's yes (callback.choose, threat T120).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import cast

from django.db import transaction
from django.db.models import QuerySet

from elicit_flows import kinds, vault
from elicit_flows.domain.errors import ClientUnknown, FlowError
from elicit_flows.domain.status import Status
from elicit_flows.domain.values import Again, Finish, Json, Visit, Wait
from elicit_flows.elicitations.callback import expected_connection
from elicit_flows.elicitations.transitions import (
    context_of,
    forget_client,
    move,
    provider_answered,
    provider_failed,
    provider_of,
    visit_of,
)
from elicit_flows.job_table import POLL
from elicit_flows.kinds.base import Polled
from elicit_flows.lib import clock, ids
from elicit_flows.lib.call_window import CallWindow
from elicit_flows.lib.compiled_query import CompiledQuery
from elicit_flows.lib.sentences import sentence
from elicit_flows.models import Attempt, Elicitation, leases

log = logging.getLogger(__name__)

RAN_OUT = sentence("The time for it ran out.")


@dataclass(frozen=True, slots=True)
class DevicePrompt:
    """What the page shows until ``until``: ``what`` the kind provides, or ``over``, why it can no longer be used."""

    what: Json
    until: datetime
    over: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """An attempt that this worker has claimed. The claim is valid as long as ``poll_at`` does not change."""

    attempt: Attempt
    kind: Polled
    visit: Visit


def device_prompt(row: Elicitation, browser: str) -> DevicePrompt | None:
    """The prompt for the browser in which the button was pressed, or None if there is nothing to show."""
    attempt = row.attempts.filter(browser_hash=ids.digest(browser)).order_by("-created_at").first()
    if attempt is None or row.status != Status.STARTED:
        return None
    stash = vault.open_stash(attempt.stash, attempt.state_hash)
    if stash.get("over"):
        return DevicePrompt({}, attempt.expires_at, stash["over"])
    if attempt.used_at or "shown" not in stash:
        return None
    late = attempt.expires_at <= clock.now()
    return DevicePrompt({} if late else stash["shown"], attempt.expires_at, RAN_OUT if late else "")


def _due(now: datetime) -> QuerySet[Attempt]:
    rows = Attempt.objects.filter(poll_at__lte=now, used_at=None).order_by("poll_at")
    return rows.select_related("elicitation__agent", "elicitation__parent")


_DUE = CompiledQuery(_due, clock.now(), limited=True, prepare=False)


class Polls(CallWindow[str]):
    """Polls providers about the attempts that are due. The key is the provider's slug. Run by the worker."""

    def __init__(self) -> None:
        super().__init__(POLL.name, POLL.limit, POLL.per_party)

    def begin_due(self) -> int:
        started, now = 0, clock.now()
        due: Iterable[Attempt] = _DUE.all(now, self.room)
        if self.full:
            due = _due(now).exclude(elicitation__params__provider__in=self.full)[: self.room]
        for attempt in due:
            provider = context_of(attempt.elicitation)
            asked = _claim(attempt) if self.has_room(provider) else None
            if asked:
                self.start(provider, partial(asked.kind.poll, asked.visit), partial(_take, asked))
                started += 1
        return started


def _claim(attempt: Attempt) -> Asked | None:
    """Claim the attempt for one of several workers. If it dies, another can claim it when the lease has ended."""
    row, now = attempt.elicitation, clock.now()
    moot = row.over or row.overdue or row.head.over or not row.agent.enabled
    next_at = None if moot else now + POLL.lease
    if not leases.claim(attempt, "poll_at", only={"used_at": None}, poll_at=next_at) or moot:
        return None
    try:
        stash = vault.open_stash(attempt.stash, attempt.state_hash)
        return Asked(attempt, cast(Polled, kinds.get(row.kind)), visit_of(row, provider_of(row), stash=stash["kind"]))
    except FlowError as error:
        log.warning("elicitation %s cannot be polled: %s", row.pk, error)
        return None


def _mine(attempt: Attempt) -> QuerySet[Attempt]:
    """The row, unless another worker has claimed it or the person has started again."""
    return leases.held(attempt, "poll_at").filter(used_at=None)


def _take(asked: Asked, answer: Future[Finish | Again | Wait]) -> None:
    error = answer.exception()
    if error:
        log.error("a poll failed unexpectedly; it is repeated when its lease has ended", exc_info=error)
        return
    outcome, attempt = answer.result(), asked.attempt
    if isinstance(outcome, Wait):
        if outcome.unanswered:
            provider_failed(attempt.elicitation, "poll")
        else:
            provider_answered(attempt.elicitation)
        now = clock.now()
        if attempt.expires_at <= now:  # the poll after the end was for a code that was typed in the last interval
            _end(attempt, RAN_OUT)
            return
        stash = vault.open_stash(attempt.stash, attempt.state_hash) | {"kind": outcome.stash}
        sealed = vault.seal_stash(stash, attempt.state_hash)
        _mine(attempt).update(stash=sealed, poll_at=now + timedelta(seconds=outcome.seconds))
    elif isinstance(outcome, Again):
        if outcome.code == ClientUnknown.code:
            forget_client(attempt.elicitation)
        _end(attempt, outcome.reason)
    elif not _recorded(attempt, outcome) and outcome.grant and (provider := provider_of(attempt.elicitation)):
        log.info("elicitation %s no longer waits for the grant that came: it is not kept", attempt.elicitation_id)
        vault.revoke_unkept_grant(provider, outcome.grant)


def _end(attempt: Attempt, reason: str) -> None:
    """End the attempt for a reason, which the page says. The person may start again."""
    sealed = vault.seal_stash({"url": "", "kind": {}, "over": reason}, attempt.state_hash)
    _mine(attempt).update(stash=sealed, used_at=clock.now(), poll_at=None)


def _recorded(attempt: Attempt, outcome: Finish) -> bool:
    """Record the outcome, even if the lease has ended, unless the person has started again or it is over."""
    with transaction.atomic():
        row = Elicitation.objects.select_for_update(of=["self"]).select_related("agent").get(pk=attempt.elicitation_id)
        if row.status != Status.STARTED or row.overdue or row.head.over:
            return False
        ended = Attempt.objects.filter(pk=attempt.pk, used_at=None).update(used_at=clock.now(), poll_at=None)
        if ended and outcome.grant:
            vault.store_pending_grant(row, expected_connection(row, outcome.grant), outcome.grant)
        elif ended:
            move(row, Status(outcome.status), only=[Status.STARTED], error=outcome.error)
    return ended == 1
