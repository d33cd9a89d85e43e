"""What happened, and which operator did what. Neither can be changed here, nor removed with the operator."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin import RelatedOnlyFieldListFilter
from django.contrib.admin.models import LogEntry
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from elicit_flows.admin.base import ReadOnly


class EventAdmin(ReadOnly):
    """The events of all agents, without what they tell."""

    list_display = ("created_at", "agent", "type", "elicitation_id", "id")
    list_filter = ("type", "agent", "created_at")
    search_fields = ("=id", "=elicitation__id")
    search_help_text = "The id of an event or of its elicitation, whole."
    ordering = ("-created_at",)
    fields = ("id", "agent", "position", "type", "elicitation", "seq", "created_at")

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).select_related("agent").defer("data")


class LogEntryAdmin(ReadOnly):
    """It may not be deleted, so neither may the account of an operator who did something: that is made inactive."""

    list_display = ("action_time", "user", "what", "object_repr", "content_type")
    list_filter = (
        "action_time", ("user", RelatedOnlyFieldListFilter), ("content_type", RelatedOnlyFieldListFilter),
    )  # fmt: skip
    list_select_related = ("user", "content_type")
    ordering = ("-action_time",)
    fields = ("action_time", "user", "what", "content_type", "object_id", "object_repr", "action_flag")
    readonly_fields = ("what",)

    @admin.display(description=_("What was done"))
    def what(self, row: LogEntry) -> str:
        return row.get_change_message()
