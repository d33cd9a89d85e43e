"""What users have connected: to look at, and to revoke. Tokens are not even read."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db import transaction
from django.db.models import Case, QuerySet, Value, When
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from elicit_flows import vault
from elicit_flows.admin.base import ReadOnly


class Waiting(admin.SimpleListFilter):
    """Those whose provider was last asked in vain."""

    title = _("refresh")
    parameter_name = "refresh"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("waits", _("Waits for its provider"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[vault.Connection]) -> QuerySet[vault.Connection]:
        if self.value() != "waits":
            return queryset
        return queryset.filter(refresh_failures__gt=0, status=vault.Connection.Status.ACTIVE)


class ConnectionAdmin(ReadOnly):
    personal = frozenset({"iss", "sub", "account_id", "account_label"})
    list_display = ("id", "status", "health", "agent", "provider", "sub", "account_label", "upstream", "created_at")
    list_filter = ("status", Waiting, "upstream", "provider", "agent", "created_at")
    search_fields = ("=id", "=sub", "=account_id")
    search_help_text = "An id, a user's sub or an account's id, whole."
    ordering = ("-created_at",)
    actions = ("revoke",)
    fields = (
        "id", "agent", "provider", "iss", "sub", "account_id", "account_label", "scopes", "status", "own_client",
        "token_type", "generation", "created_at", "issued_at", "expires_at", "last_used_at", "revoked_at",
        "health", "last_refresh_error", "refresh_failures", "refresh_started_at", "refresh_due_at",
        "upstream", "upstream_tries", "upstream_next_at",
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> Any:
        rows = super().get_queryset(request).select_related("agent", "provider")
        rows = rows.annotate(refreshable=Case(When(refresh_token="", then=Value(False)), default=Value(True)))
        return rows.defer("access_token", "refresh_token", "secrets")

    @admin.display(description=_("Health"))
    def health(self, row: vault.Connection) -> str:
        refreshable: bool = getattr(row, "refreshable")  # noqa: B009  annotated above
        return row.health_if(refreshable or row.own_client)

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("elicit_flows.change_connection")

    @admin.action(description=_("Revoke"), permissions=["revoke"])
    def revoke(self, request: HttpRequest, rows: QuerySet[vault.Connection]) -> None:
        """At once here; the provider is told by the worker."""
        live = [row for row in rows if row.status != row.Status.REVOKED]
        for row in live:
            with transaction.atomic():
                vault.revoke(row, vault.Use.Actor.OPERATOR)
                self.log_change(request, row, "Revoked.")
        self.message_user(request, _("%d revoked.") % len(live))
