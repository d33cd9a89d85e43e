"""Our admin site: a throttled login, and nothing else than Django's."""

from __future__ import annotations

from typing import Any

from django.contrib.admin import AdminSite
from django.contrib.admin.forms import AdminAuthenticationForm
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _

from elicit_flows.lib import ids
from elicit_flows.lib.limits import hit

WINDOW = 300  # seconds
TRIES_PER_NAME = 10
TRIES_PER_ADDRESS = 30


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

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        response = super().login(request, extra_context)
        form = (getattr(response, "context_data", None) or {}).get("form")
        if form is not None and form.has_error(NON_FIELD_ERRORS, code="throttled"):
            response.status_code = 429
            response["Retry-After"] = str(WINDOW)
        return response
