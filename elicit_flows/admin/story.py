"""The story of an elicitation in words: what happened to it and to its steps, oldest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model, Q
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from elicit_flows.admin.base import admin_url
from elicit_flows.events.publish import LIVE
from elicit_flows.lib import clock
from elicit_flows.models import (
    Attempt,
    Checkout,
    Connection,
    Delivery,
    Elicitation,
    Event,
    Notification,
    Payment,
    Refund,
)

MAX_ENTRIES = 200  # of one type
# What is said of an event, and what that means.
WORDS: dict[str, tuple[Any, Any]] = {
    "elicitation.created": (gettext_lazy("The agent asked"), gettext_lazy("The link was made.")),
    "elicitation.started": (
        gettext_lazy("The person began"),
        gettext_lazy("They opened the link, signed in as the person that it is for, and pressed the button."),
    ),
    "elicitation.settling": (gettext_lazy("The answer came back"), gettext_lazy("It is being processed.")),
    "elicitation.completed": (pgettext_lazy("request", "Completed"), gettext_lazy("The agent has what it asked for.")),
    "elicitation.declined": (gettext_lazy("The person said no"), gettext_lazy("Nothing was shared.")),
    "elicitation.cancelled": (pgettext_lazy("request", "Cancelled"), gettext_lazy("By its agent, or by an operator.")),
    "elicitation.expired": (gettext_lazy("Expired"), gettext_lazy("Nobody finished in time.")),
    "elicitation.failed": (gettext_lazy("Failed"), ""),
    "elicitation.refused": (
        gettext_lazy("Somebody else was refused"),
        gettext_lazy("They were signed in as another person, and tried to use the link."),
    ),
    "payment.refunded": (gettext_lazy("Money was refunded"), ""),
    "payment.refund_failed": (gettext_lazy("A refund failed"), ""),
    "payment.disputed": (
        gettext_lazy("The payment is disputed"),
        gettext_lazy("The payer disputes it at their bank, or the dispute ended."),
    ),
    "payment.mismatch": (
        gettext_lazy("The payment does not fit"),
        gettext_lazy("The amount or the currency that was paid is not what was requested."),
    ),
}
AGAIN = (
    gettext_lazy("It went on"),
    gettext_lazy("With its next step, or once more after the other side had not answered."),
)
BAD = (".failed", ".refused", ".mismatch", ".refund_failed", ".disputed")


@dataclass(frozen=True, slots=True)
class Entry:
    """``bad``: something that went wrong, which the page marks. ``url``: the page with the details."""

    at: datetime
    what: str
    meaning: str = ""
    url: str = field(default="", compare=False)
    bad: bool = False


def events_of(row: Elicitation) -> list[Event]:
    """What its agent was told of it, oldest first."""
    found = Event.objects.filter(elicitation=row).exclude(type__in=LIVE).defer("data").order_by("position")
    return list(found[:MAX_ENTRIES])


def deliveries_of(events: Iterable[Event]) -> list[Delivery]:
    found = Delivery.objects.filter(event__in=[event.pk for event in events]).select_related("event", "agent")
    return list(found.defer("event__data").order_by("created_at")[:MAX_ENTRIES])


def connections_of(rows: Iterable[Elicitation]) -> list[Connection]:
    """The connections that an elicitation and its steps made."""
    made = [(row.result or {}).get("connection") for row in rows]
    wanted = [name for name in made if isinstance(name, str)]
    found = Connection.objects.filter(pk__in=wanted).select_related("provider", "agent")
    return list(found.defer("access_token", "refresh_token", "secrets").order_by("created_at"))


def tell(
    row: Elicitation, rows: list[Elicitation], events: list[Event], deliveries: list[Delivery], *, acts: bool
) -> list[Entry]:
    """``rows``: the elicitation ``row`` and its steps. ``acts``: also what operators did, from the audit log."""
    payments = list(Payment.objects.filter(elicitation__in=rows).order_by("created_at"))
    connections = connections_of(rows)
    told = [
        *_events(row, events), *_deliveries(deliveries), *_attempts(rows), *_payments(payments),
        *_connections(connections), *_notifications(row),
    ]  # fmt: skip
    if acts:
        told += _acts([row, *payments, *connections, *deliveries])
    if row.finished_at is None:
        told.append(Entry(row.expires_at, _("Expires"), _("Unless somebody finishes before.")))
    if row.consumed_at:
        told.append(Entry(row.consumed_at, _("The agent acted on the answer")))
    return sorted(told, key=lambda entry: entry.at)


def _events(row: Elicitation, events: list[Event]) -> Iterator[Entry]:
    begun = False
    for event in events:
        what, meaning = WORDS.get(event.type, (event.type, ""))
        if event.type == "elicitation.started":
            if begun:
                what, meaning = AGAIN
            begun = True
        elif event.type == "elicitation.failed":
            meaning = (row.error or {}).get("message") or meaning
        yield Entry(event.created_at, str(what), str(meaning), admin_url(event), bad=event.type.endswith(BAD))
    # The events of old elicitations are purged.
    if not any(event.type == "elicitation.created" for event in events):
        what, meaning = WORDS["elicitation.created"]
        yield Entry(row.created_at, str(what), str(meaning))


def _deliveries(rows: list[Delivery]) -> Iterator[Entry]:
    for row in rows:
        url, about = admin_url(row), {"type": row.event.type}
        for attempt in row.log:
            status = attempt.get("status")
            values = {**about, "status": status or _("no answer"), "ms": attempt.get("milliseconds")}
            what = _("Webhook “%(type)s”: %(status)s in %(ms)s ms") % values
            ok = 200 <= (status or 0) < 300
            meaning = _("The agent's endpoint accepted it.") if ok else attempt.get("note")
            meaning = meaning or _("The agent's endpoint did not accept it.")
            yield Entry(parse_datetime(attempt["at"]) or row.created_at, what, meaning, url, bad=not ok)
        if row.status == Delivery.Status.PENDING and row.next_at > clock.now():
            yield Entry(row.next_at, _("Webhook “%(type)s”: next try") % about, "", url)


def _attempts(rows: list[Elicitation]) -> Iterator[Entry]:
    """The person's visits to an outside page, such as a provider's consent page."""
    kinds, words = {row.pk: row.kind for row in rows}, dict(Elicitation.Kind.choices)
    found = Attempt.objects.filter(elicitation__in=rows).defer("stash").order_by("created_at")[:MAX_ENTRIES]
    for attempt in found:
        context = attempt.context or kinds[attempt.elicitation_id]
        where = {"where": words.get(context, context)}  # of a kind without a provider or account, the kind
        meaning = _("The person was sent to another page, or got a code to type there.")
        yield Entry(attempt.created_at, _("Sent to %(where)s") % where, meaning)
        if attempt.used_at:
            yield Entry(attempt.used_at, _("Back from %(where)s, or started over") % where)
        elif attempt.expires_at <= clock.now():
            what = _("Not back from %(where)s in time") % where
            meaning = _("The person can start over as long as the link is open.")
            yield Entry(attempt.expires_at, what, meaning, bad=True)


def _payments(payments: list[Payment]) -> Iterator[Entry]:
    urls = {payment.pk: admin_url(payment) for payment in payments}
    for checkout in Checkout.objects.filter(payment__in=payments).defer("url").order_by("created_at")[:MAX_ENTRIES]:
        meaning = _("It is now: %(status)s.") % {"status": checkout.get_status_display()}
        yield Entry(checkout.created_at, _("A checkout page was made"), meaning, urls[checkout.payment_id])
    for payment in payments:
        if payment.paid_at:
            yield Entry(payment.paid_at, _("Paid"), _("The provider confirmed it."), urls[payment.pk])
    for refund in Refund.objects.filter(payment__in=payments).order_by("created_at")[:MAX_ENTRIES]:
        values = {"by": refund.get_by_display(), "status": refund.get_status_display()}
        meaning = _("Requested by: %(by)s. It is now: %(status)s.") % values
        failed = refund.status == Refund.Status.FAILED
        yield Entry(refund.created_at, _("A refund was requested"), meaning, admin_url(refund), bad=failed)


def _connections(rows: list[Connection]) -> Iterator[Entry]:
    """The connections that were made, and what became of them."""
    for row in rows:
        status = {"status": row.get_status_display()}
        moments: list[tuple[datetime | None, str, str]] = [
            (row.created_at, _("Connected"), _("It is now: %(status)s.") % status),
            (row.last_used_at, _("The agent last used the connection"), _("To the minute.")),
            (row.revoked_at, _("The connection was ended"), _("It gives no tokens any more.")),
        ]
        for at, what, meaning in moments:
            if at:
                yield Entry(at, what, meaning, admin_url(row))


def _notifications(row: Elicitation) -> Iterator[Entry]:
    """The messages to the person. Neither the agent nor anybody else is told what became of them."""
    bad = {Notification.Outcome.REFUSED, Notification.Outcome.FAILED, Notification.Outcome.UNKNOWN}
    for one in row.notifications.order_by("created_at"):
        said = {"channel": one.get_channel_display(), "outcome": one.get_outcome_display() or _("Waiting")}
        what = _("Message to the person, %(channel)s: %(outcome)s") % said
        yield Entry(one.done_at or one.created_at, what, bad=one.outcome in bad)


def _acts(rows: list[Any]) -> Iterator[Entry]:
    """What operators did to these rows."""
    by_model: dict[type[Model], list[str]] = {}
    for row in rows:
        by_model.setdefault(type(row), []).append(str(row.pk))
    about = Q()
    for model, names in by_model.items():
        about |= Q(content_type=ContentType.objects.get_for_model(model), object_id__in=names)
    for one in LogEntry.objects.filter(about).select_related("user").order_by("-pk")[:MAX_ENTRIES]:
        said = {"operator": one.user.get_username()}
        yield Entry(one.action_time, _("Operator %(operator)s") % said, one.get_change_message(), admin_url(one))
