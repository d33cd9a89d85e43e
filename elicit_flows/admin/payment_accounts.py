"""The admin page of a payment account."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from elicit_flows import vault
from elicit_flows.admin.base import SwitchableAdmin
from elicit_flows.admin.forms import LinesField, SecretField, TableForm, address_field
from elicit_flows.config_file import payment_accounts as rules
from elicit_flows.domain.errors import Unavailable
from elicit_flows.domain.values import Secret
from elicit_flows.kinds.payment.providers import PROVIDERS
from elicit_flows.kinds.x402.networks import NETWORKS
from elicit_flows.kinds.x402.wallet import PROVIDER as WALLETS
from elicit_flows.models import PaymentAccount
from elicit_flows.models.payment_account import USUAL_GRACE


class PaymentAccountForm(TableForm):
    table = "payment_account"
    secret_fields: ClassVar[dict[str, str]] = {"secret_key": "new_secret_key"}

    provider = forms.ChoiceField(label=_("Provider"), choices=[(name, name) for name in (*PROVIDERS, WALLETS)])
    network = forms.ChoiceField(
        label=_("Network"),
        required=False,
        choices=[("", "-"), *((one.id, one.name) for one in NETWORKS.values())],
        help_text=_("Of a wallet (x402), as are the limits in the smallest unit of USDC: 1000000 is 1 USDC."),
    )
    payees = LinesField(label=_("Payees"), help_text=_("The addresses that a wallet may pay. None: anybody."))
    api_base = address_field(_("API base"), help_text=_("Only for the sandbox. Otherwise leave it empty."))
    new_secret_key = SecretField(rules.check_secret_key, label=_("Secret key"))
    new_webhook_secret = SecretField(
        rules.check_signing_secret,
        label=_("Webhook secret to add"),
        help_text=_("The present ones stay valid beside it. Without any, signed webhooks are refused."),
    )
    forget_webhook_secrets = forms.BooleanField(label=_("Delete the earlier webhook secrets"), required=False)

    def clean_renewal_grace(self) -> int:
        """Left empty, it is the usual."""
        typed: int | None = self.cleaned_data["renewal_grace"]
        return USUAL_GRACE if typed is None else typed

    def clean_application_fee_basis_points(self) -> int:
        return self.cleaned_data["application_fee_basis_points"] or 0

    def clean(self) -> dict[str, Any]:
        values = super().clean()
        if self.errors:
            return values
        key, webhook_secrets = self._secrets()
        if key is None:
            self.add_error("new_secret_key", _("Type it: there is none yet, or the stored one cannot be decrypted."))
            return values
        moved = [name for name in ("provider", "api_base") if name in self.changed_data]
        if self.instance.pk and moved and not values["new_secret_key"]:
            self.add_error("new_secret_key", _("Type it again: it would go to another host now."))
        if len(webhook_secrets) > rules.MAX_WEBHOOK_SECRETS:
            self.add_error("new_webhook_secret", _("There are too many. Delete the earlier ones."))
        self.add_conflicts({"secret_key": key})
        return values

    def set_secrets(self) -> None:
        """Put the secrets on the row; the caller saves it."""
        if {"new_secret_key", "new_webhook_secret", "forget_webhook_secrets"} & set(self.changed_data):
            key, webhook_secrets = self._secrets()
            vault.seal_account(self.instance, key or Secret(""), webhook_secrets)

    def _secrets(self) -> tuple[Secret | None, list[Secret]]:
        """The key and the webhook secrets that the row will have, the newest first."""
        key: Secret | None = None
        webhook_secrets: list[Secret] = []
        if self.instance.pk:
            try:
                stored = vault.account(self.instance)
                key, webhook_secrets = stored.secret_key, list(stored.webhook_secrets)
            except Unavailable:
                pass  # without the vault's key there is nothing to keep, so both have to be typed again
        typed, added = self.cleaned_data["new_secret_key"], self.cleaned_data["new_webhook_secret"]
        if self.cleaned_data["forget_webhook_secrets"]:
            webhook_secrets = []
        newest = [Secret(added)] if added else []
        return Secret(typed) if typed else key, newest + [kept for kept in webhook_secrets if kept not in newest]


class PaymentAccountAdmin(SwitchableAdmin):
    """The slug is part of the webhook address and of the place that the secrets are sealed for, so it cannot change."""

    form = PaymentAccountForm
    when_off = _("No agent can request a payment through it. Checkout pages that are already open may still be paid.")
    list_display = ("enabled", "slug", "provider", "livemode", "allow_save", "allow_mandates", "has_webhook_secret")
    list_display_links = ("slug",)
    list_filter = ("provider", "livemode", "enabled")
    search_fields = ("slug",)
    readonly_fields = ("webhook_address", "has_secret_key", "has_webhook_secret", "ignored")
    fields = (
        "slug", "webhook_address", "provider", "livemode", "api_base", "client_id", "has_secret_key", "new_secret_key",
        "has_webhook_secret", "new_webhook_secret", "forget_webhook_secrets", "refund_mismatch",
        "keep_late", "allow_save", "allow_mandates", "renewal_grace", "computes_tax",
        "makes_invoices",
        "connected_account", "application_fee_basis_points", "network", "max_per_payment", "max_per_day",
        "payees", "ignored", "enabled",
    )  # fmt: skip

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
        form.set_secrets()
        super().save_model(request, obj, form, change)
