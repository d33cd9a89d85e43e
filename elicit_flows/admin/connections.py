"""The admin page of connections: view, revoke, and export a month as CSV. Tokens are never loaded."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib import admin
from django.contrib.admin import AdminSite
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Case, QuerySet, Value, When
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from elicit_flows import vault
from elicit_flows.admin.audit_log import record_for_model
from elicit_flows.admin.base import ReadOnlyAdmin
from elicit_flows.admin.roles import EXPORT, SEE_PEOPLE, may
from elicit_flows.lib import clock
from elicit_flows.lib.csv_cells import csv_cells
from elicit_flows.lib.paging import in_pages
from elicit_flows.models import Connection

EXPORT_MONTHS = 36  # how many months the export page offers
EXPORT_COLUMNS = (
    "connection", "granted_at", "agent", "iss", "sub", "provider", "account_id", "account_label", "scopes", "status",
    "last_used_at", "expires_at", "revoked_at", "provider_told",
)  # fmt: skip
SECRETS = ("access_token", "refresh_token", "secrets")


class RefreshFilter(admin.SimpleListFilter):
    """Connections whose last refresh failed because the provider did not answer."""

    title = _("refresh")
    parameter_name = "refresh"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("waits", _("Waits for its provider"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[vault.Connection]) -> QuerySet[vault.Connection]:
        if self.value() != "waits":
            return queryset
        return queryset.filter(refresh_failures__gt=0, status=vault.Connection.Status.ACTIVE)


class ConnectionAdmin(ReadOnlyAdmin):
    change_form_template = "admin/change_form_of_person.html"
    personal = frozenset({"iss", "sub", "account_id", "account_label"})
    list_display = ("status", "health", "provider", "agent", "sub", "account_label", "upstream", "created_at", "id")
    list_display_links = ("status", "id")
    list_filter = ("status", RefreshFilter, "upstream", "provider", "agent", "created_at")
    search_fields = ("=id", "=sub", "=account_id")
    search_help_text = _(
        "The complete ID of a connection, the complete sub of a user or the complete ID of an account."
    )
    ordering = ("-created_at",)
    actions = ("revoke",)
    fields = (
        "id", "agent", "provider", "iss", "sub", "account_id", "account_label", "scopes", "status", "own_client",
        "token_type", "generation", "created_at", "issued_at", "expires_at", "last_used_at", "revoked_at",
        "health", "last_refresh_error", "refresh_failures", "refresh_refusals", "refused_since", "refresh_started_at",
        "refresh_due_at", "upstream", "upstream_tries", "upstream_next_at",
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> Any:
        rows = super().get_queryset(request).select_related("agent", "provider")
        # Whether there is a refresh token, without loading it.
        rows = rows.annotate(refreshable=Case(When(refresh_token="", then=Value(False)), default=Value(True)))
        return rows.defer(*SECRETS)

    @admin.display(description=_("Health"))
    def health(self, row: vault.Connection) -> str:
        refreshable: bool = getattr(row, "refreshable")  # noqa: B009  annotated above
        return row.health_if(refreshable or row.own_client)

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return may(request, "elicit_flows.change_connection")

    @admin.action(description=_("Revoke"), permissions=["revoke"])
    def revoke(self, request: HttpRequest, rows: QuerySet[vault.Connection]) -> None:
        """Agents lose the connections at once. The worker revokes the grants at the providers."""
        count = 0
        for row in rows:
            with transaction.atomic():
                # Its person, or another operator, may have ended it since the rows were read.
                if vault.revoke(row, vault.ConnectionUse.Actor.OPERATOR):
                    self.log_change(request, row, "Revoked.")
                    count += 1
        said = ngettext("%(count)d connection was revoked.", "%(count)d connections were revoked.", count)
        self.message_user(request, said % {"count": count})


def export_page(site: AdminSite, request: HttpRequest) -> HttpResponse | StreamingHttpResponse:
    """GET: choose a month. POST: download the connections that were made in it; the audit log notes the download."""
    if not (may(request, EXPORT) and may(request, SEE_PEOPLE)):
        raise PermissionDenied
    this_month = clock.now().year * 12 + clock.now().month - 1
    numbers = range(this_month, this_month - EXPORT_MONTHS, -1)
    months = [f"{number // 12}-{number % 12 + 1:02}" for number in numbers]
    month = request.POST.get("month")
    if month in months:
        start = datetime.strptime(month, "%Y-%m").replace(tzinfo=UTC)
        end = (start + timedelta(days=31)).replace(day=1)
        rows = Connection.objects.filter(created_at__gte=start, created_at__lt=end).select_related("agent", "provider")
        rows = rows.defer(*SECRETS)
        record_for_model(request.user, Connection, f"Exported the grants of {month}: {rows.count()} rows.", None, month)
        response = StreamingHttpResponse(_csv_lines(rows), content_type="text/csv; charset=utf-8")
        response["Content-Disposition"] = f'attachment; filename="grants-{month}.csv"'
        return response
    title = _("Connections of a month")
    context = {**site.each_context(request), "title": title, "months": months, "columns": EXPORT_COLUMNS}
    return TemplateResponse(request, "admin/operators/grants.html", context)


class _LineWriter:
    """A file for ``csv.writer`` that returns each line instead of storing it."""

    def write(self, line: str) -> str:
        return line


def _csv_lines(rows: QuerySet[Connection]) -> Iterator[str]:
    """Line by line, since a month may have more rows than fit in memory."""
    writer = csv.writer(_LineWriter(), quoting=csv.QUOTE_ALL)
    yield writer.writerow(EXPORT_COLUMNS)
    for row in in_pages(rows, "created_at"):
        yield writer.writerow(csv_cells(csv_values(row)))


def csv_values(row: Connection) -> tuple[Any, ...]:
    """The values of EXPORT_COLUMNS."""
    return (
        row.pk, row.created_at, row.agent.slug, row.iss, row.sub, row.provider.slug if row.provider else "",
        row.account_id, row.account_label, " ".join(row.scopes), row.status, row.last_used_at, row.expires_at,
        row.revoked_at, row.upstream,
    )  # fmt: skip
