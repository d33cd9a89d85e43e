"""Keeping and finding connections: a user's account at a provider, for one agent."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import connection, transaction
from django.db.models import F, QuerySet

from elicit_flows.errors import (
    Conflict,
    ConnectionRevoked,
    InvalidScope,
    NotFound,
    ProviderUnavailable,
    ReauthorizationRequired,
)
from elicit_flows.lib import clock
from elicit_flows.models import Agent, Connection, Provider, Use
from elicit_flows.values import Claim, Grant, Json, Secret
from elicit_flows.vault import uses
from elicit_flows.vault.schedule import next_refresh
from elicit_flows.vault.seal import place, reveal, seal

Status = Connection.Status
USE_RESOLUTION = timedelta(minutes=1)
# What a new grant writes, see ``put``.
OF_A_GRANT = (
    "access_token", "refresh_token", "token_type", "scopes", "issued_at", "expires_at", "generation",
    "refresh_lease_until", "refresh_started_at", "refresh_failures", "last_refresh_error", "refresh_due_at",
)  # fmt: skip
TYPED = "This connection holds credentials that the user typed: ask for its secret."

# Asked at every create, nearly always in vain: cheaper than having the ORM make this text anew.
_ANY = """
    SELECT 1 FROM elicit_flows_connection
    WHERE agent_id = %s AND iss = %s AND sub = %s AND provider_id = %s AND status = 'active' LIMIT 1
"""


def keep(agent: Agent, claim: Claim, provider: Provider, grant: Grant, by: Use.Actor = Use.Actor.PERSON) -> Connection:
    """Store what was granted, in the caller's transaction. The same account again replaces its tokens."""
    row = same_account(agent, claim, provider, grant) or Connection(
        agent=agent, provider=provider, iss=claim.iss, sub=claim.sub, account_id=grant.account_id or "", generation=0
    )
    row.status = Status.ACTIVE
    row.account_label = grant.account_label or grant.account_id or ""
    row.refresh_token = ""  # a new grant replaces the old one whole
    row.dpop_key = seal(grant.dpop_key, where(row, "dpop_key"))
    put(row, grant)
    row.save()
    uses.note(row, Use.Action.CONNECTED, by)
    return row


def put(row: Connection, grant: Grant) -> None:
    """The tokens of ``grant`` on the row, as its next generation. A grant without refresh token keeps the old one."""
    row.access_token = seal(grant.access_token, where(row, "access_token"))
    if grant.refresh_token:
        row.refresh_token = seal(grant.refresh_token, where(row, "refresh_token"))
    row.token_type = grant.token_type
    row.scopes = list(grant.scopes)
    row.issued_at = clock.now()
    row.expires_at = grant.expires_at
    row.generation += 1
    row.refresh_lease_until = row.refresh_started_at = None
    row.refresh_failures, row.last_refresh_error = 0, ""
    row.refresh_due_at = next_refresh(row)


def where(row: Connection, field: str) -> str:
    """The place of a connection's sealed field."""
    return place("connection", row.id, str(row.agent_id), row.iss, row.sub, str(row.provider_id), field)


def access_token(row: Connection) -> Secret | None:
    return reveal(row.access_token, where(row, "access_token"))


def refresh_token(row: Connection) -> Secret | None:
    return reveal(row.refresh_token, where(row, "refresh_token"))


def dpop_key(row: Connection) -> Secret | None:
    """What its tokens are bound to (RFC 9449), if anything."""
    return reveal(row.dpop_key, where(row, "dpop_key"))


def any_active(agent: Agent, claim: Claim, provider: Provider) -> bool:
    """Whether this person has connected anything there for this agent."""
    with connection.cursor() as cursor:
        cursor.execute(_ANY, [agent.pk, claim.iss, claim.sub, provider.pk])
        return cursor.fetchone() is not None


def valid(
    agent: Agent, claim: Claim, provider: Provider, scopes: Iterable[str], only: str | None = None
) -> Connection | None:
    """A connection that already answers: active, of this agent, this user, this provider, with all these scopes; with
    ``only`` the one of that id alone.
    """
    if not any_active(agent, claim, provider):
        return None
    wanted = set(scopes)
    rows = owned(agent).filter(iss=claim.iss, sub=claim.sub, provider=provider, status=Status.ACTIVE)
    rows = rows.filter(pk=only) if only else rows
    for row in rows.order_by("-issued_at"):
        dead = row.expires_at is not None and row.expires_at <= clock.now() and not row.renewable
        if wanted <= set(row.scopes) and not dead:
            return row
    return None


def owned(agent: Agent) -> QuerySet[Connection]:
    """The agent's connections. Everything that an agent sees starts here."""
    return Connection.objects.filter(agent=agent).select_related("provider")


def held_by(claim: Claim) -> QuerySet[Connection]:
    """What this person has connected, for every agent, revoked ones left out."""
    return ever_held_by(claim).exclude(status=Status.REVOKED)


def ended(claim: Claim) -> QuerySet[Connection]:
    """What this person had connected, the last that ended first."""
    return ever_held_by(claim).filter(status=Status.REVOKED).order_by("-revoked_at")


def ended_before(moment: datetime) -> QuerySet[Connection]:
    """Those that ended before ``moment``, whosever they were, and whose provider need not be told any more."""
    return Connection.objects.filter(status=Status.REVOKED, revoked_at__lt=moment).exclude(
        upstream=Connection.Upstream.PENDING
    )


def forget(claim: Claim, until: datetime, ended_before: datetime) -> bool:
    """Delete what this person had connected by ``until`` and lost before ``ended_before``, once its provider has been
    told; whether any of it is left.
    """
    rows = ever_held_by(claim).filter(created_at__lte=until)
    told = rows.exclude(upstream=Connection.Upstream.PENDING).filter(heldgrant=None)
    told.filter(status=Status.REVOKED, revoked_at__lte=ended_before).delete()
    return rows.exists()


def ever_held_by(claim: Claim) -> QuerySet[Connection]:
    """What this person has connected, or had, for every agent."""
    rows = Connection.objects.filter(iss=claim.iss, sub=claim.sub)
    return rows.select_related("provider", "agent").order_by("-created_at")


def usable(agent: Agent, connection_id: str) -> Connection:
    """The agent's connection, fit to give out tokens.

    Raises NotFound, ConnectionRevoked, ReauthorizationRequired, ProviderUnavailable.
    """
    try:
        rows = Connection.objects.annotate(switched_on=F("provider__enabled"))
        row = checked(rows.get(agent=agent, pk=connection_id))
    except Connection.DoesNotExist:
        raise NotFound("There is no connection with this id.") from None
    # The provider's other columns, JSON among them, are for who refreshes.
    if getattr(row, "switched_on") is False:  # noqa: B009  annotated above
        raise ProviderUnavailable("This provider is switched off by those who run this service.")
    return row


def of_person(
    agent: Agent, claim: Claim, *, connection_id: str = "", provider: str = "", scopes: Iterable[str] = ()
) -> Connection:
    """The person's connection with that id, or the one with that provider (its slug) that serves best: one that is
    active, that has all of ``scopes``, the newest. Raises NotFound, InvalidScope.
    """
    theirs = owned(agent).filter(iss=claim.iss, sub=claim.sub)
    rows = theirs.filter(pk=connection_id) if connection_id else theirs.filter(provider__slug=provider)
    wanted = set(scopes)
    found = sorted(rows, key=lambda row: (row.status == Status.ACTIVE, wanted <= set(row.scopes), row.issued_at))
    if not found:
        raise NotFound("This person has no such connection. Ask them first.")
    if not wanted <= set(found[-1].scopes):
        raise InvalidScope("This person's connection does not have all these scopes. Ask them first.")
    return found[-1]


def checked(row: Connection) -> Connection:
    if row.status == Status.REVOKED:
        raise ConnectionRevoked("The connection was revoked. Ask the user again if it is still needed.")
    if row.status == Status.REAUTHORIZATION_REQUIRED:
        raise ReauthorizationRequired("The provider no longer honours the grant. Create a new elicitation.")
    return row


def provider_of(row: Connection) -> Provider:
    """Raises Conflict for credentials that the user typed."""
    if row.provider is None:
        raise Conflict(TYPED)
    return row.provider


def alive(row: Connection) -> bool:
    """Whether its access token has not run out."""
    return row.expires_at is None or row.expires_at > clock.now()


def note_use(row: Connection, action: Use.Action) -> None:
    """When its agent last used it, to the minute, and what that means for the next refresh: a write a minute, not one a
    fetch, whoever fetches. A refresh that was claimed meanwhile has its own word on when it is due.
    """
    now, last = clock.now(), row.last_used_at
    in_a_new_minute = last is None or now - last > USE_RESOLUTION
    if last is not None and last >= row.issued_at and not in_a_new_minute:
        return
    row.last_used_at = now
    unchanged = Connection.objects.filter(
        pk=row.pk, refresh_fence=row.refresh_fence, generation=row.generation, last_used_at=last
    )
    with transaction.atomic():
        if unchanged.update(last_used_at=now, refresh_due_at=next_refresh(row)) and in_a_new_minute:
            uses.note(row, action, Use.Actor.AGENT)


def same_account(agent: Agent, claim: Claim, provider: Provider, grant: Grant) -> Connection | None:
    """The live connection of the account that was granted, locked."""
    rows = Connection.objects.select_for_update().filter(
        agent=agent, provider=provider, iss=claim.iss, sub=claim.sub, account_id=grant.account_id or ""
    )
    return rows.exclude(status=Status.REVOKED).first()


def result(row: Connection) -> Json:
    """What a completed elicitation of kind oauth or credentials answers (contract, section 4)."""
    if row.provider is None or row.typed:
        return {"connection": row.pk}
    return {"connection": row.pk, "provider": row.provider.slug, "scopes": row.scopes, "account": row.account}
