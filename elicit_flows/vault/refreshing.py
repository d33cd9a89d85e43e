"""One refresh, or one more token for a client of the person's own: claimed by lease and fence, asked with no
transaction open, written over the generation it came from.

The loser of any race gets what the winner wrote. A claim notes when it began, so that the worker takes up what a dead
process left: the provider may have taken the old refresh token back, or still honour it.
"""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from django.db import transaction

from elicit_flows import queue
from elicit_flows.errors import Unavailable
from elicit_flows.kinds.credentials import own_client
from elicit_flows.kinds.oauth import refresh as ask_provider
from elicit_flows.lib import clock, tally
from elicit_flows.lib.oauth import ClientRefused, InvalidGrant, OAuthError, ProviderError
from elicit_flows.models import Connection, Use
from elicit_flows.values import Grant, Secret
from elicit_flows.vault import configs, connections, credentials, revocation, uses
from elicit_flows.vault.schedule import LEASE, next_refresh

# What only the person can put right, with another secret or at the provider. Other refusals are the operator's to mend.
CLIENT_OVER = frozenset({"invalid_client", "unauthorized_client"})
COOLDOWN = timedelta(seconds=2)  # after a provider did not answer, nobody asks it again for this long

Outcome = Grant | OAuthError | Unavailable
Status = Connection.Status


def claim(row: Connection) -> bool:
    """Take the refresh lease, or see that somebody has it."""
    now = clock.now()
    if row.refresh_lease_until and row.refresh_lease_until > now:
        return False
    row.refresh_fence += 1
    row.refresh_lease_until = row.refresh_due_at = now + LEASE
    row.refresh_started_at = now
    taken = Connection.objects.filter(
        pk=row.pk, generation=row.generation, refresh_fence=row.refresh_fence - 1, status=Status.ACTIVE
    ).update(
        refresh_fence=row.refresh_fence,
        refresh_lease_until=row.refresh_lease_until,
        refresh_started_at=row.refresh_started_at,
        refresh_due_at=row.refresh_due_at,
    )
    return taken == 1


def ask(row: Connection) -> Outcome:
    """What the provider says, or why it was not asked. Touches no database when the row has its provider with it."""
    try:
        if row.own_client:
            return _ask_for_own_client(row)
        secret = connections.refresh_token(row)
        config = configs.oauth(connections.provider_of(row))
        account, key = row.account_id or None, connections.dpop_key(row)
        return ask_provider(config, secret or Secret(""), tuple(row.scopes), account, key)
    except (OAuthError, Unavailable) as error:
        return error


def settle(row: Connection, outcome: Outcome) -> Connection:
    """Write down what came of the claim; the connection as it is then, whoever wrote it."""
    if isinstance(outcome, Grant):
        return _record(row, outcome)
    if isinstance(outcome, InvalidGrant):
        return end(row, "invalid_grant")
    if isinstance(outcome, ClientRefused) and outcome.code in CLIENT_OVER:
        return end(row, outcome.code)
    return _cool_down(row, outcome)


def end(row: Connection, why: str) -> Connection:
    """The grant is dead, and its agent told; unless somebody wrote a newer one meanwhile: then theirs is returned."""
    with transaction.atomic():
        mine = Connection.objects.filter(
            pk=row.pk,
            generation=row.generation,
            refresh_fence=row.refresh_fence,
            status=Status.ACTIVE,
        ).update(
            status=Status.REAUTHORIZATION_REQUIRED,
            refresh_lease_until=None,
            refresh_started_at=None,
            refresh_due_at=None,
            last_refresh_error=why,
        )
        if mine:
            row = read(row)
            uses.note(row, Use.Action.LAPSED, Use.Actor.PROVIDER)
            queue.publish(row.agent, "connection.reauthorization_required", row.summary())
            transaction.on_commit(partial(_count, row, "dead"))
    return row if mine else read(row)


def read(row: Connection) -> Connection:
    return Connection.objects.select_related("provider", "agent").get(pk=row.pk)


def _ask_for_own_client(row: Connection) -> Grant:
    config = configs.credentials_provider(connections.provider_of(row))
    if config.token is None:
        raise ProviderError("not_allowed", "The operator says no more where tokens are asked for.")
    return own_client.ask(config.token, credentials.opened(row))


def _record(row: Connection, grant: Grant) -> Connection:
    fence, generation = row.refresh_fence, row.generation
    connections.put(row, grant)
    with transaction.atomic():
        won = Connection.objects.filter(
            pk=row.pk, generation=generation, refresh_fence=fence, status=Status.ACTIVE
        ).update(**{field: getattr(row, field) for field in connections.OF_A_GRANT})
        if won:
            uses.note(row, Use.Action.REFRESHED, Use.Actor.SERVICE)
            queue.publish(row.agent, "connection.refreshed", row.summary())
    if won:
        _count(row, "refreshed")
        return row
    revocation.drop_late_tokens(row)
    return read(row)


def _cool_down(row: Connection, error: OAuthError | Unavailable) -> Connection:
    """The provider did not answer: that says nothing about the grant."""
    _count(row, "refused" if isinstance(error, ProviderError) else "unavailable")
    tally.count("provider_errors", connections.provider_of(row).slug, "refresh")
    row.refresh_failures += 1
    row.refresh_started_at = clock.now()
    Connection.objects.filter(
        pk=row.pk, generation=row.generation, refresh_fence=row.refresh_fence, status=Status.ACTIVE
    ).update(
        refresh_lease_until=clock.now() + COOLDOWN,
        refresh_started_at=row.refresh_started_at,
        refresh_due_at=next_refresh(row),
        refresh_failures=row.refresh_failures,
        last_refresh_error=_code(error),
    )
    return read(row)


def _count(row: Connection, outcome: str) -> None:
    if not row.typed:
        tally.count("refreshes", connections.provider_of(row).slug, outcome)


def _code(error: OAuthError | Unavailable) -> str:
    """A word that names nothing of the user's: for the API and the admin."""
    if isinstance(error, ProviderError):
        return error.code
    return "unreadable" if isinstance(error, Unavailable) else "provider_unavailable"
