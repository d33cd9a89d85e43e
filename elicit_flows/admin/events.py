"""The admin pages of events and of their deliveries by webhook, which can be sent again."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from elicit_flows.admin.base import ExportAdmin, ReadOnlyAdmin
from elicit_flows.admin.roles import may
from elicit_flows.domain.values import Json
from elicit_flows.events import webhooks
from elicit_flows.models import Delivery, Event


class EventAdmin(ReadOnlyAdmin):
    """The events of all agents, without their data."""

    change_form_template = "admin/change_form_of_person.html"
    list_display = ("created_at", "agent", "type", "about", "id")
    list_filter = ("type", "agent", "created_at")
    search_fields = ("=id", "=elicitation__id")
    search_help_text = _("The complete ID of an event or of its elicitation.")
    ordering = ("-created_at",)
    fields = ("id", "agent", "position", "type", "elicitation", "seq", "created_at")

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).select_related("agent").defer("data")

    @admin.display(description=_("Elicitation"), ordering="elicitation")
    def about(self, row: Event) -> str | None:
        return row.elicitation_id


class DeliveryAdmin(ExportAdmin):
    change_form_template = "admin/change_form_of_person.html"
    list_display = ("status", "type", "agent", "tries", "created_at", "next_at", "delivered_at", "id")
    list_display_links = ("status", "id")
    list_filter = ("status", "agent", "created_at")
    search_fields = ("=id", "=event__id")
    search_help_text = _("The complete ID of a delivery or of its event.")
    ordering = ("-created_at",)
    actions = ("replay", *ExportAdmin.actions)
    fields = ("id", "agent", "event", "status", "tries", "log", "created_at", "next_at", "delivered_at")

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).select_related("agent", "event").defer("event__data")

    @admin.display(description=_("Type"))
    def type(self, row: Delivery) -> str:
        return row.event.type

    def has_replay_permission(self, request: HttpRequest) -> bool:
        return may(request, "elicit_flows.change_delivery")

    @admin.action(description=_("Send again"), permissions=["replay"])
    def replay(self, request: HttpRequest, rows: QuerySet[Delivery]) -> None:
        """Start the retry schedule again with the same event id, and enable an endpoint that was disabled."""
        replayed = [row for row in rows if row.agent.webhook_url]
        for row in replayed:
            with transaction.atomic():
                webhooks.replay(row)
                self.log_change(request, row, "Sent again.")
        count = len(replayed)
        said = ngettext("%(count)d delivery will be sent again.", "%(count)d deliveries will be sent again.", count)
        self.message_user(request, said % {"count": count})
        if len(replayed) < len(rows):
            self.message_user(request, _("The others belong to agents without a webhook URL."), messages.WARNING)

    def row(self, row: Delivery) -> Json:
        last = row.log[-1] if row.log else {}
        return {
            "id": row.pk,
            "agent": row.agent.slug,
            "event": row.event_id,
            "type": row.event.type,
            "status": row.status,
            "tries": row.tries,
            "last_status": last.get("status"),
            "last_note": last.get("note"),
            "created_at": row.created_at,
            "next_at": row.next_at,
            "delivered_at": row.delivered_at,
        }
