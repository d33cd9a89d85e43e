"""The admin pages of what goes on after one payment: subscriptions with their renewals, mandates with their charges,
and what wallets were allowed to pay. They are looked at here: their people and agents end them.
"""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.formats import localize
from django.utils.timezone import localtime
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from elicit_flows.admin.base import ExportAdmin, ReadOnlyInline
from elicit_flows.admin.payments import show_amount
from elicit_flows.domain.values import Json
from elicit_flows.kinds.x402.networks import NETWORKS
from elicit_flows.lib import amounts
from elicit_flows.models import Authorization, Mandate, MandateCharge, Renewal, Subscription


class Renewals(ReadOnlyInline):
    model = Renewal
    fields = ("id", "shown_amount", "status", "period_start", "period_end", "tries", "paid_at")
    readonly_fields = ("shown_amount",)
    ordering = ("-created_at",)

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).defer("receipt_url")

    @admin.display(description=_("Amount"))
    def shown_amount(self, row: Renewal) -> str:
        return show_amount(row.amount, row.currency)


class SubscriptionAdmin(ExportAdmin):
    change_form_template = "admin/change_form_of_person.html"
    personal = frozenset({"iss", "sub", "ref", "description"})
    list_display = (
        "status",
        "price",
        "agent",
        "account",
        "livemode",
        "sub",
        "period_end",
        "ends_at",
        "created_at",
        "id",
    )
    list_display_links = ("status", "id")
    list_filter = ("status", "account__livemode", "account", "agent", "created_at")
    list_select_related = ("agent", "account", "payment")
    search_fields = ("=id", "=sub", "=payment__id")
    search_help_text = _("The complete ID of a subscription or of its payment, or the complete sub of a user.")
    ordering = ("-created_at",)
    inlines = (Renewals,)
    fields = (
        "id", "status", "agent", "account", "livemode", "payment", "iss", "sub", "price", "interval", "description",
        "period_end", "trial_ends_at", "past_due_since", "grace_until", "ends_at", "cancelled_by", "ref",
        "created_at", "ended_at",
    )  # fmt: skip
    readonly_fields = ("livemode", "price", "interval", "description", "grace_until")

    @admin.display(description=_("price"), ordering="amount")
    def price(self, row: Subscription) -> str:
        return show_amount(row.amount, row.payment.currency)

    @admin.display(description=_("Live"), boolean=True, ordering="account__livemode")
    def livemode(self, row: Subscription) -> bool:
        return row.account.livemode

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
        kept = (
            "id", "iss", "sub", "amount", "status", "period_end", "past_due_since", "ends_at", "cancelled_by", "ref",
            "created_at", "ended_at",
        )  # fmt: skip
        return {
            "agent": row.agent.slug,
            "account": row.account.slug,
            "livemode": row.account.livemode,
            "payment": row.payment_id,
            "currency": row.payment.currency,
            "interval": row.payment.interval,
            "description": row.payment.description,
            **{name: getattr(row, name) for name in kept},
        }


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


class MandateAdmin(ExportAdmin):
    change_form_template = "admin/change_form_of_person.html"
    personal = frozenset({"iss", "sub", "description", "method"})
    list_display = ("status", "limit", "agent", "account", "livemode", "sub", "until", "created_at", "id")
    list_display_links = ("status", "id")
    list_filter = ("status", "account__livemode", "account", "agent", "created_at")
    list_select_related = ("agent", "account")
    search_fields = ("=id", "=payment__id")
    search_help_text = _("The complete ID of a mandate or of the payment that saved its method.")
    ordering = ("-created_at",)
    inlines = (Charges,)
    fields = (
        "id", "status", "agent", "account", "livemode", "payment", "iss", "sub", "description", "each", "in_a_day",
        "in_a_month", "limit", "until", "notice", "method", "ended_by", "created_at", "given_at", "ended_at",
    )  # fmt: skip
    readonly_fields = ("livemode", "each", "in_a_day", "in_a_month", "limit")

    @admin.display(description=_("Live"), boolean=True, ordering="account__livemode")
    def livemode(self, row: Mandate) -> bool:
        return row.account.livemode

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
        kept = (
            "id", "iss", "sub", "currency", "per_charge", "per_day", "per_month", "total", "until", "notice",
            "description", "status", "ended_by", "created_at", "given_at", "ended_at",
        )  # fmt: skip
        return {
            "agent": row.agent.slug,
            "account": row.account.slug,
            "livemode": row.account.livemode,
            "payment": row.payment_id,
            **{name: getattr(row, name) for name in kept},
        }


class AuthorizationAdmin(ExportAdmin):
    """The address of the resource can say who it was for: only those who may see people see it."""

    change_form_template = "admin/change_form_of_person.html"
    personal = frozenset({"iss", "sub", "url"})
    list_display = ("stands", "shown_amount", "agent", "account", "network", "payee", "sub", "created_at", "id")
    list_display_links = ("stands", "id")
    list_filter = ("account", "agent", "network", "created_at", "signed_at")
    list_select_related = ("agent", "account")
    search_fields = ("=id", "=elicitation__id", "=nonce")
    search_help_text = _("The complete ID of an authorization or of its request, or its nonce on the chain.")
    ordering = ("-created_at",)
    fields = (
        "id", "stands", "agent", "account", "elicitation", "iss", "sub", "method", "url", "network", "payee",
        "shown_amount", "nonce", "created_at", "sign_by", "signed_at", "valid_until",
    )  # fmt: skip
    readonly_fields = ("stands", "shown_amount")

    @admin.display(description=_("status"))
    def stands(self, row: Authorization) -> Any:
        return {"reserved": _("Reserved"), "signed": _("Signed"), "lapsed": _("Lapsed")}[row.status]

    @admin.display(description=_("Amount"), ordering="amount")
    def shown_amount(self, row: Authorization) -> str:
        known = NETWORKS[row.network]
        return amounts.token(row.amount, known.decimals, known.symbol, get_language() or "en")

    def row(self, row: Authorization) -> Json:
        kept = (
            "id", "status", "iss", "sub", "url", "network", "payee", "amount", "nonce", "created_at", "signed_at",
            "valid_until",
        )  # fmt: skip
        return {
            "agent": row.agent.slug,
            "account": row.account.slug,
            "livemode": row.account.livemode,
            "elicitation": row.elicitation_id,
            **{name: getattr(row, name) for name in kept},
        }
