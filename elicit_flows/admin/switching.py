"""Switching one off, and on again: at once, asked back first, noted."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext as _

from elicit_flows.admin.base import Guarded
from elicit_flows.admin.links import page_of


class Switched(Guarded):
    """A page of something with ``enabled``. Every process reads that anew each second at least."""

    change_form_template = "admin/elicit_flows/switched/change_form.html"
    when_off: Any = ""  # what it means while it is off

    def get_urls(self) -> list[URLPattern]:
        name = f"{self.opts.app_label}_{self.opts.model_name}_switch"
        return [path("<int:pk>/switch/", self.admin_site.admin_view(self.switch), name=name), *super().get_urls()]

    def switch(self, request: HttpRequest, pk: int) -> HttpResponse:
        row = self.get_object(request, str(pk))
        if row is None:
            raise Http404
        if not self.has_change_permission(request, row):
            raise PermissionDenied
        page = page_of(row)
        if request.method != "POST":
            return self._ask(request, row, page)
        on = request.POST.get("to") == "on"
        with transaction.atomic():
            changed = self.model._default_manager.filter(pk=pk, enabled=not on).update(enabled=on)
            if changed:
                self.log_change(request, row, "Switched on." if on else "Switched off.")
        said = _("%(name)s is on.") if on else _("%(name)s is off.")
        self.message_user(request, said % {"name": row})
        return HttpResponseRedirect(page)

    def _ask(self, request: HttpRequest, row: Any, page: str) -> HttpResponse:
        title = (_("Switch off %(name)s?") if row.enabled else _("Switch on %(name)s?")) % {"name": row}
        known = {**self.admin_site.each_context(request), "opts": self.opts, "row": row, "page": page, "title": title}
        return TemplateResponse(request, "admin/elicit_flows/switched/ask.html", known | {"when_off": self.when_off})
