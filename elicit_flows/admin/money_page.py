"""The page of money: what came, what went back and what needs a look, by account and agent, and a file of each line."""

from __future__ import annotations

from dataclasses import astuple, fields
from datetime import timedelta

from django.contrib.admin import AdminSite
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _

from elicit_flows.admin.base import MAX_CSV_ROWS, list_url, read_period, signed_csv
from elicit_flows.admin.roles import EXPORT, may
from elicit_flows.lib import clock
from elicit_flows.models import Agent, Payment, PaymentAccount
from elicit_flows.payments import bookkeeping
from elicit_flows.payments.bookkeeping import Entry, Period

VIEW = "elicit_flows.view_payment"


def page(site: AdminSite, request: HttpRequest) -> HttpResponse:
    """The period is in the address; a download is the answer to a POST, since the audit log notes it."""
    if not may(request, VIEW):
        raise PermissionDenied
    given = (request.POST if request.method == "POST" else request.GET).dict()
    since, until, problem = read_period(given)
    agent = Agent.objects.filter(slug=given.get("agent", "")).first() if given.get("agent") else None
    account = PaymentAccount.objects.filter(slug=given.get("account", "")).first() if given.get("account") else None
    period = Period(clock.midnight(since), clock.midnight(until) + timedelta(days=1), agent, account)
    if request.method == "POST" and not problem:
        if not may(request, EXPORT):
            raise PermissionDenied
        if period.charges().count() + period.renewals().count() + period.refunds().count() <= MAX_CSV_ROWS:
            columns = [one.name for one in fields(Entry)]
            rows = map(astuple, bookkeeping.entries(period))
            said = f"Exported the money of {since} to {until}"
            return signed_csv(request, Payment, f"money-{since}-{until}", said, columns, rows)
        problem = _("This period has more than %(most)d rows. Choose a shorter one.") % {"most": MAX_CSV_ROWS}
    context = {
        **site.each_context(request),
        "title": _("Money"),
        "page": "money",
        "since": since,
        "until": until,
        "agent": agent,
        "account": account,
        "problem": problem,
        "totals": bookkeeping.totals(period),
        "mismatches": list_url(Payment, status__exact="mismatch"),
        "agents": Agent.objects.order_by("slug").only("slug", "name"),
        "accounts": PaymentAccount.objects.order_by("slug").only("slug"),
        "may_export": may(request, EXPORT),
    }
    return TemplateResponse(request, "admin/operators/money.html", context)
