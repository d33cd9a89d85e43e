"""The worker's job that refreshes tokens before they are asked for, and repeats refreshes that a dead process left.

Many threads send requests. One thread claims and records, so that a worker needs one database connection for it.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future
from copy import copy
from datetime import datetime
from functools import partial
from typing import NamedTuple

from django.db import InterfaceError, OperationalError, connection, transaction

from elicit_flows import events
from elicit_flows.domain.values import Json
from elicit_flows.job_table import REFRESH
from elicit_flows.lib import clock
from elicit_flows.lib.backoff import CircuitBreaker
from elicit_flows.lib.call_window import CallWindow, Returned
from elicit_flows.lib.compiled_query import CompiledQuery, prepared_cursor
from elicit_flows.models import Agent, Connection, leases
from elicit_flows.models.backlog import Backlog, Party
from elicit_flows.oauth import Transient
from elicit_flows.vault import refresh
from elicit_flows.vault.refresh import Outcome
from elicit_flows.vault.refresh_schedule import next_refresh

log = logging.getLogger(__name__)

BACKLOG = Backlog(
    "elicit_flows_connection",
    ("provider_id", "agent_id"),
    "refresh_due_at",
    "refresh_lease_until",
    "refresh_due_at IS NOT NULL",
)
# Rows of a disabled provider or agent become due when it is enabled again.
_SWITCHED_ON = """
    SELECT party.provider_id, party.agent_id FROM ({parties}) AS party
    JOIN elicit_flows_provider AS provider ON provider.id = party.provider_id AND provider.enabled
    JOIN elicit_flows_agent AS agent ON agent.id = party.agent_id AND agent.enabled
"""
_LOCK = "SELECT id FROM elicit_flows_connection WHERE id = ANY(%s) ORDER BY id FOR UPDATE SKIP LOCKED"
_CHOSEN = CompiledQuery(
    lambda ids: Connection.objects.filter(pk__among=ids).select_related("provider", "agent").order_by("refresh_due_at"),
    ["cn"],
)
# Keyed by provider: the others do not wait for one that did not answer.
silent_providers: CircuitBreaker[int] = CircuitBreaker(rest=60.0)  # seconds


class Answer(NamedTuple):
    row: Connection
    outcome: Outcome


class Refreshes(CallWindow[int]):
    """Refreshes the connections that are due, each provider with its own limit."""

    together = REFRESH.limit

    def __init__(self) -> None:
        super().__init__(REFRESH.name, REFRESH.limit, REFRESH.per_party)

    def begin_due(self) -> int:
        seen_to, due, taken = 0, [], Counter[int]()
        for row in _due(self.full, self.room):
            planned, provider = next_refresh(row), row.provider_id or 0
            if planned is None or planned > clock.now():
                seen_to += leases.claim(row, "refresh_due_at", refresh_due_at=planned)
            elif self.has_room(provider, taken[provider]):
                taken[provider] += 1
                due.append(row)
        claimed = refresh.claim_all(due)
        for row in claimed:
            self.start(row.provider_id or 0, partial(_ask, row), _note_silence)
        return seen_to + len(claimed)

    def record_together(self, returned: list[Returned[int]]) -> list[Returned[int]]:
        """Record many results in one transaction, so that they wait for the disk once."""
        super().record_together(returned)
        answers = {one[1].result().row.pk: one for one in returned if not one[1].exception()}
        later = settle_all([one[1].result() for one in answers.values()])
        return [answers[pk] for pk in later]


def oldest_due() -> datetime | None:
    """When the oldest refresh became due, without those that failed before: they wait for their provider.

    Of each agent at each provider no more rows are looked at than one of them may have under way: where those have all
    failed, what is behind them waits for the provider, too.
    """
    if connection.vendor == "sqlite":
        rows = Connection.objects.filter(refresh_due_at__lte=clock.now(), refresh_failures=0)
        rows = rows.filter(provider__enabled=True, agent__enabled=True).order_by("refresh_due_at")
        return rows.values_list("refresh_due_at", flat=True).first()
    parties = _SWITCHED_ON.format(parties=BACKLOG.parties)
    return BACKLOG.first(parties, "t.refresh_failures = 0", REFRESH.per_party)


def _due(full: list[int], limit: int) -> list[Connection]:
    """The oldest due connections: of each provider with free places, and of each agent at most as many as a single one
    may have.
    """
    left_out = {*silent_providers.open_keys(), *full}
    with prepared_cursor() as cursor:
        cursor.execute(_SWITCHED_ON.format(parties=BACKLOG.parties))
        parties: list[Party] = cursor.fetchall()
    rooms = {party: REFRESH.per_party for party in parties if party[0] not in left_out}
    chosen = BACKLOG.oldest(rooms, limit)
    return _CHOSEN.all(chosen) if chosen else []


def _ask(row: Connection) -> Answer:
    return Answer(row, refresh.ask(row))


def _note_silence(answered: Future[Answer]) -> None:
    error = answered.exception()
    if error:
        log.error("a refresh failed unexpectedly; it is repeated when its lease has ended", exc_info=error)
        return
    row, outcome = answered.result()
    if isinstance(outcome, Transient) and row.provider_id:
        silent_providers.trip(row.provider_id)


def settle_all(answers: Sequence[Answer]) -> list[str]:
    """Record the outcomes of many claims in one transaction, each row with a savepoint of its own.

    An error of one row is logged and undone, and its lease ends by itself. Returns the ids of rows that another
    transaction had locked and that did not become free: the others do not wait for them.
    """
    told: list[tuple[Agent, str, Json]] = []
    with transaction.atomic():
        free = _locked([answer.row.pk for answer in answers])
        for answer in answers:
            if answer.row.pk in free:
                told += _settled(answer)
        # At the end, and in one order everywhere: an event locks its agent's feed until the commit.
        for agent, event, data in sorted(told, key=lambda one: one[0].pk):
            events.publish(agent, event, data)
    return [answer.row.pk for answer in answers if answer.row.pk not in free and not _settled_alone(answer)]


def _settled_alone(answer: Answer) -> bool:
    """Record one outcome in a transaction of its own. Returns False if that has to be tried again."""
    try:
        refresh.settle(copy(answer.row), answer.outcome)
    except (InterfaceError, OperationalError) as error:
        log.warning("connection %s is locked; what its refresh brought is kept: %s", answer.row.pk, error)
        return False
    except Exception:
        log.exception("what came of the refresh of connection %s could not be recorded", answer.row.pk)
    return True


def _settled(answer: Answer) -> list[tuple[Agent, str, Json]]:
    """Record one outcome in a savepoint. Returns the events for its agent. The row is copied, so that it can be
    recorded again if the transaction fails.
    """
    told: list[tuple[Agent, str, Json]] = []
    try:
        with transaction.atomic():
            refresh.settle(copy(answer.row), answer.outcome, lambda *event: told.append(event))
    except (InterfaceError, OperationalError):
        raise
    except Exception:  # one row must not undo the others
        log.exception("what came of the refresh of connection %s could not be recorded", answer.row.pk)
        return []
    return told


def _locked(ids: list[str]) -> set[str]:
    """Lock those of ``ids`` that are free, all at once, and return them. Nothing waits for a lock while it holds
    others.
    """
    if connection.vendor != "postgresql":
        return set(ids)
    with connection.cursor() as cursor:
        cursor.execute(_LOCK, [ids])
        return {pk for (pk,) in cursor.fetchall()}
