"""The admin site: its URLs, its sign-in, and what applies to each of its pages."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial, wraps
from typing import Any

from django.contrib.admin import AdminSite
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import NON_FIELD_ERRORS
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.response import SimpleTemplateResponse, TemplateResponse
from django.urls import URLPattern, URLResolver, path, reverse
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_protect

from elicit_flows.admin import (
    audit_page,
    connections,
    dashboard,
    money_page,
    person_page,
    provider_page,
    request_page,
    search,
    sign_in,
)
from elicit_flows.admin.audit_log import record
from elicit_flows.lib import rate_limits, text
from elicit_flows.lib.thread_pools import asks_outside

View = Callable[[Any, HttpRequest], HttpResponse]


class OperatorsSite(AdminSite):
    site_title = site_header = "Elicit Flows"
    index_title = _("Overview")
    login_form = sign_in.ThrottledLogin
    index_template = "admin/operators/overview.html"

    def has_permission(self, request: HttpRequest) -> bool:
        return bool(super().has_permission(request)) and sign_in.pending_step(request) is None

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        # An operator who has shown only the password goes on to the next step rather than back to the password.
        if request.method == "GET" and AdminSite.has_permission(self, request) and sign_in.pending_step(request):
            return sign_in.go_on(request)
        response = super().login(request, extra_context)
        form = (getattr(response, "context_data", None) or {}).get("form")
        if request.method == "POST":
            sign_in.record_try(request, form)
            if form is None:
                sign_in.remember_device(request, response)
        if form is not None and form.has_error(NON_FIELD_ERRORS, code="throttled"):
            response.status_code = 429
            response["Retry-After"] = str(rate_limits.OPERATOR_BY_NAME.seconds)
        return response

    def password_change(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        response = super().password_change(request, extra_context)
        if response.status_code == 302:
            record(request.user, "Changed their own password.")
        return response

    def get_urls(self) -> list[URLPattern | URLResolver]:
        after_password: dict[str, View] = {
            "first-password": sign_in.first_password,
            "second-factor": sign_in.second_factor,
            "logout": OperatorsSite.logout,
        }
        urls = [
            path(f"{name}/", self._after_password(view), name=name.replace("-", "_"))
            for name, view in after_password.items()
        ]
        urls += [
            path("search/", self.admin_view(partial(search.search_page, self)), name="search"),
            path("request/<str:pk>/", self.admin_view(partial(request_page.page, self)), name="request"),
            path("person/<str:reference>/", self.admin_view(partial(person_page.page, self)), name="person"),
            path("providers/add/", self.admin_view(partial(provider_page.add, self)), name="provider_add"),
            path("provider/<slug:slug>/", self.admin_view(partial(provider_page.page, self)), name="provider"),
            path(
                "provider/<slug:slug>/test/",
                asks_outside(self.admin_view(partial(provider_page.test, self))),
                name="provider_test",
            ),
            path("audit/", self.admin_view(partial(audit_page.page, self)), name="audit"),
            path("money/", self.admin_view(partial(money_page.page, self)), name="money"),
            path("grants/", self.admin_view(partial(connections.export_page, self)), name="grants"),
        ]
        return [*urls, *super().get_urls()]

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        """Replaces invisible characters on each page, so that agents' texts cannot disguise what is around them
        (threat T145), and what Django says in English alone.
        """
        inner = super().admin_view(view, cacheable)

        @wraps(inner)
        def spelled(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            response: HttpResponseBase = inner(request, *args, **kwargs)
            if isinstance(response, SimpleTemplateResponse) and not response.is_rendered:
                response.add_post_render_callback(_spell)
            return response

        return spelled

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        return super().index(request, {**dashboard.context(request), **(extra_context or {})})

    def _after_password(self, view: View) -> Callable[[HttpRequest], HttpResponse]:
        """A page for operators who have shown their password, whatever other step is pending."""

        def inner(request: HttpRequest) -> HttpResponse:
            if not AdminSite.has_permission(self, request):
                return redirect_to_login(request.get_full_path(), reverse("admin:login"))
            return view(self, request)

        return never_cache(csrf_protect(inner))


# Django's pictures of a truth value, which it names in English in every language.
_TRUTH = re.compile(r'(?<=\.svg" alt=")(True|False|None)(?=")')
_TRUTHS = {"True": _("Yes"), "False": _("No"), "None": _("Unknown")}


def _spell(response: HttpResponse) -> None:
    page = _TRUTH.sub(lambda found: str(_TRUTHS[found[1]]), response.content.decode(response.charset))
    response.content = text.spelled(page)
