"""A month of grants, for whoever audits: what was connected in it, by whom, for which agent, and what became of it."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib.admin import AdminSite
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _

from elicit_flows.admin.export import cells
from elicit_flows.admin.noting import note_on
from elicit_flows.admin.roles import EXPORT, SEE_PEOPLE, may
from elicit_flows.lib import clock
from elicit_flows.models import Connection

MONTHS = 36  # offered
COLUMNS = (
    "connection", "granted_at", "agent", "iss", "sub", "provider", "account_id", "account_label", "scopes", "status",
    "last_used_at", "expires_at", "revoked_at", "provider_told",
)  # fmt: skip


def page(site: AdminSite, request: HttpRequest) -> HttpResponse | StreamingHttpResponse:
    """Choose a month; sent, it is a file. By POST, as what is noted."""
    if not (may(request, EXPORT) and may(request, SEE_PEOPLE)):
        raise PermissionDenied
    months = _months()
    month = request.POST.get("month")
    if month in months:
        rows = _granted_in(month)
        note_on(request.user, Connection, f"Exported the grants of {month}: {rows.count()} rows.", None, month)
        answer = StreamingHttpResponse(_lines(rows), content_type="text/csv; charset=utf-8")
        answer["Content-Disposition"] = f'attachment; filename="grants-{month}.csv"'
        return answer
    known = {**site.each_context(request), "title": _("Grants of a month"), "months": months, "columns": COLUMNS}
    return TemplateResponse(request, "admin/room/grants.html", known)


def _months() -> list[str]:
    """2026-11, 2026-10, …"""
    now = clock.now()
    numbers = range(now.year * 12 + now.month - 1, now.year * 12 + now.month - 1 - MONTHS, -1)
    return [f"{number // 12}-{number % 12 + 1:02}" for number in numbers]


def _granted_in(month: str) -> Any:
    start = datetime.strptime(month, "%Y-%m").replace(tzinfo=UTC)
    end = (start + timedelta(days=31)).replace(day=1)
    rows = Connection.objects.filter(created_at__gte=start, created_at__lt=end).select_related("agent", "provider")
    return rows.defer("access_token", "refresh_token", "secrets").order_by("created_at", "pk")


def _lines(rows: Any) -> Iterator[str]:
    writer = csv.writer(_Echo(), quoting=csv.QUOTE_ALL)
    yield writer.writerow(COLUMNS)
    for row in rows.iterator(chunk_size=500):
        yield writer.writerow(cells(_row(row)))


class _Echo:
    """What ``csv`` writes to, so that a line is given back."""

    def write(self, line: str) -> str:
        return line


def _row(row: Connection) -> tuple[Any, ...]:
    return (
        row.pk, row.created_at, row.agent.slug, row.iss, row.sub, row.provider.slug if row.provider else "",
        row.account_id, row.account_label, " ".join(row.scopes), row.status, row.last_used_at, row.expires_at,
        row.revoked_at, row.upstream,
    )  # fmt: skip
