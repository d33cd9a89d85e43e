"""The person of a new elicitation, or of a charge under a mandate, is told. ``elicit_flows.notifications`` sends what
is scheduled here.

The agent gets the same answer whether or not there is an address, and whether or not the person wants to be told
(threat T160).
"""

from __future__ import annotations

from functools import partial

from django.db import transaction

from elicit_flows.domain.errors import Invalid
from elicit_flows.events import wakeups
from elicit_flows.job_table import NOTIFY
from elicit_flows.lib.ttl_cache import TtlCache
from elicit_flows.models import Agent, Channel, Elicitation, MandateCharge, Notification, NotificationSettings

# One second, as for what an agent may use.
_remembered: TtlCache[None, tuple[Channel, ...]] = TtlCache(1.0, most=1)


def channels() -> tuple[Channel, ...]:
    """The channels that the operator offers."""
    found = _remembered.get(None)
    if found is None:
        row = NotificationSettings.objects.first()
        found = row.channels if row else ()
        _remembered.put(None, found)
    return found


def may(agent: Agent) -> bool:
    """Whether people may be told of this agent's requests at all."""
    return agent.notify and bool(channels())


def check(agent: Agent) -> None:
    """Raises Invalid."""
    if not may(agent):
        raise Invalid.at("notify", "You may not have people notified; your operator can allow it. Leave it out.")


def schedule(row: Elicitation) -> None:
    """Have the person told, once for each channel. Call it in the transaction that creates ``row``."""
    if not row.over:
        _schedule(row.agent, elicitation=row)


def schedule_charge(charge: MandateCharge) -> None:
    """Have the person told of a charge that was announced or made. Call it in the transaction that records that.

    The agent has no say in it, and needs no leave: the person who gave the mandate was promised to be told.
    """
    _schedule(charge.mandate.agent, charge=charge)


def _schedule(agent: Agent, **about: Elicitation | MandateCharge) -> None:
    told = [Notification(agent=agent, channel=channel, **about) for channel in channels()]
    if told:
        Notification.objects.bulk_create(told)
        transaction.on_commit(partial(wakeups.wake_workers, NOTIFY))


def forget() -> None:
    """Clear the cache. For tests that change what the operator offers."""
    _remembered.clear()
