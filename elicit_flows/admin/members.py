"""The admin page of people with an account of this service: create them, invite them, switch them off."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext_lazy as _

from elicit_flows import people, vault
from elicit_flows.admin import persons
from elicit_flows.admin.base import SwitchableAdmin, admin_url
from elicit_flows.admin.roles import CHANGE_IDENTITIES, may
from elicit_flows.models import Member
from elicit_flows.people import local_accounts


class MemberAdmin(SwitchableAdmin):
    """People are never deleted here, since their connections refer to their sub. Switching one off ends their sessions.

    Whoever has an invitation can sign in as that person. So only administrators may invite somebody who has used the
    account.
    """

    when_off = _("They cannot sign in, and can open nothing any more. What agents can use stays connected.")
    list_display = ("enabled", "name", "sub", "passkey_count", "created_at")
    list_display_links = ("name",)
    list_filter = ("enabled",)
    search_fields = ("name", "sub")
    fields = ("name", "sub", "enabled", "passkey_count", "created_at")
    readonly_fields = ("sub", "passkey_count", "created_at")
    change_form_template = "admin/elicit_flows/member/change_form.html"

    @admin.display(description=_("Passkeys"))
    def passkey_count(self, row: Member) -> int:
        return row.passkeys.count() if row.pk else 0

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.invite)
        return [path("<int:pk>/invite/", view, name="elicit_flows_member_invite"), *super().get_urls()]

    def switch(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Sessions from before are not to come back with the person."""
        with transaction.atomic():
            response = super().switch(request, pk)
            row = self.get_object(request, str(pk))
            if request.method == "POST" and row and not row.enabled:
                people.end_sessions(persons.claim_of(row))
        return response

    def invite(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Show a link that adds a passkey. In the response itself, since a message would be stored in the session."""
        row: Any = self.get_object(request, str(pk))
        if row is None:
            raise Http404
        if not self.has_change_permission(request, row):
            raise PermissionDenied
        if not row.enabled:  # the link would lead nowhere
            self.message_user(request, _("%(name)s is off.") % {"name": row.name}, level=messages.WARNING)
            return HttpResponseRedirect(admin_url(row))
        # An account whose passkeys were deleted is no new one.
        used = row.passkeys.exists() or vault.ever_held_by(persons.claim_of(row)).exists()
        if used and not may(request, CHANGE_IDENTITIES):
            message = _("%(name)s has used this account: only an administrator can make another invitation.")
            self.message_user(request, message % {"name": row.name}, level=messages.WARNING)
            return HttpResponseRedirect(admin_url(row))
        context = {**self.admin_site.each_context(request), "opts": self.opts, "member": row, "title": row.name}
        if request.method == "POST":
            with transaction.atomic():
                context["link"], done = local_accounts.link(row), "Made an invitation."
                if request.POST.get("forget"):
                    people.forget_passkeys(row)
                    done = "Made an invitation, and deleted the passkeys."
                self.log_change(request, row, done)
        return TemplateResponse(request, "admin/elicit_flows/member/invite.html", context)
