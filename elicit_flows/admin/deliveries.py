"""Webhook deliveries: how they went, and sending one again."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from elicit_flows.admin.export import Exported
from elicit_flows.models import Delivery
from elicit_flows.queue import courier
from elicit_flows.values import Json


class DeliveryAdmin(Exported):
    list_display = ("id", "agent", "type", "status", "tries", "created_at", "next_at", "delivered_at")
    list_filter = ("status", "agent", "created_at")
    search_fields = ("=id", "=event__id")
    search_help_text = "The id of a delivery or of its event, whole."
    ordering = ("-created_at",)
    actions = ("replay", *Exported.actions)
    fields = ("id", "agent", "event", "status", "tries", "log", "created_at", "next_at", "delivered_at")

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).select_related("agent", "event").defer("event__data")

    @admin.display(description=_("Type"))
    def type(self, row: Delivery) -> str:
        return row.event.type

    def has_replay_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("elicit_flows.change_delivery")

    @admin.action(description=_("Send again"), permissions=["replay"])
    def replay(self, request: HttpRequest, rows: QuerySet[Delivery]) -> None:
        """Begins the schedule anew under the same event id, and takes a disabled endpoint back."""
        sent = [row for row in rows if row.agent.webhook_url]
        for row in sent:
            with transaction.atomic():
                courier.replay(row)
                self.log_change(request, row, "Sent again.")
        self.message_user(request, _("%d will be sent again.") % len(sent))
        if len(sent) < len(rows):
            self.message_user(request, _("The others belong to agents without webhook URL."), messages.WARNING)

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
