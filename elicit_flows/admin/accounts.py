"""Where money goes."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from elicit_flows.admin.account_form import PaymentAccountForm
from elicit_flows.admin.switching import Switched
from elicit_flows.models import PaymentAccount


class PaymentAccountAdmin(Switched):
    """The slug stands in the webhook's address and in the seals of the secrets, so it stays as it was made."""

    form = PaymentAccountForm
    when_off = _("No agent can ask for money through it. Pages that are open at the provider may still be paid.")
    list_display = ("slug", "provider", "livemode", "has_webhook_secret", "enabled")
    list_filter = ("provider", "livemode", "enabled")
    search_fields = ("slug",)
    readonly_fields = ("webhook_address", "has_secret_key", "has_webhook_secret", "ignored")
    fields = (
        "slug", "webhook_address", "provider", "livemode", "api_base", "has_secret_key", "new_secret_key",
        "has_webhook_secret", "new_webhook_secret", "forget_webhook_secrets", "refund_mismatch",
        "keep_late", "ignored", "enabled",
    )  # fmt: skip

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return (*self.readonly_fields, "slug") if obj else self.readonly_fields

    @admin.display(description=_("Address for webhooks"))
    def webhook_address(self, row: PaymentAccount) -> str:
        return f"{settings.ELICIT_PUBLIC_URL}/inbound/{row.slug}" if row.pk else "-"

    @admin.display(description=_("Has a secret key"), boolean=True)
    def has_secret_key(self, row: PaymentAccount) -> bool:
        return bool(row.secret_key)

    @admin.display(description=_("Has a webhook secret"), boolean=True)
    def has_webhook_secret(self, row: PaymentAccount) -> bool:
        return bool(row.webhook_secrets)

    def save_model(self, request: HttpRequest, obj: PaymentAccount, form: Any, change: bool) -> None:
        form.put_secrets()
        super().save_model(request, obj, form, change)
