"""The admin page of mandates, with their charges. Only their people and agents end them."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from elicit_flows.admin.base import ReadOnlyInline
from elicit_flows.admin.payments import AccountRowAdmin, show_amount
from elicit_flows.domain.values import Json
from elicit_flows.models import Mandate, MandateCharge


class Charges(ReadOnlyInline):
    model = MandateCharge
    personal = frozenset({"description"})
    fields = ("id", "shown_amount", "description", "stands", "failure", "payment", "at", "created_at")
    readonly_fields = ("shown_amount", "description", "stands")
    ordering = ("-created_at",)

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).select_related("payment")

    @admin.display(description=_("Amount"))
    def shown_amount(self, row: MandateCharge) -> str:
        return show_amount(row.payment.amount, row.payment.currency)

    @admin.display(description=_("description"))
    def description(self, row: MandateCharge) -> str:
        return row.payment.description

    @admin.display(description=_("status"))
    def stands(self, row: MandateCharge) -> str:
        return row.payment.get_status_display()


class MandateAdmin(AccountRowAdmin):
    personal = frozenset({"iss", "sub", "description", "method"})
    list_display = ("status", "limit", "agent", "account", "livemode", "sub", "until", "created_at", "id")
    exported = (
        "iss", "sub", "currency", "per_charge", "per_day", "per_month", "total", "until", "notice", "description",
        "status", "ended_by", "created_at", "given_at", "ended_at",
    )  # fmt: skip
    list_display_links = ("status", "id")
    list_filter = ("status", "account__livemode", "account", "agent", "created_at")
    list_select_related = ("agent", "account")
    search_fields = ("=id", "=payment__id")
    search_help_text = _("The complete ID of a mandate or of the payment that saved its method.")
    inlines = (Charges,)
    fields = (
        "id", "status", "agent", "account", "livemode", "payment", "iss", "sub", "description", "each", "in_a_day",
        "in_a_month", "limit", "until", "notice", "method", "ended_by", "created_at", "given_at", "ended_at",
    )  # fmt: skip
    readonly_fields = ("livemode", "each", "in_a_day", "in_a_month", "limit")

    @admin.display(description=_("in all"), ordering="total")
    def limit(self, row: Mandate) -> str:
        return show_amount(row.total, row.currency)

    @admin.display(description=_("per charge"))
    def each(self, row: Mandate) -> str:
        return show_amount(row.per_charge, row.currency)

    @admin.display(description=_("in 24 hours"))
    def in_a_day(self, row: Mandate) -> str:
        return "-" if row.per_day is None else show_amount(row.per_day, row.currency)

    @admin.display(description=_("in 30 days"))
    def in_a_month(self, row: Mandate) -> str:
        return "-" if row.per_month is None else show_amount(row.per_month, row.currency)

    def row(self, row: Mandate) -> Json:
        return super().row(row) | {"payment": row.payment_id}
