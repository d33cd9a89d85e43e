"""The admin page of messages to people: who asked, by which way and what became of it. No address and no text."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from elicit_flows.admin.base import ExportAdmin
from elicit_flows.domain.values import Json
from elicit_flows.models import Notification


class NotificationAdmin(ExportAdmin):
    change_form_template = "admin/change_form_of_person.html"
    personal = frozenset({"sub", "elicitation__sub", "charge__mandate__sub"})
    list_display = ("became", "channel", "agent", "sub", "tries", "created_at", "done_at", "id")
    list_display_links = ("became", "id")
    list_filter = ("outcome", "channel", "agent", "created_at")
    list_select_related = ("agent", "elicitation", "charge__mandate")
    search_fields = ("=id", "=elicitation__id", "=elicitation__sub", "=charge__id", "=charge__mandate__sub")
    search_help_text = _("The complete ID of a message, of its request or charge, or the complete sub of a user.")
    ordering = ("-created_at",)
    fields = ("id", "became", "channel", "agent", "elicitation", "charge", "sub", "tries", "created_at", "done_at")

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).defer("elicitation__params", "elicitation__result")

    @admin.display(description=_("outcome"), ordering="outcome")
    def became(self, row: Notification) -> Any:
        return row.get_outcome_display() if row.outcome else _("Waiting")

    @admin.display(description=_("user (sub)"), ordering="elicitation__sub")
    def sub(self, row: Notification) -> str:
        return row.claim.sub

    def row(self, row: Notification) -> Json:
        return {
            "id": row.pk,
            "elicitation": row.elicitation_id,
            "charge": row.charge_id,
            "agent": row.agent.slug,
            "sub": row.claim.sub,
            "channel": row.channel,
            "outcome": row.outcome,
            "tries": row.tries,
            "created_at": row.created_at,
            "done_at": row.done_at,
        }
