"""Accounts of this service's own: who has one, and invitations, shown once."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext_lazy as _

from elicit_flows import flow, members
from elicit_flows.admin.base import Guarded
from elicit_flows.models import Member


class MemberAdmin(Guarded):
    """A person stays: what they connected hangs on their sub. Switching them off ends their sessions."""

    list_display = ("name", "sub", "enabled", "passkeys_held", "created_at")
    list_filter = ("enabled",)
    search_fields = ("name", "sub")
    fields = ("name", "sub", "enabled", "passkeys_held", "created_at")
    readonly_fields = ("sub", "passkeys_held", "created_at")
    change_form_template = "admin/elicit_flows/member/change_form.html"

    @admin.display(description=_("Passkeys"))
    def passkeys_held(self, row: Member) -> int:
        return row.passkeys.count() if row.pk else 0

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.invite)
        return [path("<int:pk>/invite/", view, name="elicit_flows_member_invite"), *super().get_urls()]

    def invite(self, request: HttpRequest, pk: int) -> HttpResponse:
        """A link for one more passkey; in the answer itself, since a message would be kept in the session."""
        row: Any = self.get_object(request, str(pk))
        if row is None:
            raise Http404
        if not self.has_change_permission(request, row):
            raise PermissionDenied
        context = {**self.admin_site.each_context(request), "opts": self.opts, "member": row, "title": row.name}
        if request.method == "POST":
            with transaction.atomic():
                context["link"] = members.link(row)
                if request.POST.get("forget"):
                    flow.forget_passkeys(row)
                self.log_change(request, row, "Made an invitation.")
        return TemplateResponse(request, "admin/elicit_flows/member/invite.html", context)
