"""What our pages have in common: nothing is deleted, nothing sealed can be asked about, people are shown to few."""

from __future__ import annotations

from typing import Any

from django.contrib.admin import ModelAdmin, TabularInline
from django.http import HttpRequest

from elicit_flows.admin.roles import SEE_PEOPLE, may

_ENDINGS = ("", "__exact", "__id__exact", "__isnull", "__gte", "__lt")


class Discreet:
    """Shows people to those only who may see them."""

    personal: frozenset[str] = frozenset()  # the columns that say who somebody is, or what they were told

    def get_list_display(self, request: HttpRequest) -> Any:
        return self._shown(request, super().get_list_display(request))  # type: ignore[misc]

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return self._shown(request, super().get_fields(request, obj))  # type: ignore[misc]

    def get_search_fields(self, request: HttpRequest) -> Any:
        """What may not be seen may not be asked about either."""
        return self._shown(request, super().get_search_fields(request))  # type: ignore[misc]

    def _shown(self, request: HttpRequest, names: Any) -> Any:
        hidden = frozenset() if may(request, SEE_PEOPLE) else self.personal
        return [name for name in names if str(name).lstrip("=") not in hidden]


class Guarded(Discreet, ModelAdmin):  # type: ignore[type-arg]
    """Rows are switched off rather than deleted: what hangs on them is the audit log and people's connections."""

    show_full_result_count = False
    list_per_page = 50

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Only what a filter of the page asks. Django would let a URL ask about any column, so also about sealed texts
        and hashes, letter by letter. A filter that is a class of its own has a parameter, which is no lookup.
        """
        given: list[Any] = list(self.get_list_filter(request))
        if lookup in {getattr(one, "parameter_name", None) for one in given}:
            return True
        filters = [one if isinstance(one, str) else one[0] for one in given if not isinstance(one, type)]
        return lookup in {name + ending for name in filters for ending in _ENDINGS}


class ReadOnly(Guarded):
    """To look at."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class Inside(Discreet, TabularInline):  # type: ignore[type-arg]
    """What belongs to a row, on its page, to look at."""

    extra = 0

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
