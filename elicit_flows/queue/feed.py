"""Reading the feed. A cursor is a signed position in one agent's feed; positions are gapless, so none is skipped."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

from django.core.signing import BadSignature, Signer
from django.db import connection

from elicit_flows.errors import BadCursor
from elicit_flows.models import Event

# Asked every second for everybody who waits, as one parameter: a thousand would cost more to write than to answer.
_HEADS = """
    SELECT a.id, COALESCE(f.position, 0), a.key_hash FROM elicit_flows_agent a
    LEFT JOIN elicit_flows_feed f ON f.agent_id = a.id WHERE a.enabled AND a.id {these}
"""
BEYOND = 1_000_000
# Agents of which there was no event yet when the backup was made have a row from now on.
_LEAP = """
    INSERT INTO elicit_flows_feed (agent_id, position) SELECT id, %s FROM elicit_flows_agent WHERE true
    ON CONFLICT (agent_id) DO UPDATE SET position = elicit_flows_feed.position + %s
"""
_THESE = {"postgresql": "= ANY(%s)", "sqlite": "IN (SELECT value FROM json_each(%s))"}


LATEST = "latest"


class Head(NamedTuple):
    """``position`` of the agent's newest event, 0 when there is none; ``key_hash`` of the API key that is good now."""

    agent_id: int
    position: int
    key_hash: str


def cursor(agent_id: int, position: int) -> str:
    return _signer(agent_id).sign(str(position))


def position(agent_id: int, cursor: str) -> int:
    """The position that a cursor of this agent names, or ``latest``: behind its newest event. Raises BadCursor."""
    if cursor == "":
        return 0
    if cursor == LATEST:
        return sum(head.position for head in heads([agent_id]).values())
    try:
        return int(_signer(agent_id).unsign(cursor))
    except (BadSignature, ValueError) as error:
        raise BadCursor("Use a cursor that this API gave you, or leave it out to begin with the oldest.") from error


def after(agent_id: int, position: int, limit: int) -> list[Event]:
    """Up to ``limit`` events behind ``position``, in order."""
    return list(Event.objects.filter(agent_id=agent_id, position__gt=position).order_by("position")[:limit])


def heads(agent_ids: Iterable[int]) -> dict[int, Head]:
    """How the feeds of these agents stand; those that are not enabled are left out."""
    these: list[int] | str = list(agent_ids)
    if connection.vendor == "sqlite":
        these = json.dumps(these)
    with connection.cursor() as found:
        found.execute(_HEADS.format(these=_THESE[connection.vendor]), [these])
        return {row[0]: Head(*row) for row in found.fetchall()}


def _signer(agent_id: int) -> Signer:
    return Signer(sep=".", salt=f"elicit_flows.feed.{agent_id}")


def leap() -> int:
    """Go on counting far beyond what any reader has seen, for a database that was restored; how many feeds."""
    with connection.cursor() as cursor:
        cursor.execute(_LEAP, [BEYOND, BEYOND])
        return int(cursor.rowcount)
