"""Money on its way back, whoever sent it."""

from __future__ import annotations

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from elicit_flows.admin.export import Exported
from elicit_flows.admin.payments import shown
from elicit_flows.models import Refund
from elicit_flows.values import Json


class RefundAdmin(Exported):
    personal = frozenset({"payment_ref", "reason", "ref"})
    list_display = ("id", "payment", "shown_amount", "status", "by", "tries", "created_at", "done_at")
    list_filter = ("status", "by", "created_at")
    list_select_related = ("payment",)
    search_fields = ("=id", "=payment__id", "=ref")
    search_help_text = "An id of ours or of the provider, whole."
    ordering = ("-created_at",)
    readonly_fields = ("shown_amount",)
    fields = (
        "id", "payment", "payment_ref", "shown_amount", "status", "by", "reason", "ref", "problem", "tries",
        "created_at", "try_at", "done_at",
    )  # fmt: skip

    @admin.display(description=_("Amount"), ordering="amount")
    def shown_amount(self, row: Refund) -> str:
        return shown(row.amount, row.payment.currency)

    def row(self, row: Refund) -> Json:
        return {
            "id": row.pk,
            "payment": row.payment_id,
            "amount": row.amount,
            "currency": row.payment.currency,
            "status": row.status,
            "by": row.by,
            "reason": row.reason,
            "ref": row.ref,
            "problem": row.problem,
            "created_at": row.created_at,
            "done_at": row.done_at,
        }
