"""The job ``notify``: claim a message, send it with no transaction open, record what became of it.

A message is sent at most once. It is marked before it is sent, and one that was marked by a worker that then died is
not sent by the next. Only what was certainly not sent is tried again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q, QuerySet

from elicit_flows.domain.errors import Unavailable
from elicit_flows.domain.status import Status
from elicit_flows.job_table import NOTIFY
from elicit_flows.lib import clock, counters
from elicit_flows.lib.backoff import RetrySchedule
from elicit_flows.lib.compiled_query import CompiledQuery
from elicit_flows.models import Channel, Notification, NotificationSettings, leases
from elicit_flows.notifications import email, push, webhook
from elicit_flows.notifications.messages import Message, NoAddress, NotSent, Refused, Unknown, compose
from elicit_flows.people import contacts
from elicit_flows.people.contacts import Addresses

log = logging.getLogger(__name__)
Outcome = Notification.Outcome
SCHEDULE = RetrySchedule.doubling(timedelta(seconds=15), timedelta(minutes=15), most=12)  # together two hours
WINDOW = timedelta(hours=1)
OF_CHARGE = ("charge__mandate", "charge__payment")


def _to_chat(message: Message, to: Addresses, offered: NotificationSettings) -> None:
    from elicit_flows.notifications import chat  # noqa: PLC0415  apprise takes long to import, and few use it

    chat.send(message, to, offered)


SEND: dict[str, Callable[[Message, Addresses, NotificationSettings], None]] = {
    Channel.EMAIL: email.send,
    Channel.CHAT: _to_chat,
    Channel.WEBHOOK: webhook.send,
    Channel.PUSH: push.send,
}


def channels_due(without: Collection[str]) -> list[str]:
    """The channels with messages that are due, except those in ``without``."""
    now = clock.now()
    return [channel for channel in Channel.values if channel not in without and _FIRST_DUE.all(channel, now)]


def due(channel: str, limit: int) -> list[Notification]:
    return list(_due(channel, clock.now())[:limit])


def _due(channel: str, now: datetime) -> QuerySet[Notification]:
    return Notification.objects.filter(channel=channel, next_at__lte=now).order_by("next_at")


_FIRST_DUE = CompiledQuery(
    lambda channel, now: _due(channel, now).only("pk")[:1], "channel", clock.now(), prepare=False
)


def tell(row: Notification) -> bool:
    """Send a message that is due. False if another worker has it."""
    claimed = _claim(row)
    if claimed is None:
        return False
    row, offered = claimed
    if offered is None:  # it must not be sent
        return True
    try:
        SEND[row.channel](compose(row), contacts.addresses(row.claim), offered)
    except NoAddress:
        _end(row, Outcome.NO_ADDRESS)
    except Refused as error:
        _end(row, Outcome.REFUSED, str(error))
    except (NotSent, Unavailable) as error:
        if SCHEDULE.is_used_up(row.tries):
            _end(row, Outcome.FAILED, str(error))
        elif leases.held(row, "next_at").update(next_at=clock.now() + SCHEDULE.pause(row.tries - 1), began_at=None):
            _note(row, "tried", str(error))
    except Unknown as error:
        _end(row, Outcome.UNKNOWN, str(error))
    else:
        _end(row, Outcome.SENT)
    return True


def _claim(row: Notification) -> tuple[Notification, NotificationSettings | None] | None:
    """Take the message, and mark it; or record at once why it must not be sent. None if another worker has it.

    Messages are claimed one at a time, under the lock of the operator's settings: so the limits are exact.
    """
    with transaction.atomic():
        offered = NotificationSettings.objects.select_for_update().first()
        now, broken_off = clock.now(), row.began_at is not None
        if not leases.claim(row, "next_at", next_at=now + NOTIFY.lease, began_at=now, tries=row.tries + 1):
            return None
        # What is so now counts, not what was so when the row was read.
        row = Notification.objects.select_related("elicitation", *OF_CHARGE, "agent").get(pk=row.pk)
        if broken_off:
            _end(row, Outcome.UNKNOWN, "its worker died over it")
            return row, None
        outcome = _kept_back(row, offered)
        if outcome:
            _end(row, outcome)
            return row, None
    return row, offered


def _kept_back(row: Notification, offered: NotificationSettings | None) -> Outcome | None:
    """Why it must not be sent, or None."""
    elicitation, charge = row.elicitation, row.charge
    if elicitation is not None and (elicitation.status != Status.PENDING or elicitation.overdue):
        return Outcome.OVER
    if charge is not None and charge.mandate.notice and charge.status != "announced":
        return Outcome.OVER
    may = elicitation is None or (row.agent.enabled and row.agent.notify)
    if offered is None or row.channel not in offered.channels or not may:
        return Outcome.OFF
    if not contacts.wants(row.claim, row.agent):
        return Outcome.OPTED_OUT
    return Outcome.LIMITED if _is_too_many(row, offered) else None


def _is_too_many(row: Notification, offered: NotificationSettings) -> bool:
    """Whether this request or charge is beyond the limits (threat T161). ``row`` is marked, and counts. One agent gets
    at most half of what one person is told.
    """
    begun, claim = Notification.objects.filter(began_at__gt=clock.now() - WINDOW), row.claim
    of_person = begun.filter(
        Q(elicitation__iss=claim.iss, elicitation__sub=claim.sub)
        | Q(charge__mandate__iss=claim.iss, charge__mandate__sub=claim.sub)
    )
    of_agent = begun.filter(agent=row.agent_id)
    return (
        _requests_and_charges(of_person) > offered.per_person
        or _requests_and_charges(of_person.filter(agent=row.agent_id)) > -(-offered.per_person // 2)
        or _requests_and_charges(of_agent) > offered.per_agent
    )


def _requests_and_charges(rows: QuerySet[Notification]) -> int:
    """How many requests and charges these are the messages of."""
    return rows.values("elicitation", "charge").distinct().count()


def _end(row: Notification, outcome: Outcome, why: str = "") -> None:
    """Record the outcome. What was certainly not sent no longer counts toward the limits."""
    counts = outcome in (Outcome.SENT, Outcome.UNKNOWN)
    began: datetime | None = row.began_at if counts else None
    if leases.held(row, "next_at").update(next_at=None, outcome=outcome, done_at=clock.now(), began_at=began):
        _note(row, outcome, why)


def _note(row: Notification, outcome: str, why: str) -> None:
    """A line for operators, who find the request or charge by its id. It names neither the person nor an address."""
    counters.count("notifications", row.channel, outcome)
    about = {"charge": row.charge_id} if row.charge_id else {"elicitation": row.elicitation_id}
    fields = {"notification": row.pk, **about, "channel": row.channel, "outcome": outcome}
    level = logging.WARNING if why else logging.INFO
    log.log(level, "notification", extra={"fields": {**fields, "why": why} if why else fields})
