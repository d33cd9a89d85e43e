"""The admin page of payments by HTTP 402 (x402) that people agreed to."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from elicit_flows.admin.payments import AccountRowAdmin
from elicit_flows.domain.values import Json
from elicit_flows.kinds.x402.networks import NETWORKS
from elicit_flows.lib import amounts
from elicit_flows.models import Authorization


class AuthorizationAdmin(AccountRowAdmin):
    """The address of the resource can say who it was for: only those who may see people see it."""

    personal = frozenset({"iss", "sub", "url"})
    list_display = ("stands", "shown_amount", "agent", "account", "network", "payee", "sub", "created_at", "id")
    exported = (
        "status", "iss", "sub", "url", "network", "payee", "amount", "nonce", "created_at", "signed_at",
        "valid_until",
    )  # fmt: skip
    list_display_links = ("stands", "id")
    list_filter = ("account", "agent", "network", "created_at", "signed_at")
    list_select_related = ("agent", "account")
    search_fields = ("=id", "=elicitation__id", "=nonce")
    search_help_text = _("The complete ID of an authorization or of its request, or its nonce on the chain.")
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
        return super().row(row) | {"elicitation": row.elicitation_id}
