"""The story of one elicitation: everything that happened to it, in order, each with what it means."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from elicit_flows.admin.links import page_of
from elicit_flows.lib import clock
from elicit_flows.models import Attempt, Checkout, Connection, Delivery, Elicitation, Event, Payment, Refund

MOST = 200  # of a sort

_EVENTS = {
    "elicitation.created": gettext_lazy("The agent asked. The link is out; nobody has acted."),
    "elicitation.started": gettext_lazy("The right person pressed the button."),
    "elicitation.settling": gettext_lazy("The answer came back and is being worked on."),
    "elicitation.completed": gettext_lazy("Done: the agent has what it asked for."),
    "elicitation.declined": gettext_lazy("The person said no."),
    "elicitation.cancelled": gettext_lazy("The agent took the question back."),
    "elicitation.expired": gettext_lazy("Its time was up before anybody finished."),
    "elicitation.failed": gettext_lazy("It failed, for the reason under “error”."),
    "elicitation.refused": gettext_lazy("Somebody else, signed in, tried to use the link and was refused."),
    "elicitation.draft": gettext_lazy("An answer was written to the form."),
    "payment.refunded": gettext_lazy("Money went back."),
    "payment.refund_failed": gettext_lazy("Money could not be given back."),
    "payment.disputed": gettext_lazy("The payer takes the money back through their bank, or that ended."),
    "payment.mismatch": gettext_lazy("Money came otherwise than it was asked for."),
}


@dataclass(frozen=True, slots=True)
class Moment:
    """``bad``: it is what somebody looks for who asks why this went wrong."""

    at: datetime
    what: str
    meaning: str = ""
    url: str = field(default="", compare=False)
    bad: bool = False


def of(row: Elicitation) -> list[Moment]:
    """Oldest first. A step's story is told with the whole's."""
    rows = [row, *row.steps.order_by("place")] if row.kind == "steps" else [row]
    events = list(Event.objects.filter(elicitation=row.head).defer("data").order_by("position")[:MOST])
    found = [*_created(row, events), *_events(events), *_deliveries(events), *_end(row)]
    for one in rows:
        found += [*_attempts(one), *_money(one), *_connection(one)]
    return sorted((one for one in found if one.at), key=lambda one: one.at)


def _created(row: Elicitation, events: list[Event]) -> Iterator[Moment]:
    """Of what has no such event: a step, or one whose events are purged."""
    if not any(event.type == "elicitation.created" for event in events):
        yield Moment(row.created_at, _("created"))


def _events(events: list[Event]) -> Iterator[Moment]:
    for event in events:
        name = event.type.removeprefix("elicitation.")
        meaning = str(_EVENTS.get(event.type, ""))
        bad = event.type.endswith((".failed", ".refused", ".mismatch", ".refund_failed", ".disputed"))
        yield Moment(event.created_at, name, meaning, page_of(event), bad=bad)


def _deliveries(events: list[Event]) -> Iterator[Moment]:
    rows = Delivery.objects.filter(event__in=[event.pk for event in events]).select_related("event")
    for row in rows.defer("event__data").order_by("created_at")[:MOST]:
        for entry in row.log:
            yield _try(row, entry)
        if row.status == Delivery.Status.PENDING and row.next_at > clock.now():
            what = _("webhook for “%(type)s”: next try") % {"type": row.event.type}
            yield Moment(row.next_at, what, _("If the endpoint answers then."), page_of(row))


def _try(row: Delivery, entry: dict[str, Any]) -> Moment:
    said = {"type": row.event.type, "status": entry.get("status") or _("no answer"), "ms": entry.get("milliseconds")}
    ok = 200 <= (entry.get("status") or 0) < 300
    meaning = _("The agent was told.") if ok else entry.get("note") or _("The agent's endpoint did not take it.")
    what = _("webhook for “%(type)s”: %(status)s in %(ms)s ms") % said
    return Moment(parse_datetime(entry["at"]) or row.created_at, what, meaning, page_of(row), bad=not ok)


def _attempts(row: Elicitation) -> Iterator[Moment]:
    for one in Attempt.objects.filter(elicitation=row).defer("stash").order_by("created_at")[:MOST]:
        where = {"where": one.context or row.kind}
        yield Moment(
            one.created_at, _("sent to %(where)s") % where, _("A way there and back, or a code to enter there.")
        )
        if one.used_at:
            yield Moment(one.used_at, _("back from %(where)s, or started over") % where)
        elif one.expires_at <= clock.now():
            meaning = _("The person did not come back in time; the link itself may still be open.")
            yield Moment(one.expires_at, _("no way back from %(where)s any more") % where, meaning, bad=True)


def _money(row: Elicitation) -> Iterator[Moment]:
    paid = Payment.objects.filter(elicitation=row).first()
    if paid is None:
        return
    page = page_of(paid)
    for checkout in Checkout.objects.filter(payment=paid).defer("url").order_by("created_at")[:MOST]:
        yield Moment(checkout.created_at, _("payment page opened"), _("It is %(status)s now.")
                     % {"status": checkout.status}, page)  # fmt: skip
    if paid.paid_at:
        yield Moment(paid.paid_at, _("paid"), _("The provider says so."), page)
    for refund in Refund.objects.filter(payment=paid).order_by("created_at")[:MOST]:
        said = _("Asked for by: %(by)s. It is %(status)s now.") % {"by": refund.by, "status": refund.status}
        yield Moment(refund.created_at, _("refund"), said, page_of(refund), bad=refund.status == Refund.Status.FAILED)


def _connection(row: Elicitation) -> Iterator[Moment]:
    """What it made, and how that stands."""
    made = Connection.objects.filter(pk=(row.result or {}).get("connection") or "", agent=row.agent_id)
    for one in made.defer("access_token", "refresh_token", "secrets"):
        yield from _life(one)


def _life(row: Connection) -> Iterator[Moment]:
    page = page_of(row)
    moments: list[tuple[datetime | None, str, str]] = [
        (row.created_at, _("connection made"), _("It is %(status)s now.") % {"status": row.status}),
        (row.last_used_at, _("connection last used"), _("By its agent, to the minute.")),
        (row.revoked_at, _("connection revoked"), _("Nobody gets a token from it any more.")),
    ]
    yield from (Moment(at, what, meaning, page) for at, what, meaning in moments if at)


def _end(row: Elicitation) -> Iterator[Moment]:
    if row.finished_at is None:
        yield Moment(row.expires_at, _("its time is up"), _("If nobody finishes before."))
    if row.consumed_at:
        yield Moment(row.consumed_at, _("consumed"), _("The agent acted on the answer."))
