"""The page of one request: where it stands, its story, what its agent was told, what came of it, and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib.admin import AdminSite
from django.contrib.admin.models import LogEntry
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy

from elicit_flows import kinds
from elicit_flows.admin import row_actions, story
from elicit_flows.admin.base import admin_url
from elicit_flows.admin.roles import SEE_PEOPLE, may
from elicit_flows.admin.row_actions import RowAction
from elicit_flows.domain.status import Status
from elicit_flows.lib import clock
from elicit_flows.models import Connection, Delivery, Elicitation, Event, Payment

# Where it stands, in a word and in a sentence.
STANDS: dict[str, tuple[Any, Any]] = {
    Status.PENDING: (
        gettext_lazy("Waiting"),
        gettext_lazy(
            "The person has not pressed the button yet. If they say that they did, they may have been signed in as "
            "somebody else, which would be listed under “What happened”."
        ),
    ),
    Status.STARTED: (
        gettext_lazy("Begun"),
        gettext_lazy("The person has begun and has not finished. They can go on with the same link."),
    ),
    Status.SETTLING: (
        gettext_lazy("Being processed"),
        gettext_lazy("The answer came back and is being processed. That takes seconds, at most two minutes."),
    ),
    Status.COMPLETED: (pgettext_lazy("request", "Completed"), gettext_lazy("The agent has what it asked for.")),
    Status.DECLINED: (
        gettext_lazy("Declined"),
        gettext_lazy("The person said no. Nothing was shared. The agent can ask again."),
    ),
    Status.CANCELLED: (
        pgettext_lazy("request", "Cancelled"),
        gettext_lazy("Its agent or an operator withdrew it. The agent can ask again."),
    ),
    Status.EXPIRED: (
        gettext_lazy("Expired"),
        gettext_lazy("Nobody finished in time. Nothing was shared. The agent can ask again."),
    ),
    Status.FAILED: (gettext_lazy("Failed"), gettext_lazy("It failed for the reason below. The agent can ask again.")),
}
MODELS: dict[str, type[Model]] = {"cancel": Elicitation, "replay": Delivery, "revoke": Connection, "refund": Payment}


@dataclass(frozen=True, slots=True)
class Told:
    """What the agent was told: an event, and whether its webhook arrived."""

    event: Event
    url: str
    arrival: str
    bad: bool
    button: RowAction | None


def url_of(row: Elicitation | str) -> str:
    return reverse("admin:request", args=[row if isinstance(row, str) else row.pk])


def page(site: AdminSite, request: HttpRequest, pk: str) -> HttpResponse:
    if not site.get_model_admin(Elicitation).has_view_permission(request):
        raise PermissionDenied
    row = Elicitation.objects.select_related("agent", "parent").defer("metadata").filter(pk=pk).first()
    if row is None:
        raise Http404
    if row.parent is not None:  # its agent and its link know the whole only
        return HttpResponseRedirect(url_of(row.parent))
    rows = [row, *row.steps.defer("metadata").order_by("place")]
    if request.method == "POST":
        row_actions.perform(site, request, request.POST.get("action", ""), _chosen(request, row, rows))
        return HttpResponseRedirect(f"{url_of(row)}#main")
    return TemplateResponse(request, "admin/operators/request.html", _context(site, request, row, rows))


def _chosen(request: HttpRequest, row: Elicitation, rows: list[Elicitation]) -> QuerySet[Any]:
    """The row that the pressed button named, if it belongs to this request."""
    belonging: dict[str, QuerySet[Any]] = {
        "cancel": Elicitation.objects.filter(pk=row.pk),
        "replay": Delivery.objects.filter(event__elicitation=row),
        "revoke": Connection.objects.filter(pk__in=[one.pk for one in story.connections_of(rows)]),
        "refund": Payment.objects.filter(elicitation__in=rows),
    }
    found = belonging.get(request.POST.get("action", ""))
    if found is None:
        raise Http404
    return found.filter(pk=request.POST.get("row", ""))


def _context(site: AdminSite, request: HttpRequest, row: Elicitation, rows: list[Elicitation]) -> dict[str, Any]:
    may_do = {action: row_actions.allowed(site, request, model, action) for action, model in MODELS.items()}
    events = story.events_of(row)
    deliveries = story.deliveries_of(events)
    acts = site.get_model_admin(LogEntry).has_view_permission(request)
    status, stands = STANDS[row.status]
    warning = _("Nobody can answer it any more, and its agent is told.")
    cancel = RowAction("cancel", row.pk, _("Cancel the request"), warning=warning)
    keys = ((one, kinds.get(one.kind).context) for one in rows if one.kind in kinds.REGISTRY)
    through = [one.params.get(key) for one, key in keys if key]  # providers and payment accounts
    return {
        **site.each_context(request),
        "title": _("Request of %(agent)s") % {"agent": row.agent.name},
        "row": row,
        "steps": rows[1:],
        "through": ", ".join(dict.fromkeys(name for name in through if isinstance(name, str))),
        "status": status,
        "stands": stands,
        "open": not row.over,
        "now": clock.now(),
        "agent_url": admin_url(row.agent),
        "fields_url": admin_url(row),
        "sees_people": may(request, SEE_PEOPLE),
        "story": story.tell(row, rows, events, deliveries, acts=acts),
        "told": [_told(event, deliveries, replay=may_do["replay"]) for event in events],
        "results": [*_connections(rows, revoke=may_do["revoke"]), *_payments(rows, refund=may_do["refund"])],
        "cancel": cancel if may_do["cancel"] and not row.over else None,
    }


def _told(event: Event, deliveries: list[Delivery], *, replay: bool) -> Told:
    row = next((one for one in deliveries if one.event_id == event.pk), None)
    if row is None:
        said = _("No webhook was sent: the agent had no endpoint that took any. It can read this in its feed.")
        return Told(event, admin_url(event), said, bad=False, button=None)
    button = (
        RowAction("replay", row.pk, _("Send it again"), about=event.type) if replay and row.agent.webhook_url else None
    )
    return Told(event, admin_url(row), _arrival(row), bad=row.status == Delivery.Status.FAILED, button=button)


def _arrival(row: Delivery) -> str:
    last = (row.log[-1].get("status") or _("no answer")) if row.log else ""
    values = {"count": row.tries, "last": last, "at": f"{row.next_at:%Y-%m-%d %H:%M:%S} UTC"}
    if row.status == Delivery.Status.DELIVERED:
        said = ngettext("It arrived, at the first try.", "It arrived, after %(count)d tries.", row.tries)
    elif row.status == Delivery.Status.FAILED:
        said = ngettext(
            "Given up after %(count)d try. Last answer: %(last)s.",
            "Given up after %(count)d tries. Last answer: %(last)s.",
            row.tries,
        )
    elif row.agent.webhook_disabled_at is not None:
        said = _("It waits: the webhooks of this agent were stopped, because its endpoint answered 410 Gone.")
    elif row.tries:
        said = ngettext(
            "Not yet: %(count)d try failed. Last answer: %(last)s. Next try: %(at)s.",
            "Not yet: %(count)d tries failed. Last answer: %(last)s. Next try: %(at)s.",
            row.tries,
        )
    else:
        said = _("It is being sent.")
    return said % values


def _connections(rows: list[Elicitation], *, revoke: bool) -> list[dict[str, Any]]:
    found = []
    for row in story.connections_of(rows):
        name = row.provider.name if row.provider else _("What the person typed")
        live = row.status != Connection.Status.REVOKED
        warning = _("The agent loses its access at once, and the provider is told. The agent can ask again.")
        button = RowAction("revoke", row.pk, _("Disconnect"), about=name, warning=warning) if revoke and live else None
        found.append({
            "name": name, "url": admin_url(row), "account": row.account_label, "status": row.get_status_display(),
            "button": button,
        })  # fmt: skip
    return found


def _payments(rows: list[Elicitation], *, refund: bool) -> list[dict[str, Any]]:
    found = []
    paid = Payment.objects.filter(elicitation__in=rows).select_related("account").order_by("created_at")
    for row in paid:
        warning = _("What is left of the payment goes back to the person. It cannot be taken back.")
        button = RowAction("refund", row.pk, _("Refund what is left"), warning=warning)
        came = row.status in (Payment.Status.PAID, Payment.Status.MISMATCH)
        left = came and row.payment_ref and row.refunded < row.amount
        found.append({
            "name": _("Payment through %(account)s") % {"account": row.account.slug}, "url": admin_url(row),
            "amount": row.amount, "currency": row.currency, "account": "", "problem": row.problem,
            "status": row.get_status_display(), "button": button if refund and left else None,
        })  # fmt: skip
    return found
