"""Who may ask."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext_lazy as _

from elicit_flows.admin.agent_form import AgentForm
from elicit_flows.admin.limits import Limits
from elicit_flows.admin.switching import Switched
from elicit_flows.configure import keys
from elicit_flows.models import Agent
from elicit_flows.values import Secret


class AgentAdmin(Switched):
    """The slug stands in the seal of the webhook secret, so it stays as it was made."""

    form = AgentForm
    when_off = _(
        "Its API key is refused, nobody can answer what it asked, and its webhooks wait. What people connected for it "
        "stays theirs, and unused."
    )
    list_display = ("slug", "name", "key_hint", "enabled", "webhook_url", "webhook_disabled_at")
    list_filter = ("enabled",)
    search_fields = ("slug", "name")
    readonly_fields = ("key_hint", "has_webhook_secret", "webhook_disabled_at", "created_at")
    filter_horizontal = ("identity_providers", "providers", "payment_accounts")
    change_form_template = "admin/elicit_flows/agent/change_form.html"
    actions = ("take_back",)
    inlines = (Limits,)
    fields = (
        "slug", "name", "enabled", "key_hint", "identity_providers", "all_providers", "providers", "payment_accounts",
        "import_connections", "require_user_token", "user_token_audiences", "return_urls", "webhook_url",
        "has_webhook_secret", "new_webhook_secret", "webhook_disabled_at", "created_at",
    )  # fmt: skip

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return (*self.readonly_fields, "slug") if obj else self.readonly_fields

    @admin.display(description=_("Has a webhook secret"), boolean=True)
    def has_webhook_secret(self, row: Agent) -> bool:
        return bool(row.webhook_secret)

    def save_model(self, request: HttpRequest, obj: Agent, form: Any, change: bool) -> None:
        request.made = form.put_secrets()  # type: ignore[attr-defined]
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
        """Another API key; the one before is refused from then on."""
        row = self.get_object(request, str(pk))
        if row is None:
            raise Http404
        if not self.has_change_permission(request, row):
            raise PermissionDenied
        if request.method != "POST":
            return self._page(request, row, "new_key.html", title=_("Make a new API key"))
        made = {"api_key": keys.new_api_key()}
        with transaction.atomic():
            keys.put_api_key(row, made["api_key"])
            row.save(update_fields=["key_hash", "key_hint"])
            self.log_change(request, row, "Made a new API key.")
        return self._page(request, row, "shown_once.html", title=row.name, made=keys.show_once(made))

    def _shown_once(self, request: HttpRequest, row: Agent, made: dict[str, Secret]) -> HttpResponse | None:
        """In the answer itself: a message would be kept in a cookie or in the session."""
        if not made:
            return None
        return self._page(request, row, "shown_once.html", title=row.name, made=keys.show_once(made))

    def _page(self, request: HttpRequest, row: Agent, template: str, **context: Any) -> HttpResponse:
        known = {**self.admin_site.each_context(request), "opts": self.opts, "agent": row, **context}
        return TemplateResponse(request, f"admin/elicit_flows/agent/{template}", known)

    @admin.action(description=_("Send webhooks again"), permissions=["change"])
    def take_back(self, request: HttpRequest, rows: QuerySet[Agent]) -> None:
        """To an endpoint that was disabled because it answered 410 Gone."""
        for row in rows.exclude(webhook_disabled_at=None):
            with transaction.atomic():
                Agent.objects.filter(pk=row.pk).update(webhook_disabled_at=None, webhook_failures=0)
                self.log_change(request, row, "Took the webhook endpoint back.")
