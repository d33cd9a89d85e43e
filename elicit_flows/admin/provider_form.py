"""What an operator may say of a provider, and of its client secret."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from elicit_flows import catalogue, vault
from elicit_flows.admin.fields import Lines, NewSecret, address, rule
from elicit_flows.configure import credentials, sorts
from elicit_flows.configure import values as rules
from elicit_flows.configure.crossing import provider_faults
from elicit_flows.configure.faults import Wrong
from elicit_flows.configure.sorts import OF_CREDENTIALS, OF_OAUTH, Sort, fields_of, sort_faults
from elicit_flows.configure.tables import DPOPS, GRANTS, MOST_RESOURCES, PARS, PKCES, REGISTRATIONS, TOKEN_AUTHS
from elicit_flows.models.provider import SETTINGS
from elicit_flows.values import Secret


class ClientForm(forms.ModelForm):  # type: ignore[type-arg]
    """A row with a client secret."""

    new_client_secret = NewSecret(label=_("Client secret"))
    forget_client_secret = forms.BooleanField(
        label=_("Forget the client secret"), required=False, help_text=_("For a public client, which has none.")
    )

    def secret(self) -> Secret | None:
        """What was typed."""
        typed = self.cleaned_data.get("new_client_secret")
        return Secret(typed) if typed else None

    def put_secret(self) -> None:
        """On the row; the caller saves it."""
        if self.secret() or self.cleaned_data["forget_client_secret"]:
            vault.seal_client_secret(self.instance, self.secret())

    def will_have_secret(self) -> bool:
        kept = bool(self.instance.client_secret) and not self.cleaned_data.get("forget_client_secret")
        return kept or self.secret() is not None


_PRESET = {"token_auth", "grant", "pkce", "par", "dpop", "registration"}  # a menu always says something


def _presets() -> list[tuple[str, str]]:
    entries = sorted(catalogue.entries().values(), key=lambda one: one.name.lower())
    return [("", "-"), *((one.slug, one.name) for one in entries)]


class ProviderForm(ClientForm):
    sort = forms.ChoiceField(
        choices=[(str(one), str(one)) for one in Sort], required=False, help_text=_("It stays as it is made.")
    )
    name = forms.CharField(max_length=200, required=False)
    preset = forms.ChoiceField(
        choices=_presets,
        required=False,
        help_text=_("From the catalogue: what is left as it is below is as it says, today and later. It stays."),
    )
    variables = forms.JSONField(
        required=False,
        validators=[rule(sorts.variables)],
        help_text=_('What the addresses of some presets need, such as {"shop": "our-shop"}. They stay.'),
    )
    issuer = address(rules.issuer, "Issuer", help_text=_("For discovery: addresses left empty are asked for there."))
    authorize_url = address(rules.url, "Authorize URL")
    token_url = address(rules.url, "Token URL")
    revocation_url = address(rules.url, "Revocation URL")
    userinfo_url = address(rules.url, "Userinfo URL")
    device_authorization_url = address(rules.url, "Device authorization URL", help_text=_("For the grant device_code."))
    token_auth = forms.ChoiceField(choices=[(one, one) for one in TOKEN_AUTHS], initial="client_secret_basic")
    scopes = Lines(
        validators=[rule(rules.list_of(rules.scope))],
        help_text=_("Always asked for, beside those that an agent asks for. One to a line."),
    )
    grant = forms.ChoiceField(
        choices=[(one, one) for one in GRANTS],
        help_text=_(
            "Device_code: people type a code at the provider, on any device (RFC 8628). Only where nothing else works: "
            "nobody can know who types it."
        ),
    )
    pkce = forms.ChoiceField(
        label="PKCE",
        choices=[(one, one) for one in PKCES],
        initial="S256",
        help_text=_("Off only for a provider that refuses it: whoever gets hold of a code can redeem it."),
    )

    registration = forms.ChoiceField(
        choices=[(one, one) for one in REGISTRATIONS],
        help_text=_("Dynamic: this service registers itself. Document: the provider reads who we are at our address."),
    )
    par = forms.ChoiceField(
        label=_("Pushed requests"),
        choices=[(one, one) for one in PARS],
        initial="auto",
        help_text=_("Auto: where the provider offers them (RFC 9126). Off only for one that does it badly."),
    )
    dpop = forms.ChoiceField(
        label="DPoP",
        choices=[(one, one) for one in DPOPS],
        help_text=_(
            "Required: tokens are bound to a key that stays here, and agents ask for a proof for each request."
        ),
    )
    resources = Lines(
        validators=[rule(rules.list_of(rules.resource, most=MOST_RESOURCES))],
        help_text=_("What tokens are to be for (RFC 8707). One URI to a line."),
    )

    # Django's metaclass takes the name away from the class, so that the form's own ``fields`` is as ever.
    fields = forms.JSONField(  # type: ignore[assignment]
        required=False, validators=[rule(credentials.credential_fields)]
    )
    find_url = address(credentials.find_url, "Find URL", help_text=_("Where people find what to type."))
    verify = forms.JSONField(required=False, validators=[rule(credentials.verify)])

    def clean_fields(self) -> list[Any]:
        given = self.cleaned_data["fields"]
        return credentials.credential_fields(given) if given else []

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        if not (self.errors or self.instance.pk):
            self._fill_in(values)
        if not self.errors:
            told = {**values, "client_secret": self.secret(), "sort": values.get("sort") or self.instance.sort}
            values["fields"] = told["fields"] = fields_of(told)
            given = [name for name in (*OF_OAUTH, *OF_CREDENTIALS) if told[name] and name not in _PRESET]
            faults = [*sort_faults(told["sort"], given), *provider_faults(told, has_secret=self.will_have_secret())]
            for name, message in faults:
                self.add_error("new_client_secret" if name == "client_secret" else name, f"It {message}.")
        return values

    def _fill_in(self, values: dict[str, Any]) -> None:
        """A new one is as its preset says where the operator says nothing else."""
        values["variables"] = values["variables"] or {}
        try:
            said = sorts.filled_in(values, [name for name in SETTINGS if name in self.changed_data and values[name]])
        except Wrong as error:
            self.add_error("variables", f"They {error}.")
            return
        self.instance.given = said.pop("given")
        values |= said
        values["sort"] = sorts.sort_of(values["sort"], values["preset"], ())
        if not values["name"]:
            self.add_error("name", _("It is missing; add it, or choose a preset."))
