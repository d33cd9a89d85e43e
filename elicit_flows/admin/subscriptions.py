"""The admin page of subscriptions, with renewals and changes of prices. Only their payers and agents end them."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.formats import localize
from django.utils.timezone import localtime
from django.utils.translation import gettext_lazy as _

from elicit_flows.admin.base import ReadOnlyInline
from elicit_flows.admin.payments import AccountRowAdmin, show_amount
from elicit_flows.domain.values import Json
from elicit_flows.models import PriceChange, Renewal, Subscription


class Renewals(ReadOnlyInline):
    model = Renewal
    fields = ("id", "shown_amount", "status", "period_start", "period_end", "tries", "paid_at")
    readonly_fields = ("shown_amount",)
    ordering = ("-created_at",)

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).defer("receipt_url", "invoice_pdf")

    @admin.display(description=_("Amount"))
    def shown_amount(self, row: Renewal) -> str:
        return show_amount(row.amount, row.currency)


class PriceChanges(ReadOnlyInline):
    model = PriceChange
    fields = ("id", "shown_was", "shown_amount", "created_at", "agreed_at", "done_at", "tries", "problem")
    readonly_fields = ("shown_was", "shown_amount")
    ordering = ("-created_at",)

    @admin.display(description=_("Price until then"))
    def shown_was(self, row: PriceChange) -> str:
        return show_amount(row.was, row.subscription.payment.currency)

    @admin.display(description=_("Price"))
    def shown_amount(self, row: PriceChange) -> str:
        return show_amount(row.amount, row.subscription.payment.currency)


class SubscriptionAdmin(AccountRowAdmin):
    personal = frozenset({"iss", "sub", "ref", "description"})
    list_display = (
        "status", "price", "agent", "account", "livemode", "sub", "period_end", "ends_at", "created_at", "id",
    )  # fmt: skip
    exported = (
        "iss", "sub", "amount", "status", "period_end", "trial_ends_at", "past_due_since", "ends_at", "cancelled_by",
        "ref", "created_at", "ended_at",
    )  # fmt: skip
    list_display_links = ("status", "id")
    list_filter = ("status", "account__livemode", "account", "agent", "created_at")
    list_select_related = ("agent", "account", "payment")
    search_fields = ("=id", "=sub", "=payment__id")
    search_help_text = _("The complete ID of a subscription or of its payment, or the complete sub of a user.")
    inlines = (Renewals, PriceChanges)
    fields = (
        "id", "status", "agent", "account", "livemode", "payment", "iss", "sub", "price", "interval", "description",
        "period_end", "trial_ends_at", "past_due_since", "grace_until", "ends_at", "cancelled_by", "ref",
        "created_at", "ended_at",
    )  # fmt: skip
    readonly_fields = ("livemode", "price", "interval", "description", "grace_until")

    @admin.display(description=_("price"), ordering="amount")
    def price(self, row: Subscription) -> str:
        return show_amount(row.amount, row.payment.currency)

    @admin.display(description=_("interval"))
    def interval(self, row: Subscription) -> str:
        return row.payment.interval

    @admin.display(description=_("description"))
    def description(self, row: Subscription) -> str:
        return row.payment.description

    @admin.display(description=_("usable without payment until"))
    def grace_until(self, row: Subscription) -> str:
        return localize(localtime(row.grace_until)) if row.grace_until else "-"

    def row(self, row: Subscription) -> Json:
        bought = row.payment
        return super().row(row) | {
            "payment": bought.pk,
            "currency": bought.currency,
            "interval": bought.interval,
            "description": bought.description,
        }
