"""The admin pages of payments and refunds: view, and refund. The address of a checkout page is never loaded."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import get_language, ngettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from elicit_flows.admin.base import ExportAdmin, ReadOnlyInline, admin_url
from elicit_flows.admin.roles import may
from elicit_flows.domain.errors import Conflict
from elicit_flows.domain.values import Json
from elicit_flows.kinds.payment import order
from elicit_flows.lib import amounts
from elicit_flows.models import Cancellation, Checkout, Event, Payment, Refund
from elicit_flows.payments import refunds

MAX_EVENTS = 100  # on the page of a payment
ON_MISMATCH = _(
    "The amount or the currency that was paid is not what was requested. The agent was told that the payment failed, "
    "and nothing was granted. Look the payment up at the provider by its reference. Then refund it: here with “Refund "
    "what is left”, or at the provider if the amount or the currency differs. The agent can ask the person again."
)
ON_REFUND = _("It is being refunded. Check that the refund below ends as done.")
ON_FAILED_REFUND = _("A refund failed, for the reason below. Try it again, here or at the provider.")


def show_amount(amount: int, currency: str) -> str:
    """The amount in the operator's language; ``amount`` is in minor units."""
    return amounts.show(amount, currency, get_language() or "en")


class Checkouts(ReadOnlyInline):
    model = Checkout
    fields = ("id", "status", "ref", "created_at", "expires_at", "look_at")

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).defer("url").order_by("created_at")


class Refunds(ReadOnlyInline):
    personal = frozenset({"reason", "ref"})
    model = Refund
    fields = ("id", "amount", "status", "by", "reason", "ref", "problem", "created_at", "done_at")
    ordering = ("created_at",)
    show_change_link = True


class Cancellations(ReadOnlyInline):
    """What the person cancelled at /account. Until ``done_at`` the worker keeps telling the provider."""

    model = Cancellation
    fields = ("id", "asked_at", "tries", "try_at", "done_at", "problem")


class AccountRowAdmin(ExportAdmin):
    """A page of a person's rows at a payment account. ``exported``: what the CSV has of a row beside whose it is."""

    change_form_template = "admin/change_form_of_person.html"
    ordering = ("-created_at",)
    exported: tuple[str, ...] = ()

    @admin.display(description=_("Live"), boolean=True, ordering="account__livemode")
    def livemode(self, row: Any) -> bool:
        return bool(row.account.livemode)

    def row(self, row: Any) -> Json:
        whose = {"id": row.pk, "agent": row.agent.slug, "account": row.account.slug, "livemode": row.account.livemode}
        return whose | {name: getattr(row, name) for name in self.exported}


class PaymentAdmin(AccountRowAdmin):
    personal = frozenset(
        {"iss", "sub", "description", "bought", "payment_ref", "receipt_url", "invoice_url", "invoice_pdf"}
    )
    list_display = (
        "status", "shown_amount", "agent", "account", "livemode", "cancelled", "refunded_amount", "disputed", "sub",
        "created_at", "id",
    )  # fmt: skip
    exported = (
        "iss", "sub", "mode", "amount", "known_tax", "currency", "description", "item", "interval", "trial_days",
        "period_end", "ends_at", "status", "refunded", "disputed", "payment_ref", "problem", "created_at", "paid_at",
    )  # fmt: skip
    list_display_links = ("status", "id")
    list_filter = (
        "status", "disputed", "mode", "account__livemode", "account", "agent", "created_at", "cancellation__try_at",
    )  # fmt: skip
    list_select_related = ("agent", "account", "cancellation")
    search_fields = ("=id", "=sub", "=payment_ref", "=elicitation__id")
    search_help_text = _("A complete ID of this service or of the provider, or the complete sub of a user.")
    actions = ("refund", *ExportAdmin.actions)
    inlines = (Checkouts, Refunds, Cancellations)
    fields = (
        "id", "what_to_do", "status", "problem", "agent", "account", "livemode", "elicitation", "iss", "sub", "mode",
        "interval", "trial_days", "shown_amount", "at_most", "description", "bought", "item", "uses", "period_end",
        "ends_at", "refunded_amount", "disputed", "evidence_due", "payment_ref", "receipt_url", "invoice_url",
        "invoice_pdf", "created_at", "paid_at", "events",
    )  # fmt: skip
    readonly_fields = ("what_to_do", "livemode", "shown_amount", "at_most", "bought", "refunded_amount", "events")

    @admin.display(description=_("Amount"), ordering="amount")
    def shown_amount(self, row: Payment) -> str:
        return show_amount(row.amount, row.currency)

    @admin.display(description=_("At most"))
    def at_most(self, row: Payment) -> str:
        """What the person agreed to, where the provider computes the tax."""
        return "-" if row.max_amount is None else show_amount(row.max_amount, row.currency)

    @admin.display(description=pgettext_lazy("purchase", "order"))
    def bought(self, row: Payment) -> SafeString | str:
        """The lines, the tax, and what the agent says of the order."""
        if row.order is None:
            return "-"
        lines = [
            f"{one['quantity']} × {one['name']}: {show_amount(one['amount'], row.currency)}"
            for one in order.shown(row.order)["lines"]
        ]
        lines += [f"{_('tax')}: {show_amount(row.known_tax, row.currency)}"] if row.known_tax else []
        lines += [row.order[name] for name in ("number", "purpose") if row.order[name]]
        return format_html_join("<br>", "{}", ((line,) for line in lines))

    @admin.display(description=_("Cancelled"))
    def cancelled(self, row: Payment) -> str:
        """Who cancelled the subscription, and whether the provider knows."""
        cancellation = getattr(row, "cancellation", None)
        if cancellation is None:
            return str(_("at the provider")) if row.ends_at else "-"
        return str(_("by the person; the provider does not know yet") if cancellation.try_at else _("by the person"))

    @admin.display(description=_("Refunded"))
    def refunded_amount(self, row: Payment) -> str:
        return show_amount(row.refunded, row.currency) if row.refunded else "-"

    @admin.display(description=_("What to do"))
    def what_to_do(self, row: Payment) -> str:
        last = row.refunds.order_by("created_at").last()
        if last is None:
            return str(ON_MISMATCH) if row.status == Payment.Status.MISMATCH else "-"
        if last.status == Refund.Status.FAILED:
            return str(ON_FAILED_REFUND)
        return "-" if last.status == Refund.Status.DONE else str(ON_REFUND)

    @admin.display(description=_("Events"))
    def events(self, row: Payment) -> SafeString | str:
        if row.elicitation_id is None:  # the elicitation was purged, and its events no longer name it
            return "-"
        rows = Event.objects.filter(elicitation=row.elicitation_id).defer("data").order_by("position")[:MAX_EVENTS]
        lines = [(admin_url(event), event.type, event.created_at) for event in rows]
        return format_html("<ul>{}</ul>", format_html_join("", '<li><a href="{}">{}</a> {}</li>', lines))

    def has_refund_permission(self, request: HttpRequest) -> bool:
        return may(request, "elicit_flows.change_payment")

    @admin.action(description=_("Refund what is left"), permissions=["refund"])
    def refund(self, request: HttpRequest, rows: QuerySet[Payment]) -> None:
        """The worker requests the refunds from the provider."""
        requested, renewing = 0, rows.filter(status__in=(Payment.Status.ACTIVE, Payment.Status.ENDED)).count()
        for row in rows:
            try:
                with transaction.atomic():
                    refund, _known = refunds.ask(row, None, Refund.By.OPERATOR)
                    amount = amounts.show(refund.amount, row.currency, "en")
                    self.log_change(request, row, f"Requested a refund of {amount}.")
                requested += 1
            except Conflict:
                continue  # nothing is left to refund; the message below says how many there were
        said = ngettext("%(count)d refund was requested.", "%(count)d refunds were requested.", requested)
        self.message_user(request, said % {"count": requested})
        if renewing:
            where = _("Payments of a subscription are refunded at the provider, each period by itself.")
            self.message_user(request, where, messages.WARNING)
        if requested + renewing < len(rows):
            self.message_user(request, _("The others have nothing left to refund."), messages.WARNING)


class RefundAdmin(ExportAdmin):
    personal = frozenset({"payment_ref", "reason", "ref"})
    list_display = ("status", "shown_amount", "payment", "by", "tries", "created_at", "done_at", "id")
    list_display_links = ("status", "id")
    list_filter = ("status", "by", "created_at")
    list_select_related = ("payment",)
    search_fields = ("=id", "=payment__id", "=ref")
    search_help_text = _("A complete ID of this service or of the provider.")
    ordering = ("-created_at",)
    readonly_fields = ("shown_amount",)
    fields = (
        "id", "payment", "payment_ref", "shown_amount", "status", "by", "reason", "ref", "problem", "tries",
        "created_at", "try_at", "done_at",
    )  # fmt: skip

    @admin.display(description=_("Amount"), ordering="amount")
    def shown_amount(self, row: Refund) -> str:
        return show_amount(row.amount, row.payment.currency)

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
