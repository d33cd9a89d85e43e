"""Reading the feed. A cursor is a signed position in one agent's feed; positions are gapless, so none is skipped."""

from __future__ import annotations

from django.core.signing import BadSignature, Signer

from elicit_flows.errors import BadCursor
from elicit_flows.models import Event, Feed


def cursor(agent_id: int, position: int) -> str:
    return _signer(agent_id).sign(str(position))


def position(agent_id: int, cursor: str) -> int:
    """The position that a cursor of this agent names. Raises BadCursor."""
    if cursor == "":
        return 0
    try:
        return int(_signer(agent_id).unsign(cursor))
    except (BadSignature, ValueError) as error:
        raise BadCursor("Use a cursor that this API gave you, or leave it out to begin with the oldest.") from error


def after(agent_id: int, position: int, limit: int) -> list[Event]:
    """Up to ``limit`` events behind ``position``, in order."""
    return list(Event.objects.filter(agent_id=agent_id, position__gt=position).order_by("position")[:limit])


def head(agent_id: int) -> int:
    """The position of the newest event, 0 when there is none."""
    return Feed.objects.filter(pk=agent_id).values_list("position", flat=True).first() or 0


def _signer(agent_id: int) -> Signer:
    return Signer(sep=".", salt=f"elicit_flows.feed.{agent_id}")
