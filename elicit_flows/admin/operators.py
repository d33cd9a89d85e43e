"""The admin pages of operators, their roles and the audit log."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.admin import RelatedOnlyFieldListFilter
from django.contrib.admin.models import LogEntry
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.forms import AdminPasswordChangeForm
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from elicit_flows.admin.base import CHECKBOXES, AuditedMixin, FilteredMixin, ReadOnlyAdmin


class OperatorAdmin(AuditedMixin, FilteredMixin, UserAdmin):  # type: ignore[type-arg]
    """Only superusers see this page; ``manage.py operator`` does the same for the others."""

    list_display = ("is_active", "username", "email", "is_superuser", "last_login")
    list_display_links = ("username",)
    filter_horizontal = ()
    formfield_overrides: ClassVar[dict[Any, Any]] = CHECKBOXES
    readonly_fields = ("last_login", "date_joined")  # they say what happened

    def construct_change_message(self, request: HttpRequest, form: Any, formsets: Any, add: bool = False) -> Any:
        # That form names "password", which is no field of its own, as changed, and nothing when there is to be none.
        if isinstance(form, AdminPasswordChangeForm):
            return "Changed Password." if form.user.has_usable_password() else "Switched off the password."
        return super().construct_change_message(request, form, formsets, add)


class RoleAdmin(AuditedMixin, GroupAdmin):
    """Changes here last until the next ``migrate``, which restores the roles of ``roles.ROLES``."""

    filter_horizontal = ()
    formfield_overrides: ClassVar[dict[Any, Any]] = CHECKBOXES


class LogEntryAdmin(ReadOnlyAdmin):
    """Entries cannot be deleted. So the account of an operator who has entries can only be disabled."""

    list_display = ("action_time", "user", "what", "object_repr", "content_type")
    list_filter = (
        "action_time", ("user", RelatedOnlyFieldListFilter), ("content_type", RelatedOnlyFieldListFilter),
    )  # fmt: skip
    list_select_related = ("user", "content_type")
    ordering = ("-action_time",)
    fields = ("action_time", "user", "what", "content_type", "object_id", "object_repr", "action_flag")
    readonly_fields = ("what",)

    @admin.display(description=_("What was done"))
    def what(self, row: LogEntry) -> str:
        return row.get_change_message()
