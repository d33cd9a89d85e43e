"""What a person sees of their connections: how many there are, which were used last, and what was done with them."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime

from django.db.models import CharField, Count, F, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Cast, Coalesce, Concat, NullIf

from elicit_flows.domain.values import Claim
from elicit_flows.models import Connection, ConnectionCall, ConnectionUse
from elicit_flows.vault.connections import held_by

MOST_CALLS = 100
Before = tuple[datetime, int] | None
_EVER = datetime(1970, 1, 1, tzinfo=UTC)
# The account at the provider. Where nobody says which one it is, each connection counts as one.
_ACCOUNT = Concat(
    Coalesce(Cast("provider", CharField()), Value("")),
    Value(" "),
    Coalesce(NullIf(F("account_id"), Value("")), NullIf(F("account_label"), Value("")), F("id")),
    output_field=CharField(),
)


def count_held(claim: Claim) -> dict[str, int]:
    """How many ``agents`` can use how many ``accounts`` of this person."""
    rows = held_by(claim).select_related(None).order_by()
    return rows.aggregate(agents=Count("agent", distinct=True), accounts=Count(_ACCOUNT, distinct=True))


def by_use(claim: Claim, words: str = "") -> QuerySet[Connection]:
    """This person's connections with ``used``: when that was last, or else when they were made. With ``words`` only
    those whose provider, account or agent is named like that.
    """
    rows = held_by(claim).annotate(used=Coalesce("last_used_at", "created_at"))
    if not words:
        return rows
    named = Q(account_label__icontains=words) | Q(agent__name__icontains=words)
    return rows.filter(named | Q(provider__name__icontains=words))


def count_at(claim: Claim, providers: Collection[int]) -> dict[int, int]:
    """How many connections this person has at each of these providers, by primary key."""
    rows = held_by(claim).filter(provider__in=providers).select_related(None).order_by()
    return dict(rows.values_list("provider").annotate(Count("pk")))


def uses_of(row: Connection, before: Before, limit: int) -> list[ConnectionUse]:
    """The newest uses of one connection. ``before``: ``last_at`` and primary key of one that is known already."""
    return list(_newest(row.uses.all(), before)[:limit])


def uses_by(claim: Claim, before: Before, limit: int) -> list[ConnectionUse]:
    """The same of all connections that this person ever had.

    The index is by connection and hour, so each connection is first asked for the hours of its newest use and of its
    last one that could be needed. Where one connection alone has enough, nothing older than those is read of any.
    """
    of_one = _newest(ConnectionUse.objects.filter(connection=OuterRef("pk")), before).order_by("-hour").values("hour")
    held = Connection.objects.filter(iss=claim.iss, sub=claim.sub)
    hours = list(held.values_list("pk", Subquery(of_one[:1]), Subquery(of_one[limit - 1 : limit])))
    since = max((last for _, _, last in hours if last), default=_EVER)
    needed = [pk for pk, newest, _ in hours if newest and newest >= since]
    rows = ConnectionUse.objects.filter(connection__in=needed, hour__gte=since)
    return list(_newest(rows.select_related("connection__agent", "connection__provider"), before)[:limit])


def calls_of(row: Connection) -> list[ConnectionCall]:
    """The newest calls that the agent made through this service, alike ones of an hour as one row."""
    return list(row.calls.order_by("-hour", "-last_at", "-pk")[:MOST_CALLS])


def _newest(rows: QuerySet[ConnectionUse], before: Before) -> QuerySet[ConnectionUse]:
    """A use lies within its hour, so the order by time is that by hour."""
    if before is not None:
        at, pk = before
        hour = at.replace(minute=0, second=0, microsecond=0)
        rows = rows.filter(Q(last_at__lt=at) | Q(last_at=at, pk__lt=pk), hour__lte=hour)
    return rows.order_by("-hour", "-last_at", "-pk")
