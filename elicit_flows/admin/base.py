"""Base classes of the admin pages: audit log, hidden personal data, no deletion, switching off, CSV export."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin import ModelAdmin, TabularInline
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.utils import quote
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import ManyToManyField, Model, QuerySet
from django.forms import CheckboxSelectMultiple
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.http import urlencode
from django.utils.translation import gettext, override
from django.utils.translation import gettext_lazy as _

from elicit_flows import people
from elicit_flows.admin import audit_log
from elicit_flows.admin.audit_log import record_for_model
from elicit_flows.admin.roles import EXPORT, SEE_PEOPLE, SWITCH, may
from elicit_flows.lib import clock
from elicit_flows.lib.csv_cells import csv_cells

MAX_CSV_ROWS = 50_000
DAYS = 30  # of a period, unless another one is chosen
# ``formfield_overrides``: several rows are chosen by boxes to tick, which need no script and have names to read out.
CHECKBOXES: dict[Any, Any] = {ManyToManyField: {"widget": CheckboxSelectMultiple}}
# The lookups that Django's own list filters put in a URL.
_FILTER_LOOKUPS = ("", "__exact", "__id__exact", "__isnull", "__gte", "__lt")


def admin_url(row: Model, view: str = "change") -> str:
    # quote(), since Django reads "_5F" in the address of a page as an escaped character, and our ids have underscores.
    return reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_{view}", args=[quote(row.pk)])


def list_url(model: type[Model], **filters: Any) -> str:
    """The list of the model's rows, filtered by the lookups of its list filters."""
    address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    return f"{address}?{urlencode(filters)}" if filters else address


def read_period(given: Mapping[str, str]) -> tuple[date, date, str]:
    """The first and the last day of a form, and what is wrong with them. What is wrong is left out."""
    days: dict[str, date] = {}
    problem = ""
    for name in ("since", "until"):
        try:
            found = date.fromisoformat(given.get(name) or "x")
        except ValueError:
            found = date.min
        if 2000 <= found.year <= 9000:
            days[name] = found
        elif given.get(name):
            problem = gettext("Write the days as year, month and day, such as 2026-11-23.")
    until = days.get("until") or clock.now().date()
    since = days.get("since") or until - timedelta(days=DAYS)
    if since > until:
        return until, until, gettext("The first day must not be after the last.")
    return since, until, problem


def signed_csv(
    request: HttpRequest,
    model: type[Model],
    name: str,
    said: str,
    columns: Sequence[str],
    rows: Iterable[Iterable[Any]],
) -> HttpResponse:
    """A file NAME.csv and its signature in one archive. The audit log notes ``said`` at ``model``, in English."""
    lines, count = io.StringIO(), 0
    writer = csv.writer(lines, quoting=csv.QUOTE_ALL)
    writer.writerow(columns)
    for count, row in enumerate(rows, start=1):  # noqa: B007  how many there were
        writer.writerow(csv_cells(row))
    content = lines.getvalue().encode()
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as files:
        files.writestr(f"{name}.csv", content)
        files.writestr(f"{name}.csv.jws", people.sign_bytes(content, f"{name}.csv") + "\n")
    record_for_model(request.user, model, f"{said}: {count} rows, signed.", None, f"{name}.csv")
    named = {"Content-Disposition": f'attachment; filename="{name}.zip"'}
    return HttpResponse(archive.getvalue(), content_type="application/zip", headers=named)


class FilteredMixin:
    """Takes a filter with a value that the database cannot hold, such as a number of 20 digits, like any wrong one."""

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        try:
            return super().get_changelist_instance(request)  # type: ignore[misc]
        except OverflowError:
            raise IncorrectLookupParameters from None  # Django leads on to the whole list


class PersonalDataMixin:
    """Hides personal data from operators who may not see people."""

    personal: frozenset[str] = frozenset()  # the columns that identify a person, or contain what they were told

    def get_list_display(self, request: HttpRequest) -> Any:
        return self._visible(request, super().get_list_display(request))  # type: ignore[misc]

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return self._visible(request, super().get_fields(request, obj))  # type: ignore[misc]

    def get_search_fields(self, request: HttpRequest) -> Any:
        # A search shows whether a value exists, so hidden columns cannot be searched either.
        return self._visible(request, super().get_search_fields(request))  # type: ignore[misc]

    def _visible(self, request: HttpRequest, names: Any) -> Any:
        hidden = frozenset() if may(request, SEE_PEOPLE) else self.personal
        return [name for name in names if str(name).lstrip("=") not in hidden]


class AuditedMixin:
    """Logs old and new values of a change. Django logs only the names of the fields."""

    def construct_change_message(self, request: HttpRequest, form: Any, formsets: Any, add: bool = False) -> Any:
        """In English, whatever language the operator reads: others read the log, too."""
        with override("en"):
            changes, secrets = audit_log.form_changes(form)
            for formset in formsets or ():
                for inner in formset.forms:
                    deleted, row = inner in formset.deleted_forms, inner.instance
                    name = f"{row._meta.verbose_name} {row}" if row.pk else str(row._meta.verbose_name)
                    if deleted:
                        changes.append((name, str(row), None))
                    elif inner.has_changed():
                        inner_changes = audit_log.form_changes(inner)[0]
                        changes += [(f"{name}: {label}", old, new) for label, old, new in inner_changes]
            return audit_log.describe_changes(changes, secrets, new=add)


class BaseAdmin(AuditedMixin, FilteredMixin, PersonalDataMixin, ModelAdmin):  # type: ignore[type-arg]
    """Rows are switched off, never deleted: the audit log and people's connections refer to them."""

    show_full_result_count = False
    list_per_page = 50

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Only the lookups of the page's own filters.

        Django allows lookups on any column of the model. So a URL could find out a hash or an encrypted secret
        character by character.
        """
        filters: list[Any] = list(self.get_list_filter(request))
        # A filter that is a class has a parameter of its own instead of a lookup.
        if lookup in {getattr(item, "parameter_name", None) for item in filters}:
            return True
        names = [item if isinstance(item, str) else item[0] for item in filters if not isinstance(item, type)]
        return lookup in {name + ending for name in names for ending in _FILTER_LOOKUPS}


class ReadOnlyAdmin(BaseAdmin):
    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class ReadOnlyInline(PersonalDataMixin, TabularInline):  # type: ignore[type-arg]
    """Rows that belong to a row, on its page."""

    # Django's has table headers without text, and a table that scrolls and no key reaches.
    template = "admin/rows_of_a_row.html"
    extra = 0

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class SwitchableAdmin(BaseAdmin):
    """A page of something with ``enabled``, which operators switch off and on after a confirmation.

    It takes effect within a second, since no process caches ``enabled`` for longer.
    """

    change_form_template = "admin/elicit_flows/switch/change_form.html"
    when_off: Any = ""  # what the confirmation says about the time when it is off

    def get_urls(self) -> list[URLPattern]:
        name = f"{self.opts.app_label}_{self.opts.model_name}_switch"
        return [path("<int:pk>/switch/", self.admin_site.admin_view(self.switch), name=name), *super().get_urls()]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        # Addresses and sealed secrets go by the slug. A form that was opened before another operator switched the row
        # off would switch it on again.
        return (*self.readonly_fields, "slug", "enabled") if obj else self.readonly_fields

    def switch(self, request: HttpRequest, pk: int) -> HttpResponse:
        row = self.get_object(request, str(pk))
        if row is None:
            raise Http404
        if not self.may_switch(request, row):
            raise PermissionDenied
        page = admin_url(row)
        if request.method != "POST":
            title = (_("Switch off %(name)s?") if row.enabled else _("Switch on %(name)s?")) % {"name": row}
            context = {**self.admin_site.each_context(request), "opts": self.opts, "row": row, "page": page}
            context |= {"title": title, "when_off": self.when_off}
            return TemplateResponse(request, "admin/elicit_flows/switch/confirm.html", context)
        on = request.POST.get("to") == "on"
        with transaction.atomic():
            # Conditional, so that two operators who press the button at once are logged once.
            changed = self.model._default_manager.filter(pk=pk, enabled=not on).update(enabled=on)
            if changed:
                self.log_change(request, row, "Switched on." if on else "Switched off.")
        message = _("%(name)s is on.") if on else _("%(name)s is off.")
        self.message_user(request, message % {"name": row})
        return HttpResponseRedirect(page)

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any) -> Any:
        row = kwargs.get("obj")
        context["may_switch"] = row is not None and self.may_switch(request, row)
        return super().render_change_form(request, context, *args, **kwargs)

    def may_switch(self, request: HttpRequest, row: Any) -> bool:
        # Operators may switch off a provider at night although only administrators may change it.
        return self.has_change_permission(request, row) or may(request, SWITCH)


class ExportAdmin(ReadOnlyAdmin):
    """A page whose rows can be exported as CSV. Each export is in the audit log."""

    actions: Sequence[str] = ("export_csv",)

    def row(self, row: Any) -> Mapping[str, Any]:
        """The values of one row by column; times as datetime."""
        raise NotImplementedError

    def has_export_permission(self, request: HttpRequest) -> bool:
        return may(request, EXPORT)

    @admin.action(description=_("Export as CSV"), permissions=["export"])
    def export_csv(self, request: HttpRequest, rows: QuerySet[Any]) -> HttpResponse | None:
        found = [self.row(row) for row in rows[: MAX_CSV_ROWS + 1]]
        # What this operator would see on the page.
        exported = [{name: cells[name] for name in self._visible(request, cells)} for cells in found]
        if len(exported) > MAX_CSV_ROWS:
            said = gettext("These are more than %(most)d rows. Choose fewer.") % {"most": MAX_CSV_ROWS}
            self.message_user(request, said, messages.ERROR)
            return None
        with override("en"):
            name = str(self.opts.verbose_name_plural)
        response = HttpResponse(content_type="text/csv; charset=utf-8")
        response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
        writer = csv.writer(response, quoting=csv.QUOTE_ALL)
        if exported:
            writer.writerow(exported[0])
        writer.writerows(csv_cells(row.values()) for row in exported)
        count = len(exported)
        record_for_model(request.user, self.model, f"Exported {count} rows as CSV.", None, f"{count} rows")
        return response
