"""The audit page: search what happened in a period, and download it as a signed file."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any
from urllib.parse import urlencode

from django.contrib.admin import AdminSite
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _

from elicit_flows.admin import persons
from elicit_flows.admin.audit_lists import AUDIT_LISTS, AuditFilter, AuditList
from elicit_flows.admin.base import MAX_CSV_ROWS, read_period, signed_csv
from elicit_flows.admin.roles import EXPORT, SEE_PEOPLE, may
from elicit_flows.domain.values import Claim
from elicit_flows.lib import clock
from elicit_flows.models import Agent

SIZE = 50
MAX_COUNT = 1000  # rows are counted up to here, since counting millions of rows would make the page slow
NAMES = ("what", "person", "agent", "operator", "since", "until")


@dataclass(frozen=True, slots=True)
class Asked:
    """What the address, or the form, asks for. ``person``: a row of theirs, since no address may name a person."""

    what: str
    since: date
    until: date
    person: str
    claim: Claim | None
    agent: Agent | None
    operator: User | None

    @property
    def list(self) -> AuditList:
        return AUDIT_LISTS[self.what]

    @property
    def wanted(self) -> AuditFilter:
        end = clock.midnight(self.until) + timedelta(days=1)
        return AuditFilter(clock.midnight(self.since), end, self.claim, self.agent, self.operator)

    def address(self, **changed: object) -> str:
        said = {
            "what": self.what, "since": self.since, "until": self.until, "person": self.person,
            "agent": self.agent.slug if self.agent else "", "operator": self.operator.pk if self.operator else "",
        }  # fmt: skip
        return f"?{urlencode({name: value for name, value in {**said, **changed}.items() if value})}"


def page(site: AdminSite, request: HttpRequest) -> HttpResponse:
    """Filtered by POST, which leads to an address without the person's name; a download is the answer to the POST."""
    if not (may(request, SEE_PEOPLE) and site.get_model_admin(LogEntry).has_view_permission(request)):
        raise PermissionDenied
    given = (request.POST if request.method == "POST" else request.GET).dict()
    problem = ""
    if request.method == "POST":
        given["person"], problem = _person(given.get("who", "").strip())
    asked, wrong = _read(given)
    problem = problem or wrong
    if request.method == "POST" and not problem:
        if not request.POST.get("download"):
            return HttpResponseRedirect(f"{reverse('admin:audit')}{asked.address()}")
        if not may(request, EXPORT):
            raise PermissionDenied
        rows = list(asked.list.rows(asked.wanted)[: MAX_CSV_ROWS + 1])
        if len(rows) <= MAX_CSV_ROWS:
            named = f"{asked.what}-{asked.since}-{asked.until}"
            said = f"Exported the audit of {asked.since} to {asked.until}, {asked.what}"
            return signed_csv(request, LogEntry, named, said, asked.list.columns, map(asked.list.values, rows))
        problem = _("This period has more than %(most)d rows. Choose a shorter one.") % {"most": MAX_CSV_ROWS}
    who = given.get("who", "") if problem else (f"{asked.claim.iss} {asked.claim.sub}" if asked.claim else "")
    context = {**site.each_context(request), **_context(request, asked), "problem": problem, "who": who}
    return TemplateResponse(request, "admin/operators/audit.html", context)


def _context(request: HttpRequest, asked: Asked) -> dict[str, Any]:
    number = request.GET.get("page", "")
    place = int(number) if number.isdecimal() and 0 < len(number) < 5 else 1
    first = max(place - 1, 0) * SIZE
    rows = list(asked.list.rows(asked.wanted)[first : first + SIZE + 1])
    lists: list[dict[str, str]] = []
    for name, one in AUDIT_LISTS.items():
        count = one.rows(asked.wanted).order_by().values("pk")[: MAX_COUNT + 1].count()
        said = _("over %(most)d") % {"most": MAX_COUNT} if count > MAX_COUNT else str(count)
        lists.append({"name": name, "title": one.title, "count": said, "url": asked.address(what=name)})
    return {
        "title": _("Audit"),
        "page": "audit",
        "asked": asked,
        "lists": lists,
        "lines": [asked.list.line(row) for row in rows[:SIZE]],
        "more": asked.address(page=place + 1) if len(rows) > SIZE else "",
        "start": asked.address() if place > 1 else "",
        "agents": Agent.objects.order_by("slug").only("slug", "name"),
        "operators": User.objects.filter(is_staff=True).order_by("username").only("username"),
        "may_export": may(request, EXPORT),
    }


def _person(typed: str) -> tuple[str, str]:
    """A row of the person whose name was typed, and what is wrong with the name."""
    if not typed:
        return "", ""
    found = [name for name in map(persons.reference_to, persons.find(typed[:500])) if name]
    if len(found) > 1:
        return "", _("Several people were found. Type the issuer and the sub, with a space between them.")
    return (found[0], "") if found else ("", _("Nobody was found. Type the exact sub, or the name of an account."))


def _read(given: dict[str, str]) -> tuple[Asked, str]:
    """What is asked for, and what is wrong with it. What is wrong is left out."""
    since, until, problem = read_period(given)
    operator = given.get("operator", "")
    person = persons.row_of(given.get("person", ""))
    asked = Asked(
        given["what"] if given.get("what") in AUDIT_LISTS else next(iter(AUDIT_LISTS)), since, until,
        given.get("person", "") if person else "", persons.claim_of(person) if person else None,
        Agent.objects.filter(slug=given.get("agent", "")).first() if given.get("agent") else None,
        User.objects.filter(pk=int(operator)).first() if operator.isdecimal() and len(operator) < 10 else None,
    )  # fmt: skip
    return asked, problem
