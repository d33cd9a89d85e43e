"""A payment account as an operator writes it down."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from elicit_flows import vault
from elicit_flows.admin.fields import NewSecret, address, rule
from elicit_flows.configure import payments as rules
from elicit_flows.errors import Unavailable
from elicit_flows.kinds.payment.providers import PROVIDERS
from elicit_flows.values import Secret


class PaymentAccountForm(forms.ModelForm):  # type: ignore[type-arg]
    """What is typed is the secret itself: a page must not read the server's variables and files."""

    provider = forms.ChoiceField(choices=[(name, name) for name in PROVIDERS])
    api_base = address(rules.api_base, "API base", help_text=_("Empty but for the sandbox."))
    new_secret_key = NewSecret(
        label=_("Secret key"), validators=[rule(lambda typed: rules.checked_secret_key(Secret(typed)))]
    )
    new_webhook_secret = NewSecret(
        label=_("Webhook secret to add"),
        validators=[rule(lambda typed: rules.checked_signing_secret(Secret(typed)))],
        help_text=_("Those that there are go on counting beside it. Without any, signed webhooks are refused."),
    )
    forget_webhook_secrets = forms.BooleanField(label=_("Forget the earlier webhook secrets"), required=False)

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        if self.errors:
            return values
        key, several = self._secrets()
        if key is None:
            self.add_error("new_secret_key", "It is missing, or does not open any more.")
            return values
        if len(several) > rules.MOST_WEBHOOK_SECRETS:
            self.add_error("new_webhook_secret", "There are as many as there may be; forget the earlier ones.")
        stored = self.instance if self.instance.pk else None
        for name, message in rules.account_faults({**values, "secret_key": key}, stored):
            self.add_error("new_secret_key" if name == "secret_key" else name, f"It {message}.")
        return values

    def put_secrets(self) -> None:
        """On the row; the caller saves it."""
        if {"new_secret_key", "new_webhook_secret", "forget_webhook_secrets"} & set(self.changed_data):
            key, several = self._secrets()
            vault.seal_account(self.instance, key or Secret(""), several)

    def _secrets(self) -> tuple[Secret | None, list[Secret]]:
        """The key and the webhook secrets as they will be, the newest first."""
        key, several = self._kept()
        typed, another = self.cleaned_data["new_secret_key"], self.cleaned_data["new_webhook_secret"]
        if self.cleaned_data["forget_webhook_secrets"]:
            several = []
        first = [Secret(another)] if another else []
        return Secret(typed) if typed else key, first + [one for one in several if one not in first]

    def _kept(self) -> tuple[Secret | None, list[Secret]]:
        if not self.instance.pk:
            return None, []
        try:
            account = vault.account(self.instance)
        except Unavailable:
            return None, []
        return account.secret_key, list(account.webhook_secrets)
