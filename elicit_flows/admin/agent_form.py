"""An agent as an operator writes it down."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _

from elicit_flows.admin.fields import Lines, NewSecret, address, rule
from elicit_flows.configure import keys
from elicit_flows.configure import values as rules
from elicit_flows.values import Secret


class AgentForm(forms.ModelForm):  # type: ignore[type-arg]
    return_urls = Lines(
        label="Return URLs", validators=[rule(rules.list_of(rules.return_url))], help_text=_("One to a line.")
    )
    user_token_audiences = Lines(
        label=_("Audiences of users' tokens"),
        validators=[rule(rules.list_of(rules.text(500)))],
        help_text=_("For whom such a token has to be meant. Empty: this service. One to a line."),
    )
    webhook_url = address(rules.url, "Webhook URL")
    new_webhook_secret = NewSecret(
        label=_("Webhook secret"),
        # What is typed is the secret itself: a page must not read the server's variables and files.
        validators=[rule(lambda typed: keys.checked_webhook_secret(Secret(typed)))],
        help_text=_(
            "Leave it empty to keep what there is, or to have one made. The old one goes on signing for a day."
        ),
    )

    def put_secrets(self) -> dict[str, Secret]:
        """On the row, which the caller saves. Answers those that were made, to be shown once."""
        row, typed, made = self.instance, self.cleaned_data["new_webhook_secret"], {}
        if "webhook_url" in self.changed_data:
            row.webhook_disabled_at, row.webhook_failures = None, 0
        if not row.key_hash:
            made["api_key"] = keys.new_api_key()
            keys.put_api_key(row, made["api_key"])
        if row.webhook_url and not typed and not row.webhook_secret:
            made["webhook_secret"] = keys.new_webhook_secret()
        secret = Secret(typed) if typed else made.get("webhook_secret")
        if secret:
            keys.put_webhook_secret(row, secret)
        return made
