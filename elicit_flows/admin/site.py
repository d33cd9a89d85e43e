"""Our admin site: a throttled and noted login, what comes between it and the pages, and pages of our own."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from django.contrib.admin import AdminSite
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth.models import User
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver, path
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_protect

from elicit_flows.admin import front, gate, grants, search
from elicit_flows.admin.noting import note
from elicit_flows.lib import ids
from elicit_flows.lib.limits import hit

log = logging.getLogger(__name__)

WINDOW = 300  # seconds
TRIES_PER_NAME = 10
TRIES_PER_ADDRESS = 30

View = Callable[[Any, HttpRequest], HttpResponse]


class ThrottledLogin(AdminAuthenticationForm):
    """Counts every try before the password is looked at, by user name and by address (threat T112)."""

    error_messages = {
        **AdminAuthenticationForm.error_messages,
        "throttled": _("Too many tries. Wait five minutes and try again."),
    }

    def clean(self) -> dict[str, Any]:
        name = self.cleaned_data.get("username", "")
        address = self.request.META.get("REMOTE_ADDR", "") if self.request else ""
        # Both are counted, always: a name that is used up must not save its address's tries.
        by_address = hit(f"operator-address:{address}", TRIES_PER_ADDRESS, WINDOW)
        by_name = hit(f"operator-name:{ids.digest(name)}", TRIES_PER_NAME, WINDOW)
        if not (by_address and by_name):
            raise ValidationError(self.error_messages["throttled"], code="throttled")
        return super().clean()


class OperatorsSite(AdminSite):
    site_title = site_header = "Elicit Flows"
    index_title = _("Operators")
    login_form = ThrottledLogin
    index_template = "admin/room/index.html"

    def has_permission(self, request: HttpRequest) -> bool:
        return bool(super().has_permission(request)) and gate.step(request) is None

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if request.method == "GET" and AdminSite.has_permission(self, request) and gate.step(request):
            return gate.go(request, gate.wanted(request))
        response = super().login(request, extra_context)
        form = (getattr(response, "context_data", None) or {}).get("form")
        if request.method == "POST":
            _note_try(request, form)
        if form is not None and form.has_error(NON_FIELD_ERRORS, code="throttled"):
            response.status_code = 429
            response["Retry-After"] = str(WINDOW)
        return response

    def get_urls(self) -> list[URLPattern | URLResolver]:
        before: dict[str, View] = {
            "first-password": gate.first_password,
            "second-factor": gate.second_factor,
            "logout": OperatorsSite.logout,
        }
        ours = [path(f"{name}/", self._before(view), name=name.replace("-", "_")) for name, view in before.items()]
        ours += [
            path("search/", self.admin_view(partial(search.page, self)), name="search"),
            path("grants/", self.admin_view(partial(grants.page, self)), name="grants"),
        ]
        return [*ours, *super().get_urls()]

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        return super().index(request, {**front.context(request), **(extra_context or {})})

    def _before(self, view: View) -> Callable[[HttpRequest], HttpResponse]:
        """A page for whoever has shown the password, and no more."""

        def inner(request: HttpRequest) -> HttpResponse:
            if not AdminSite.has_permission(self, request):
                return gate.to_login(request)
            return view(self, request)

        return never_cache(csrf_protect(inner))


def _note_try(request: HttpRequest, form: Any) -> None:
    """A sign-in, or one that failed with the name of somebody; what else is typed as a name may be a password."""
    address = request.META.get("REMOTE_ADDR", "")
    if form is None:
        note(request.user, f"Signed in from {address}.")
        return
    log.warning("a sign-in to the admin failed, from %s", address)
    known = User.objects.filter(username=form.cleaned_data.get("username", "")).first()
    if known and not form.has_error(NON_FIELD_ERRORS, code="throttled"):
        note(known, f"A sign-in failed, from {address}.")
