"""The admin page of elicitations: all their fields, cancel, and export. What happened is told by ``request_page``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.views.main import ChangeList
from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from elicit_flows.admin.base import ExportAdmin
from elicit_flows.admin.request_page import STANDS
from elicit_flows.admin.roles import may
from elicit_flows.domain.errors import AlreadyOver
from elicit_flows.domain.values import Json
from elicit_flows.elicitations import outcomes
from elicit_flows.models import Elicitation


class RequestList(ChangeList):
    """Its links lead to the story, and that to all the fields."""

    def url_for_result(self, result: Model) -> str:
        return reverse("admin:request", args=[result.pk])


class StatusFilter(admin.AllValuesFieldListFilter):
    """The statuses in words, as on the page of a request."""

    def choices(self, changelist: Any) -> Iterator[Any]:
        for one in super().choices(changelist):
            yield dict(one) | {"display": _in_words(str(one["display"]))}


def _in_words(status: str) -> str:
    return str(STANDS[status][0]) if status in STANDS else status


class ElicitationAdmin(ExportAdmin):
    """Metadata and results belong to the agents, so they are never loaded."""

    change_form_template = "admin/elicit_flows/elicitation/change_form.html"
    personal = frozenset({"iss", "sub", "message", "params", "return_url"})
    list_display = ("stands", "agent", "kind", "sub", "created_at", "finished_at", "id")
    list_display_links = ("stands", "id")
    list_filter = (("status", StatusFilter), "kind", "agent", "created_at")
    list_select_related = ("agent",)
    search_fields = ("=id", "=sub")
    search_help_text = gettext_lazy("The complete ID, or the complete sub of a user.")
    ordering = ("-created_at",)
    actions: Sequence[str] = ("cancel", *ExportAdmin.actions)
    fields = (
        "id", "agent", "kind", "stands", "iss", "sub", "message", "params", "reused", "seq", "error", "return_url",
        "created_at", "expires_at", "settling_since", "finished_at", "consumed_at",
    )  # fmt: skip

    readonly_fields = ("stands",)

    @admin.display(description=gettext_lazy("status"), ordering="status")
    def stands(self, row: Elicitation) -> str:
        return _in_words(row.status)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return RequestList

    def has_cancel_permission(self, request: HttpRequest) -> bool:
        return may(request, "elicit_flows.change_elicitation")

    @admin.action(description=gettext_lazy("Cancel"), permissions=["cancel"])
    def cancel(self, request: HttpRequest, rows: QuerySet[Elicitation]) -> None:
        """Nobody can answer it any more, and its agent is told. What has ended stays as it is."""
        cancelled = 0
        for row in rows.select_related("parent__agent"):
            whole = row.head
            with suppress(AlreadyOver), transaction.atomic():
                if whole.over:
                    continue
                outcomes.cancel(whole)
                self.log_change(request, whole, "Cancelled.")
                cancelled += 1
        said = ngettext("%(count)d request was cancelled.", "%(count)d requests were cancelled.", cancelled)
        self.message_user(request, said % {"count": cancelled})
        if cancelled < len(rows):
            self.message_user(request, _("The others had ended already."), messages.WARNING)

    def row(self, row: Elicitation) -> Json:
        return {
            "id": row.pk,
            "agent": row.agent.slug,
            "kind": row.kind,
            "status": row.status,
            "iss": row.iss,
            "sub": row.sub,
            "error": (row.error or {}).get("code"),
            "created_at": row.created_at,
            "expires_at": row.expires_at,
            "finished_at": row.finished_at,
        }

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).select_related("agent").defer("metadata", "result")
