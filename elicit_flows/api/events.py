"""GET /v1/events as a list. Long-polls and streams are answered in ``streaming``."""

from __future__ import annotations

from typing import Annotated

from django.http import HttpResponse
from ninja import Query, Router
from pydantic import Field

from elicit_flows.api import event_shapes, openapi
from elicit_flows.api.responses import AgentRequest, answer
from elicit_flows.events import feed

Wait = Annotated[int, Query(), Field(ge=0)]
Limit = Annotated[int, Query(), Field(ge=1, le=1000)]
router = Router(tags=["events"])


@router.get("", response=event_shapes.EventList, summary="List events, in order", openapi_extra=openapi.STREAM)
def list_all(request: AgentRequest, after: str = "", wait: Wait = 0, limit: Limit = 100) -> HttpResponse:
    """Events after the cursor ``after``, oldest first. Without it: from the oldest that is stored; ``latest``: only
    events that are still to come. ``cursor`` is the next ``after``. With ``wait`` (seconds), an empty page waits for
    its first event.

    With ``Accept: text/event-stream`` it is a stream: ``id`` is the cursor, ``Last-Event-ID`` resumes, and a comment is
    sent every 15 seconds.
    """
    position = feed.position(request.auth.pk, after)
    events = feed.after(request.auth.pk, position, limit)
    cursor = feed.cursor(request.auth.pk, events[-1].position if events else position)
    return answer({"data": [event.body() for event in events], "cursor": cursor})
