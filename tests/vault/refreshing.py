"""Helpers for tests of refreshing: what they check, and how they interrupt a refresh."""

from __future__ import annotations

from collections.abc import Callable

from django.db import connections

from elicit_flows.models import Connection, Event
from elicit_flows.vault import connections as kept
from tests.doubles.provider import Provider
from tests.doubles.server import Request, Response


def now(row: Connection) -> Connection:
    return Connection.objects.get(pk=row.pk)


def told(row: Connection) -> list[str]:
    """The types of the agent's events, in order."""
    return list(Event.objects.filter(agent=row.agent).order_by("position").values_list("type", flat=True))


def access_token_of(row: Connection) -> str:
    found = kept.opened(now(row), "access_token")
    assert found is not None
    return found.reveal()


def meanwhile(double: Provider, act: Callable[[], object]) -> None:
    """Does ``act`` while the next refresh is at the provider, which has answered but is not heard yet."""

    def handler(request: Request) -> Response:
        del double.scripted["token"]
        answer = double._token(request)
        act()
        connections.close_all()
        return answer

    double.scripted["token"] = handler
