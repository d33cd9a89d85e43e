"""Agents' reports that a provider rejected a token."""

from __future__ import annotations

from datetime import datetime, timedelta

from elicit_flows.domain.errors import NotFound
from elicit_flows.lib import clock
from elicit_flows.models import Agent, Connection, ConnectionUse
from elicit_flows.vault import connections, refresh

# Limits requests to the provider if an agent reports in a loop. A report this early is about the previous token.
AT_MOST_EVERY = timedelta(seconds=30)


def report_rejected_token(agent: Agent, connection_id: str) -> Connection:
    """An agent reports that the provider answered its token with 401: refresh the connection now, or end it if it
    cannot be refreshed. Returns the connection as it is then.

    Nothing is done for a token that is younger than 30 seconds, within 30 seconds of the last try, or while the
    operator has switched the provider off. If the provider also refuses the refresh, the token is no longer given out
    and the grant ends sooner. Raises NotFound.
    """
    row = Connection.objects.select_related("provider", "agent").filter(agent=agent, pk=connection_id).first()
    if row is None:
        raise NotFound("There is no connection with this id.")
    if (
        row.status != Connection.Status.ACTIVE
        or _young(row.issued_at)
        or (row.provider is not None and not row.provider.enabled)
    ):
        return row
    if row.renewable and not row.reported:
        row.reported_generation = row.generation
        Connection.objects.filter(pk=row.pk, generation=row.generation).update(reported_generation=row.generation)
    if row.refresh_started_at and _young(row.refresh_started_at):
        return row
    connections.log_access(row, ConnectionUse.Action.REPORTED, ConnectionUse.Actor.AGENT)
    if not row.renewable:
        return refresh.end(row, "refused")
    return refresh.settle(row, refresh.ask(row)) if refresh.claim(row) else refresh.read(row)


def _young(moment: datetime) -> bool:
    return clock.now() - moment < AT_MOST_EVERY
