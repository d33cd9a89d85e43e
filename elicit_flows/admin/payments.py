"""What users paid: to look at, and to give back. Where a page may be paid is not even read."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from elicit_flows.admin.base import Inside
from elicit_flows.admin.export import Exported
from elicit_flows.admin.links import page_of
from elicit_flows.errors import Conflict
from elicit_flows.ledger import refunds
from elicit_flows.lib import money
from elicit_flows.models import Checkout, Event, Payment, Refund
from elicit_flows.values import Json

MAX_EVENTS = 100
TO_DO = _(
    "Money came, but not as it was asked for, so the agent was told that this failed and nothing was granted. "
    "Look it up at the provider by its reference. Then give it back here (“Refund what is left”), or at the provider "
    "where the amount or the currency is another one; the agent can ask the person again."
)
TO_WATCH = _("The money is being given back: see that its refund below ends as done.")
TO_REPEAT = _(
    "A refund failed, for the reason below: that money is still here. Give it back again, here or at the provider."
)


def shown(amount: int, currency: str) -> str:
    return money.show(amount, currency, get_language() or "en")


class Checkouts(Inside):
    model = Checkout
    fields = ("id", "status", "ref", "created_at", "expires_at", "look_at")

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).defer("url").order_by("created_at")


class Refunds(Inside):
    personal = frozenset({"reason", "ref"})
    model = Refund
    fields = ("id", "amount", "status", "by", "reason", "ref", "problem", "created_at", "done_at")
    ordering = ("created_at",)
    show_change_link = True


class PaymentAdmin(Exported):
    personal = frozenset({"iss", "sub", "description", "payment_ref", "receipt_url"})
    list_display = ("id", "agent", "account", "shown_amount", "status", "given_back", "disputed", "sub", "created_at")
    list_filter = ("status", "disputed", "mode", "account", "agent", "created_at")
    list_select_related = ("agent", "account")
    search_fields = ("=id", "=sub", "=payment_ref", "=elicitation__id")
    search_help_text = "An id of ours or of the provider, or a user's sub, whole."
    ordering = ("-created_at",)
    actions = ("refund", *Exported.actions)
    inlines = (Checkouts, Refunds)
    fields = (
        "id", "what_to_do", "status", "problem", "agent", "account", "elicitation", "iss", "sub", "mode",
        "shown_amount", "description", "item", "given_back", "disputed", "payment_ref", "receipt_url", "created_at",
        "paid_at", "events",
    )  # fmt: skip
    readonly_fields = ("what_to_do", "shown_amount", "given_back", "events")

    @admin.display(description=_("Amount"), ordering="amount")
    def shown_amount(self, row: Payment) -> str:
        return shown(row.amount, row.currency)

    @admin.display(description=_("Given back"))
    def given_back(self, row: Payment) -> str:
        return shown(row.refunded, row.currency) if row.refunded else "-"

    @admin.display(description=_("What to do"))
    def what_to_do(self, row: Payment) -> str:
        last = row.refunds.order_by("created_at").last()
        if last is None:
            return str(TO_DO) if row.status == Payment.Status.MISMATCH else "-"
        if last.status == Refund.Status.FAILED:
            return str(TO_REPEAT)
        return "-" if last.status == Refund.Status.DONE else str(TO_WATCH)

    @admin.display(description=_("Events"))
    def events(self, row: Payment) -> SafeString | str:
        if row.elicitation_id is None:  # purged; those events that are kept name it no more
            return "-"
        found = Event.objects.filter(elicitation=row.elicitation_id).defer("data").order_by("position")[:MAX_EVENTS]
        lines = [(page_of(one), one.type, one.created_at) for one in found]
        return format_html("<ul>{}</ul>", format_html_join("", '<li><a href="{}">{}</a> {}</li>', lines))

    def has_refund_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("elicit_flows.change_payment")

    @admin.action(description=_("Refund what is left"), permissions=["refund"])
    def refund(self, request: HttpRequest, rows: QuerySet[Payment]) -> None:
        """The provider is told by the worker."""
        asked = [self._refund(request, row) for row in rows]
        self.message_user(request, _("%d refunds are on their way.") % sum(asked))
        if not all(asked):
            self.message_user(request, _("Of the others nothing is left to give back."), messages.WARNING)

    def _refund(self, request: HttpRequest, row: Payment) -> bool:
        try:
            with transaction.atomic():
                made = refunds.ask(row, None, Refund.By.OPERATOR)
                self.log_change(request, row, f"Asked to give back {money.show(made.amount, row.currency, 'en')}.")
        except Conflict:
            return False
        return True

    def row(self, row: Payment) -> Json:
        return {
            "id": row.pk,
            "agent": row.agent.slug,
            "account": row.account.slug,
            "iss": row.iss,
            "sub": row.sub,
            "mode": row.mode,
            "amount": row.amount,
            "currency": row.currency,
            "description": row.description,
            "item": row.item,
            "status": row.status,
            "refunded": row.refunded,
            "disputed": row.disputed,
            "payment_ref": row.payment_ref,
            "problem": row.problem,
            "created_at": row.created_at,
            "paid_at": row.paid_at,
        }
