"""What agents asked, and how it stands. What they keep in metadata, and what came of it, is theirs."""

from __future__ import annotations

from typing import Any

from django.contrib.admin.utils import unquote
from django.http import HttpRequest, HttpResponse

from elicit_flows.admin import timeline
from elicit_flows.admin.export import Exported
from elicit_flows.lib import clock
from elicit_flows.models import Elicitation
from elicit_flows.values import Json


class ElicitationAdmin(Exported):
    change_form_template = "admin/elicit_flows/elicitation/change_form.html"
    personal = frozenset({"iss", "sub", "message", "params", "return_url"})
    list_display = ("id", "agent", "kind", "status", "sub", "created_at", "finished_at")
    list_filter = ("status", "kind", "agent", "created_at")
    list_select_related = ("agent",)
    search_fields = ("=id", "=sub")
    search_help_text = "An id or a user's sub, whole."
    ordering = ("-created_at",)
    fields = (
        "id", "agent", "kind", "status", "iss", "sub", "message", "params", "reused", "seq", "error", "return_url",
        "created_at", "expires_at", "settling_since", "finished_at", "consumed_at",
    )  # fmt: skip

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        row = self.get_object(request, unquote(object_id))
        story = timeline.of(row) if row and self.has_view_permission(request, row) else []
        context = {**(extra_context or {}), "story": story, "now": clock.now()}
        return super().change_view(request, object_id, form_url, context)

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
