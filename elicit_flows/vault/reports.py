"""An agent's word that the provider refused what it was given."""

from __future__ import annotations

from datetime import timedelta

from elicit_flows.errors import NotFound
from elicit_flows.lib import clock
from elicit_flows.models import Agent, Connection, Use
from elicit_flows.vault import refreshing, uses

# An agent in a loop does not make us hammer the provider; and what is that young was refused for the token before it.
AT_MOST_EVERY = timedelta(seconds=30)


def report(agent: Agent, connection_id: str) -> Connection:
    """Refresh at once what the provider answered 401 to, or end it where nothing can be refreshed; as it is then.

    A token, or a try to refresh it, younger than 30 seconds is left as it is, and so is one of a provider that the
    operator has switched off. Raises NotFound.
    """
    row = Connection.objects.select_related("provider", "agent").filter(agent=agent, pk=connection_id).first()
    if row is None:
        raise NotFound("There is no connection with this id.")
    if row.status != Connection.Status.ACTIVE or _just_tried(row) or _off(row):
        return row
    uses.note(row, Use.Action.REPORTED, Use.Actor.AGENT)
    if not row.renewable:
        return refreshing.end(row, "refused")
    return refreshing.settle(row, refreshing.ask(row)) if refreshing.claim(row) else refreshing.read(row)


def _off(row: Connection) -> bool:
    return row.provider is not None and not row.provider.enabled


def _just_tried(row: Connection) -> bool:
    return clock.now() - max(row.refresh_started_at or row.issued_at, row.issued_at) < AT_MOST_EVERY
