"""What an auditor asks for, of a period: who had access, what was answered and paid, and what operators did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db.models import Exists, Model, OuterRef, Q, QuerySet
from django.utils.translation import gettext_lazy as _

from elicit_flows.admin import request_page
from elicit_flows.admin.base import admin_url
from elicit_flows.admin.connections import EXPORT_COLUMNS, SECRETS, csv_values
from elicit_flows.domain.status import Status
from elicit_flows.domain.values import Claim
from elicit_flows.models import (
    Agent,
    Authorization,
    Connection,
    ConnectionUse,
    Delivery,
    Elicitation,
    Mandate,
    Member,
    Payment,
    Subscription,
)
from elicit_flows.people import local_accounts

Action = ConnectionUse.Action
ACTIONS = {
    Action.FETCHED: _("Fetched an access token"),
    Action.OPENED: _("Read what the person typed"),
    Action.LAPSED: _("The provider ended it"),
    Action.REVOKED: _("Ended"),
}
ACTORS = {
    ConnectionUse.Actor.AGENT: _("by the agent"),
    ConnectionUse.Actor.PERSON: _("by the person"),
    ConnectionUse.Actor.OPERATOR: _("by an operator"),
    ConnectionUse.Actor.PROVIDER: _("by the provider"),
    ConnectionUse.Actor.SERVICE: _("by this service"),
}


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """From ``start`` on and before ``end``; of one person, agent or operator, if they are not None."""

    start: datetime
    end: datetime
    claim: Claim | None = None
    agent: Agent | None = None
    operator: User | None = None

    def within(self, name: str) -> dict[str, Any]:
        return {f"{name}__gte": self.start, f"{name}__lt": self.end}

    def whose(self, prefix: str = "") -> dict[str, Any]:
        """The person and the agent, for rows that have both, or for those that belong to one with the ``prefix``."""
        found: dict[str, Any] = {f"{prefix}agent": self.agent} if self.agent else {}
        if self.claim:
            found |= {f"{prefix}iss": self.claim.iss, f"{prefix}sub": self.claim.sub}
        return found


@dataclass(frozen=True, slots=True)
class Line:
    """A row as the page shows it. ``of``: a row of the person's, whose name leads to their page."""

    at: datetime
    what: Any
    url: str | None
    agent: str = ""
    sub: str = ""
    of: str = ""
    more: tuple[Any, ...] = ()
    money: tuple[int, str] | None = None


@dataclass(frozen=True, slots=True)
class AuditList:
    """``rows``: the newest first. ``columns`` and ``values``: what the file has; ``line``: what the page has."""

    title: Any
    rows: Callable[[AuditFilter], QuerySet[Any]]
    columns: tuple[str, ...]
    values: Callable[[Any], tuple[Any, ...]]
    line: Callable[[Any], Line]
    by_operator: bool = field(default=False)


def _connections() -> QuerySet[Connection]:
    return Connection.objects.select_related("agent", "provider").defer(*SECRETS)


def _made(wanted: AuditFilter) -> QuerySet[Connection]:
    return _connections().filter(**wanted.within("created_at"), **wanted.whose()).order_by("-created_at", "pk")


def _live(wanted: AuditFilter) -> QuerySet[Connection]:
    """Connections that were made before the end of the period and had not ended before its start."""
    lapsed = ConnectionUse.objects.filter(connection=OuterRef("pk"), action=Action.LAPSED, last_at__gte=wanted.start)
    over = Q(status=Connection.Status.REAUTHORIZATION_REQUIRED) & ~Exists(lapsed)
    rows = _connections().filter(Q(revoked_at=None) | Q(revoked_at__gte=wanted.start), created_at__lt=wanted.end)
    return rows.filter(**wanted.whose()).exclude(over).order_by("-created_at", "pk")


def _uses(*actions: ConnectionUse.Action) -> Callable[[AuditFilter], QuerySet[ConnectionUse]]:
    """Uses are counted by the hour, and a period begins and ends with one."""

    def rows(wanted: AuditFilter) -> QuerySet[ConnectionUse]:
        found = ConnectionUse.objects.filter(
            action__in=actions, **wanted.within("last_at"), **wanted.whose("connection__")
        )
        found = found.select_related("connection__agent", "connection__provider")
        return found.defer(*(f"connection__{name}" for name in SECRETS)).order_by("-last_at", "pk")

    return rows


def _confirms(wanted: AuditFilter) -> QuerySet[Elicitation]:
    rows = Elicitation.objects.filter(kind="confirm", **wanted.within("finished_at"), **wanted.whose())
    return rows.select_related("agent").defer("metadata", "result", "params").order_by("-finished_at", "pk")


def _payments(wanted: AuditFilter) -> QuerySet[Payment]:
    rows = Payment.objects.filter(**wanted.within("created_at"), **wanted.whose())
    return rows.select_related("agent", "account").order_by("-created_at", "pk")


def _acts(wanted: AuditFilter) -> QuerySet[LogEntry]:
    rows = LogEntry.objects.filter(**wanted.within("action_time")).select_related("user", "content_type")
    if wanted.operator:
        rows = rows.filter(user=wanted.operator)
    if wanted.agent or wanted.claim:
        about = Q()
        for model, some in _subjects(wanted).items():
            text = isinstance(model._meta.pk, type(Elicitation._meta.pk))
            names: Any = some.values("pk") if text else [str(row.pk) for row in some]
            about |= Q(content_type=ContentType.objects.get_for_model(model), object_id__in=names)
        rows = rows.filter(about)
    return rows.order_by("-pk")  # as the numbers rise, and there is no index by time


def _subjects(wanted: AuditFilter) -> dict[type[Model], QuerySet[Any]]:
    """What belongs to the person and the agent."""
    whose = wanted.whose()
    found: dict[type[Model], QuerySet[Any]] = {
        model: model._default_manager.filter(**whose)
        for model in (Elicitation, Connection, Payment, Subscription, Mandate, Authorization)
    }
    if wanted.claim is None:
        found[Delivery] = Delivery.objects.filter(**whose)
        found[Agent] = Agent.objects.filter(pk=wanted.agent.pk) if wanted.agent else Agent.objects.none()
    else:
        found[Delivery] = Delivery.objects.filter(**wanted.whose("event__elicitation__"))
        member = local_accounts.of(wanted.claim)
        found[Member] = Member.objects.filter(pk=member.pk) if member else Member.objects.none()
    return found


def _of_connection(row: Connection) -> Line:
    name = row.provider.name if row.provider else _("Typed by the person")
    more = (row.account_label, row.get_status_display())
    return Line(row.created_at, name, admin_url(row), row.agent.name, row.sub, row.pk, more)


def _of_use(row: ConnectionUse) -> Line:
    of = row.connection
    action = Action(row.action)
    more: list[Any] = [of.provider.name if of.provider else "", of.account_label]
    if action == Action.REVOKED:
        more.append(ACTORS[ConnectionUse.Actor(row.actor)])
    return Line(row.last_at, ACTIONS[action], admin_url(of), of.agent.name, of.sub, of.pk, tuple(more))


def _use_values(row: ConnectionUse) -> tuple[Any, ...]:
    of = row.connection
    slug = of.provider.slug if of.provider else ""
    return (
        row.first_at, row.last_at, row.action, row.actor, row.count, of.pk, of.agent.slug, of.iss, of.sub, slug,
        of.account_id, of.account_label,
    )  # fmt: skip


def _of_confirm(row: Elicitation) -> Line:
    said = request_page.STANDS[row.status][0] if row.status != Status.COMPLETED else _("Said yes")
    at = row.finished_at or row.created_at
    return Line(at, said, request_page.url_of(row), row.agent.name, row.sub, row.pk, (row.message,))


def _confirm_values(row: Elicitation) -> tuple[Any, ...]:
    return (row.pk, row.finished_at, row.created_at, row.agent.slug, row.iss, row.sub, row.status, row.message)


def _of_payment(row: Payment) -> Line:
    more = (row.get_status_display(), row.description)
    url = admin_url(row)
    return Line(row.created_at, "", url, row.agent.name, row.sub, row.pk, more, money=(row.amount, row.currency))


def _payment_values(row: Payment) -> tuple[Any, ...]:
    return (
        row.pk, row.created_at, row.paid_at, row.agent.slug, row.account.slug, row.account.livemode, row.iss, row.sub,
        row.mode, row.amount, row.currency, row.status, row.refunded, row.disputed, row.payment_ref, row.description,
    )  # fmt: skip


def _of_act(row: LogEntry) -> Line:
    what = row.content_type.name if row.content_type else ""
    if row.content_type and row.content_type.model_class() is Elicitation and row.object_id:
        url: str | None = request_page.url_of(row.object_id)
    else:
        url = row.get_admin_url()
    return Line(row.action_time, row.get_change_message(), url, row.user.get_username(), more=(what, row.object_repr))


def _act_values(row: LogEntry) -> tuple[Any, ...]:
    about = row.content_type.model if row.content_type else ""
    return (row.action_time, row.user.get_username(), row.get_change_message(), about, row.object_id, row.object_repr)


_USE_COLUMNS = (
    "first_at", "last_at", "action", "by", "times", "connection", "agent", "iss", "sub", "provider", "account_id",
    "account_label",
)  # fmt: skip
AUDIT_LISTS: dict[str, AuditList] = {
    "acts": AuditList(
        _("What operators did"), _acts, ("at", "operator", "what", "about", "about_id", "about_name"), _act_values,
        _of_act, by_operator=True,
    ),
    "made": AuditList(_("Connections made"), _made, EXPORT_COLUMNS, csv_values, _of_connection),
    "live": AuditList(_("Connections live in this period"), _live, EXPORT_COLUMNS, csv_values, _of_connection),
    "used": AuditList(
        _("Connections used"), _uses(Action.FETCHED, Action.OPENED), _USE_COLUMNS, _use_values, _of_use
    ),
    "ended": AuditList(
        _("Connections ended"), _uses(Action.REVOKED, Action.LAPSED), _USE_COLUMNS, _use_values, _of_use
    ),
    "confirms": AuditList(
        _("Confirmations answered"), _confirms,
        ("id", "answered_at", "asked_at", "agent", "iss", "sub", "status", "message"), _confirm_values, _of_confirm,
    ),
    "payments": AuditList(
        _("Payments"), _payments,
        ("id", "created_at", "paid_at", "agent", "account", "livemode", "iss", "sub", "mode", "amount", "currency",
         "status", "refunded", "dispute", "payment_ref", "description"), _payment_values, _of_payment,
    ),
}  # fmt: skip
