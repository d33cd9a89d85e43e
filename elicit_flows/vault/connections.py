"""Connections: a user's account at a provider, for one agent, and the log of each use."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timedelta

from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.models import F, QuerySet

from elicit_flows.domain.errors import (
    Conflict,
    ConnectionRevoked,
    FlowError,
    InvalidScope,
    NotFound,
    ProviderUnavailable,
    ReauthorizationRequired,
    TokensNeverLeave,
)
from elicit_flows.domain.values import Claim, Grant, Json, Secret
from elicit_flows.kinds.oauth.connection_metadata import merged
from elicit_flows.lib import clock
from elicit_flows.lib.compiled_query import CompiledQuery, compare_and_set, prepared_cursor, save
from elicit_flows.models import Agent, Connection, ConnectionUse, Elicitation, Provider
from elicit_flows.vault import grant_json, provider_settings
from elicit_flows.vault.refresh_schedule import next_refresh
from elicit_flows.vault.seal import place, reveal, seal

Status = Connection.Status
USE_RESOLUTION = timedelta(minutes=1)
# The fields that a new grant writes.
OF_A_GRANT = (
    "access_token", "refresh_token", "token_type", "scopes", "issued_at", "expires_at", "generation",
    "refresh_lease_until", "refresh_started_at", "refresh_failures", "last_refresh_error", "refresh_due_at",
    "refresh_refusals", "refused_since", "reported_generation", "metadata", "set_tokens",
)  # fmt: skip
TYPED = "This connection holds credentials that the user typed: ask for its secret."

# Runs at every create and rarely finds a row. Constant SQL is cheaper than building the statement with the ORM.
# Whether this person has connected anything for this agent: nearly nobody of whom it is asked has.
CONNECTED = """EXISTS (
    SELECT 1 FROM elicit_flows_connection WHERE agent_id = %s AND iss = %s AND sub = %s AND status = 'active'
)"""
_ANY = """
    SELECT 1 FROM elicit_flows_connection
    WHERE agent_id = %s AND iss = %s AND sub = %s AND provider_id = %s AND status = 'active' LIMIT 1
"""


def keep(
    agent: Agent,
    claim: Claim,
    provider: Provider,
    grant: Grant,
    by: ConnectionUse.Actor = ConnectionUse.Actor.PERSON,
    *,
    there: list[Connection] | None = None,
    same: Connection | None = None,
    beside: bool = False,
) -> Connection:
    """Store a grant, in the caller's transaction.

    If the provider names the account, the grant replaces the tokens of its connection at that site. If it does not, the
    grant replaces only ``same``, the connection that the person said it belongs to. ``beside`` means the person said
    that it is an account other than those already connected. If neither is given, the database refuses a second
    connection.
    """
    if there is None:
        there = live_connections(agent, claim, provider, lock=True)
    named = [one for one in there if grant.account_id and one.account_id == grant.account_id]
    row = same or next((one for one in named if one.is_at(grant.variables)), None)
    if row is None:
        row = Connection(agent=agent, provider=provider, iss=claim.iss, sub=claim.sub, generation=0)
        row.unnamed = row.pk if beside and possible_accounts(there, grant.account_id) else ""
    row.provider = provider  # already loaded: saves a query
    if grant.account_id:
        row.account_id, row.unnamed = grant.account_id, "" if {one.pk for one in named} <= {row.pk} else row.pk
    row.status = Status.ACTIVE
    row.account_label = grant.account_label or grant.account_id or ""
    row.refresh_token, row.minted, row.metadata = "", "", {}  # a new grant replaces all of the old one
    row.variables, row.resource, row.managed_by = dict(grant.variables), grant.resource, grant.managed_by
    row.dpop_key = seal(grant.dpop_key, sealed_at(row, "dpop_key")) if grant.dpop_key else ""
    row.token_secret = seal(grant.token_secret, sealed_at(row, "token_secret")) if grant.token_secret else ""
    row.bound_to = dict(provider_settings.bound_hosts(provider) if grant.bound_to is None else grant.bound_to)
    store_tokens(row, grant)
    save(row)
    log_access(row, ConnectionUse.Action.CONNECTED, by)
    return row


def store_tokens(row: Connection, grant: Grant) -> None:
    """Put the tokens of ``grant`` on the row as its next generation. Without a new refresh token the old one stays, and
    so does the metadata of which ``grant`` says nothing.
    """
    row.access_token = seal(grant.access_token, sealed_at(row, "access_token"))
    if grant.refresh_token:
        row.refresh_token = seal(grant.refresh_token, sealed_at(row, "refresh_token"))
    sets = {name: grant_json.dump(one) for name, one in grant.sets.items()}
    row.set_tokens = seal(Secret(json.dumps(sets)), sealed_at(row, "set_tokens")) if sets else ""
    row.token_type = grant.token_type
    row.scopes = list(grant.scopes)
    if grant.metadata:
        row.metadata = merged(row.metadata, grant.metadata)
    row.issued_at = clock.now()
    row.expires_at = grant.expires_at
    row.generation += 1
    row.refresh_lease_until = row.refresh_started_at = None
    row.refresh_failures, row.last_refresh_error = 0, ""
    row.refresh_refusals, row.refused_since, row.reported_generation = 0, None, None
    row.refresh_due_at = next_refresh(row)


def sealed_at(row: Connection, field: str) -> str:
    """The place that a sealed field of a connection is bound to."""
    return place("connection", row.id, str(row.agent_id), row.iss, row.sub, str(row.provider_id), field)


def opened(row: Connection, field: str) -> Secret | None:
    """What is sealed in ``access_token``, ``refresh_token``, ``dpop_key`` (RFC 9449), ``token_secret`` (OAuth 1.0a),
    ``minted``, ``set_tokens`` or ``secrets``; None if there is nothing.
    """
    sealed: str = getattr(row, field)
    return reveal(sealed, sealed_at(row, field)) if sealed else None


def other_sets(row: Connection) -> dict[str, Grant]:
    """The tokens of other scope sets, by the set's name."""
    sealed = opened(row, "set_tokens")
    return {name: grant_json.load(one) for name, one in json.loads(sealed.reveal()).items()} if sealed else {}


def any_active(agent: Agent, claim: Claim, provider: Provider) -> bool:
    """Whether this person has an active connection to this provider for this agent."""
    with prepared_cursor() as cursor:
        cursor.execute(_ANY, [agent.pk, claim.iss, claim.sub, provider.pk])
        return cursor.fetchone() is not None


def valid(
    agent: Agent,
    claim: Claim,
    provider: Provider,
    scopes: Iterable[str],
    only: str | None = None,
    variables: Mapping[str, str] | None = None,
) -> Connection | None:
    """An active connection of this agent, user and provider that has all these scopes, if there is one.

    A connection whose provider gives no more tokens does not count. With ``only``, just the connection with that id.
    With ``variables``, those at another shop, site or tenant do not count.
    """
    if not any_active(agent, claim, provider):
        return None
    wanted = set(scopes)
    rows = owned(agent).filter(iss=claim.iss, sub=claim.sub, provider=provider, status=Status.ACTIVE)
    rows = rows.filter(pk=only) if only else rows
    for row in rows.order_by("-issued_at"):
        dead = row.withheld or not (alive(row) or (row.renewable and not row.refresh_refusals))
        there = all(row.variables.get(name) == value for name, value in (variables or {}).items())
        # The MCP server may have named another resource since: its token would not be accepted.
        there = there and row.resource == (provider.resources[0] if provider.mcp else "")
        if there and not dead and has_scopes(row, wanted):
            return row
    return None


def has_scopes(row: Connection, wanted: set[str]) -> bool:
    """Whether it has these scopes, perhaps under another name of the provider's, or within a wider one."""
    held = set(row.scopes)
    if wanted <= held or row.provider is None:
        return wanted <= held
    quirks = row.provider.quirks()
    held.update(*(quirks.implied_scopes.get(one, ()) for one in row.scopes))
    return {quirks.scope_name(one) for one in wanted} <= {quirks.scope_name(one) for one in held}


def owned(agent: Agent) -> QuerySet[Connection]:
    """The agent's connections. Everything that an agent can see of connections is filtered from these."""
    return Connection.objects.filter(agent=agent).select_related("provider")


def reconnectable(agent: Agent, claim: Claim, provider: Provider, connection_id: str) -> Connection | None:
    """The connection with that id, if it is of this agent, person and provider, and not revoked."""
    rows = owned(agent).filter(pk=connection_id, iss=claim.iss, sub=claim.sub, provider=provider)
    return rows.exclude(status=Status.REVOKED).first()


def with_held_scopes(agent: Agent, claim: Claim, provider: Provider, params: Json) -> Json:
    """``params`` with the scopes that the connection already has, so that asking for more scopes takes none away.

    The connection is the one that ``params`` names, or the only active one.
    """
    if params.get("connection"):
        named = reconnectable(agent, claim, provider, params["connection"])
        rows = [named] if named else []
    elif any_active(agent, claim, provider):
        rows = [row for row in live_connections(agent, claim, provider) if row.status == Status.ACTIVE]
    else:
        return params
    held = rows[0].scopes if len(rows) == 1 else []
    return {**params, "scopes": list(dict.fromkeys([*held, *params["scopes"]]))}


def held_by(claim: Claim) -> QuerySet[Connection]:
    """This person's connections of all agents, without revoked ones."""
    return ever_held_by(claim).filter(revoked_at=None).exclude(status=Status.REVOKED)


def ended(claim: Claim) -> QuerySet[Connection]:
    """This person's ended connections, the last ended first."""
    return ever_held_by(claim).filter(status=Status.REVOKED, revoked_at__isnull=False).order_by("-revoked_at")


def ended_before(moment: datetime) -> QuerySet[Connection]:
    """Connections of all people that ended before ``moment`` and whose provider no longer has to be told."""
    ended = Connection.objects.filter(status=Status.REVOKED, revoked_at__lt=moment)
    return ended.exclude(upstream=Connection.Upstream.PENDING).exclude(pendinggrant__isnull=False)


def forget(claim: Claim, until: datetime, ended_before: datetime) -> bool:
    """Delete this person's connections that were made by ``until``, ended before ``ended_before``, and whose provider
    has been told. Returns whether any of them is left.
    """
    rows = ever_held_by(claim).filter(created_at__lte=until)
    told = rows.exclude(upstream=Connection.Upstream.PENDING).filter(pendinggrant=None)
    told.filter(status=Status.REVOKED, revoked_at__lte=ended_before).delete()
    return rows.exists()


def ever_held_by(claim: Claim) -> QuerySet[Connection]:
    """All connections of this person, of all agents, active or ended."""
    rows = Connection.objects.filter(iss=claim.iss, sub=claim.sub)
    return rows.select_related("provider", "agent").order_by("-created_at")


# Of the provider only ``enabled`` is loaded. Only a refresh needs its other columns, some of which are JSON.
_WITH_SWITCH = Connection.objects.annotate(switched_on=F("provider__enabled"))
_ONE = CompiledQuery(lambda agent, pk: _WITH_SWITCH.filter(agent=agent, pk=pk), 1, "cn")
_SEVERAL = CompiledQuery(lambda pks: _WITH_SWITCH.filter(pk__among=pks), ["cn"])


def usable(agent: Agent, connection_id: str) -> Connection:
    """The agent's connection, checked to be one that can give tokens.

    Raises NotFound, ConnectionRevoked, ReauthorizationRequired, ProviderUnavailable.
    """
    try:
        return require_usable(_ONE.get(agent.pk, connection_id))
    except Connection.DoesNotExist:
        raise NotFound("There is no connection with this id.") from None


def all_usable(asked: set[tuple[int, str]]) -> Iterator[Connection]:
    """``usable`` for many in one SELECT, each named with its agent. Those that it would refuse are left out."""
    found = _SEVERAL.all([pk for _, pk in asked]) if len(asked) > 1 else _ONE.all(*next(iter(asked)))
    for row in found:
        with suppress(FlowError):
            if (row.agent_id, row.pk) in asked:
                yield require_usable(row)


def of_person(
    agent: Agent, claim: Claim, *, connection_id: str = "", provider: str = "", scopes: Iterable[str] = ()
) -> Connection:
    """The person's connection with that id. Or, for the slug of a provider, the best one: active, with all of
    ``scopes``, with a token that has not expired or can be renewed, the newest. Raises NotFound, InvalidScope.
    """
    theirs = owned(agent).filter(iss=claim.iss, sub=claim.sub)
    rows = theirs.filter(pk=connection_id) if connection_id else theirs.filter(provider__slug=provider)
    wanted = set(scopes)
    found = sorted(rows, key=lambda row: (
        row.status == Status.ACTIVE, has_scopes(row, wanted), alive(row) or row.renewable, row.issued_at
    ))  # fmt: skip
    if not found:
        raise NotFound("This person has no such connection. Ask them first.")
    if not has_scopes(found[-1], wanted):
        raise InvalidScope("This person's connection does not have all these scopes. Ask them first.")
    return found[-1]


def require_usable(row: Connection) -> Connection:
    if row.status == Status.REVOKED:
        raise ConnectionRevoked("The connection was revoked. Ask the user again if it is still needed.")
    if row.status == Status.REAUTHORIZATION_REQUIRED:
        raise ReauthorizationRequired("The provider no longer accepts the grant. Create a new elicitation.")
    if getattr(row, "switched_on", None) is False:  # only what was read as _WITH_SWITCH has it
        raise ProviderUnavailable("This provider is switched off by those who run this service.")
    return row


def provider_of(row: Connection) -> Provider:
    """The connection's provider. Raises Conflict for credentials that the user typed."""
    if row.provider is None:
        raise Conflict(TYPED)
    return row.provider


def require_tokens_leave(agent: Agent) -> None:
    """Raises TokensNeverLeave for an agent that gets neither tokens nor what users typed."""
    if agent.tokens_never_leave:
        raise TokensNeverLeave("Call the API below /v1/connections/{id}/proxy/, where the credential is added.")


def alive(row: Connection) -> bool:
    """Whether its access token has not expired."""
    return row.expires_at is None or row.expires_at > clock.now()


def use_is_noted(row: Connection) -> bool:
    """Whether a use within the last minute, and of this token, was recorded already."""
    last = row.last_used_at
    return last is not None and last >= row.issued_at and clock.now() - last <= USE_RESOLUTION


def note_use(row: Connection, action: ConnectionUse.Action) -> None:
    """Record that the agent used the connection, and when the next refresh is due because of it.

    Writes at most once a minute, however often tokens are fetched. If a refresh was claimed meanwhile, the due time
    that it set stays.
    """
    if use_is_noted(row):
        return
    now, last = clock.now(), row.last_used_at
    in_a_new_minute = last is None or now - last > USE_RESOLUTION
    row.last_used_at = now
    unchanged = {"refresh_fence": row.refresh_fence, "generation": row.generation, "last_used_at": last}
    with transaction.atomic():
        noted = compare_and_set(row, unchanged, {"last_used_at": now, "refresh_due_at": next_refresh(row)})
        if noted and in_a_new_minute:
            log_access(row, action, ConnectionUse.Actor.AGENT)


def _live(agent: int, provider: int, iss: str, sub: str, revoked: str) -> QuerySet[Connection]:
    rows = Connection.objects.filter(agent=agent, provider=provider, iss=iss, sub=sub)
    return rows.exclude(status=revoked).order_by("created_at", "pk")


_LIVE = CompiledQuery(_live, 1, 2, "iss", "sub", "revoked")
_LIVE_LOCKED = CompiledQuery(lambda *given: _live(*given).select_for_update(), 1, 2, "iss", "sub", "revoked")


def live_connections(agent: Agent, claim: Claim, provider: Provider, *, lock: bool = False) -> list[Connection]:
    """This person's connections there that are not revoked, the first one first."""
    query = _LIVE_LOCKED if lock else _LIVE
    found = query.all(agent.pk, provider.pk, claim.iss, claim.sub, Status.REVOKED)
    for row in found:
        row.provider = provider
    return found


def possible_accounts(there: Iterable[Connection], account_id: str | None) -> list[Connection]:
    """Those of ``there`` that the account which came may be of, as far as anybody can know: those whose account the
    provider did not name. None where it named the one that came, and that one is connected already. To an MCP server
    one person has one connection, so that all are possible.
    """
    if account_id and any(row.account_id == account_id for row in there):
        return []
    theirs = (row for row in there if not row.own_client)
    return [row for row in theirs if not row.account_id or (row.provider and row.provider.mcp)]


def connection_to_renew(row: Elicitation) -> Connection | None:
    """The connection that this elicitation renews, if any."""
    if not row.params.get("connection"):
        return None
    rows = owned(row.agent).filter(pk=row.params["connection"], iss=row.iss, sub=row.sub)
    return rows.exclude(status=Status.REVOKED).first()


def result(row: Connection) -> Json:
    """The result of a completed elicitation of kind oauth or credentials (contract, section 4)."""
    if row.provider is None or row.typed:
        return {"connection": row.pk}
    said = {"connection": row.pk, "provider": row.provider.slug, "scopes": row.scopes, "account": row.account}
    if row.own_client:
        return said
    said |= {"label": row.label, "metadata": row.metadata, "variables": row.variables}
    return said | {"resource": row.resource} if row.resource else said


# One statement, so that two uses at once are counted as two.
_NOTE = """
    INSERT INTO elicit_flows_connectionuse (connection_id, action, actor, hour, count, first_at, last_at)
    VALUES (%s, %s, %s, %s, 1, %s, %s)
    ON CONFLICT (connection_id, hour, action, actor)
    DO UPDATE SET count = elicit_flows_connectionuse.count + 1, last_at = excluded.last_at
"""


def log_access(row: Connection, action: ConnectionUse.Action, actor: ConnectionUse.Actor) -> None:
    """Log an action on the connection with the present time, in the caller's transaction."""
    now = clock.now()
    hour = now.replace(minute=0, second=0, microsecond=0)
    written = connections[DEFAULT_DB_ALIAS].ops.adapt_datetimefield_value
    at, since = written(now), written(hour)
    with prepared_cursor() as cursor:
        cursor.execute(_NOTE, [row.pk, action.value, actor.value, since, at, at])
