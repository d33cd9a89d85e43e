"""Reads an agent's feed. A cursor is a signed position; positions have no gaps, so no event is skipped."""

from __future__ import annotations

import json
from typing import NamedTuple

from django.core.signing import BadSignature, Signer
from django.db import connection

from elicit_flows.domain.errors import BadCursor
from elicit_flows.lib.compiled_query import CompiledQuery, prepared_cursor
from elicit_flows.models import Event

# Runs every second for all waiting requests. The ids are one parameter: writing a thousand takes longer than the query.
_HEADS = """
    SELECT a.id, COALESCE(f.position, 0), a.key_hash FROM elicit_flows_agent a
    LEFT JOIN elicit_flows_feed f ON f.agent_id = a.id WHERE a.enabled AND a.id {these}
"""
BEYOND = 1_000_000
# Agents that had no event at the time of the backup get a row as well.
_LEAP = """
    INSERT INTO elicit_flows_feed (agent_id, position) SELECT id, %s FROM elicit_flows_agent WHERE true
    ON CONFLICT (agent_id) DO UPDATE SET position = elicit_flows_feed.position + %s
"""
# Each event of an agent that waits is read with it.
_AFTER = CompiledQuery(
    lambda agent, position: Event.objects.filter(agent=agent, position__gt=position).order_by("position"),
    1,
    2,
    limited=True,
)
_THESE = {"postgresql": "= ANY(%s)", "sqlite": "IN (SELECT value FROM json_each(%s))"}


LATEST = "latest"


class Head(NamedTuple):
    """``position``: of the agent's newest event, 0 if there is none. ``key_hash``: of its current API key."""

    agent_id: int
    position: int
    key_hash: str


def cursor(agent_id: int, position: int) -> str:
    return _signer(agent_id).sign(str(position))


def position(agent_id: int, cursor: str) -> int:
    """The position in a cursor of this agent. "" is the beginning, ``latest`` the newest event. Raises BadCursor."""
    if cursor == "":
        return 0
    if cursor == LATEST:
        return head(agent_id).position
    try:
        return int(_signer(agent_id).unsign(cursor))
    except (BadSignature, ValueError) as error:
        raise BadCursor("Use a cursor that this API gave you, or leave it out to begin with the oldest.") from error


def after(agent_id: int, position: int, limit: int) -> list[Event]:
    """Up to ``limit`` events after ``position``, in order."""
    return _AFTER.all(agent_id, position, limit)


def head(agent_id: int) -> Head:
    return heads([agent_id])[agent_id]


def heads(agent_ids: list[int]) -> dict[int, Head]:
    """The heads of these agents' feeds, by the agent's primary key. An agent that is switched off has no key."""
    these: list[int] | str = agent_ids
    if connection.vendor == "sqlite":
        these = json.dumps(agent_ids)
    with prepared_cursor() as found:
        found.execute(_HEADS.format(these=_THESE[connection.vendor]), [these])
        stored = {row[0]: Head(*row) for row in found.fetchall()}
    return {each: stored.get(each) or Head(each, 0, "") for each in agent_ids}


def _signer(agent_id: int) -> Signer:
    return Signer(sep=".", salt=f"elicit_flows.feed.{agent_id}")


def skip_positions() -> int:
    """After a restore: continue all feeds far beyond what any reader has seen. Returns how many feeds there are."""
    with connection.cursor() as cursor:
        cursor.execute(_LEAP, [BEYOND, BEYOND])
        return int(cursor.rowcount)
