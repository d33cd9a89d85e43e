"""The admin page of an agent, with its spend limits."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.contrib.admin import StackedInline
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext_lazy as _

from elicit_flows.admin.base import CHECKBOXES, SwitchableAdmin
from elicit_flows.admin.forms import LinesField, SecretField, TableForm, address_field, as_sentence
from elicit_flows.admin.pictures import PictureField
from elicit_flows.config_file import InvalidValue, agents
from elicit_flows.domain.values import Secret
from elicit_flows.kinds.payment.params import MAX_AMOUNT
from elicit_flows.models import Agent, Provider, SpendLimit


class SpendLimitForm(forms.ModelForm):  # type: ignore[type-arg]
    currency = forms.CharField(
        label=_("Currency"),
        max_length=3,
        help_text=_("In lower case, such as eur. An agent with limits can use only their currencies."),
    )
    per_payment = forms.IntegerField(
        label=_("Per payment"),
        required=False,
        min_value=0,
        max_value=MAX_AMOUNT,
        help_text=_("In minor units: 2000 is 20.00 USD."),
    )
    per_day = forms.IntegerField(
        label=_("Per day"),
        required=False,
        min_value=0,
        max_value=agents.MAX_PER_DAY,
        help_text=_("In minor units: 2000 is 20.00 USD."),
    )

    def clean_currency(self) -> str:
        try:
            return agents.currency(self.cleaned_data["currency"])
        except InvalidValue as error:
            raise ValidationError(as_sentence(error)) from None

    def clean(self) -> dict[str, Any]:
        """By the rule of the file, which takes back what is exported of it."""
        values = super().clean() or self.cleaned_data
        if not self.errors:
            given = {name: values.get(name) for name in agents.Limit._fields if values.get(name) is not None}
            try:
                agents.spend_limit(given)
            except InvalidValue as error:
                raise ValidationError(as_sentence(error)) from None
        return values


class SpendLimits(StackedInline):  # type: ignore[type-arg]
    model = SpendLimit
    form = SpendLimitForm
    extra = 0
    verbose_name = _("spend limit for each person")
    verbose_name_plural = _("spend limits for each person")


class AgentForm(TableForm):
    table = "agent"

    logo = PictureField(label=_("Logo"))
    site = address_field(_("Site"))
    description = forms.CharField(label=_("Description"), required=False, max_length=300)
    return_urls = LinesField(label=_("Return URLs"), help_text=_("One per line."))
    mcp_servers = LinesField(
        label=_("MCP servers"),
        help_text=_(
            "Hosts of remote MCP servers that the agent may ask for by their address, such as mcp.example.com or "
            "*.example.com. * is any host. Empty: none. One per line."
        ),
    )
    user_token_audiences = LinesField(
        label=_("Audiences of users' tokens"),
        help_text=_("A user's token needs one of these as its audience. Empty: this service. One per line."),
    )
    webhook_url = address_field(_("Webhook URL"))
    new_webhook_secret = SecretField(
        agents.check_webhook_secret,
        label=_("Webhook secret"),
        help_text=_(
            "Leave it empty to keep the present one, or to have one made. The previous secret keeps signing for a day."
        ),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        providers: Any = self.fields.get("providers")
        if providers:  # not for who may only look
            # An MCP server that was discovered is allowed by its host.
            providers.queryset = Provider.objects.filter(mcp="").order_by("name")

    def set_secrets(self) -> dict[str, Secret]:
        """Put the secrets on the row; the caller saves it. Returns the new ones, to be shown once."""
        row, typed, made = self.instance, self.cleaned_data["new_webhook_secret"], {}
        if "webhook_url" in self.changed_data:
            # The failures were those of the previous endpoint.
            row.webhook_disabled_at, row.webhook_failures = None, 0
        if not row.key_hash:
            made["api_key"] = agents.new_api_key()
            agents.set_api_key(row, made["api_key"])
        if row.webhook_url and not typed and not row.webhook_secret:
            made["webhook_secret"] = agents.new_webhook_secret()
        secret = Secret(typed) if typed else made.get("webhook_secret")
        if secret:
            agents.set_webhook_secret(row, secret)
        return made


class AgentAdmin(SwitchableAdmin):
    """The slug is part of the place that the webhook secret is sealed for, so it cannot change."""

    form = AgentForm
    when_off = _(
        "Its API key is refused, nobody can answer its elicitations, and its webhooks wait. The connections that "
        "people made for it stay, unused."
    )
    list_display = ("enabled", "slug", "name", "key_hint", "webhook_url", "webhook_disabled_at")
    list_display_links = ("slug",)
    list_filter = ("enabled",)
    search_fields = ("slug", "name")
    readonly_fields = ("key_hint", "has_webhook_secret", "webhook_disabled_at", "created_at")
    formfield_overrides: ClassVar[dict[Any, Any]] = CHECKBOXES
    change_form_template = "admin/elicit_flows/agent/change_form.html"
    actions = ("enable_webhooks",)
    inlines = (SpendLimits,)
    fields = (
        "slug", "name", "logo", "site", "description", "enabled", "key_hint", "identity_providers", "all_providers",
        "providers", "mcp_servers", "payment_accounts", "import_connections", "notify", "require_user_token",
        "tokens_never_leave", "managed_access", "user_token_audiences", "requests_per_minute", "return_urls",
        "webhook_url", "has_webhook_secret", "new_webhook_secret", "webhook_disabled_at", "created_at",
    )  # fmt: skip

    @admin.display(description=_("Has a webhook secret"), boolean=True)
    def has_webhook_secret(self, row: Agent) -> bool:
        return bool(row.webhook_secret)

    def save_model(self, request: HttpRequest, obj: Agent, form: Any, change: bool) -> None:
        request.made = form.set_secrets()  # type: ignore[attr-defined]
        super().save_model(request, obj, form, change)

    def response_add(self, request: HttpRequest, obj: Agent, post_url_continue: str | None = None) -> HttpResponse:
        usual = super().response_add(request, obj, post_url_continue)
        return self._shown_once(request, obj, request.made) or usual  # type: ignore[attr-defined]

    def response_change(self, request: HttpRequest, obj: Agent) -> HttpResponse:
        usual = super().response_change(request, obj)
        return self._shown_once(request, obj, request.made) or usual  # type: ignore[attr-defined]

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.new_key)
        return [path("<int:pk>/key/", view, name="elicit_flows_agent_key"), *super().get_urls()]

    def new_key(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Replace the API key. The previous key is refused at once."""
        row = self.get_object(request, str(pk))
        if row is None:
            raise Http404
        if not self.has_change_permission(request, row):
            raise PermissionDenied
        if request.method != "POST":
            return self._page(request, row, "new_key.html", title=_("Make a new API key"))
        made = {"api_key": agents.new_api_key()}
        with transaction.atomic():
            agents.set_api_key(row, made["api_key"])
            row.save(update_fields=["key_hash", "key_hint"])
            self.log_change(request, row, "Made a new API key.")
        return self._page(request, row, "shown_once.html", title=row.name, made=agents.show_once(made))

    def _shown_once(self, request: HttpRequest, row: Agent, made: dict[str, Secret]) -> HttpResponse | None:
        """In the response itself, since a message would be stored in a cookie or in the session."""
        if not made:
            return None
        return self._page(request, row, "shown_once.html", title=row.name, made=agents.show_once(made))

    def _page(self, request: HttpRequest, row: Agent, template: str, **more: Any) -> HttpResponse:
        context = {**self.admin_site.each_context(request), "opts": self.opts, "agent": row, **more}
        return TemplateResponse(request, f"admin/elicit_flows/agent/{template}", context)

    @admin.action(description=_("Send webhooks again"), permissions=["change"])
    def enable_webhooks(self, request: HttpRequest, rows: QuerySet[Agent]) -> None:
        """An endpoint that answered 410 Gone is disabled until an operator enables it here."""
        for row in rows.exclude(webhook_disabled_at=None):
            with transaction.atomic():
                Agent.objects.filter(pk=row.pk).update(webhook_disabled_at=None, webhook_failures=0)
                self.log_change(request, row, "Enabled the webhook endpoint.")
