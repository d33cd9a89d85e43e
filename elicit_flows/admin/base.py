"""What our pages have in common: nothing is deleted, nothing sealed can be asked about."""

from __future__ import annotations

from typing import Any

from django.contrib.admin import ModelAdmin, TabularInline
from django.http import HttpRequest

_ENDINGS = ("", "__exact", "__id__exact", "__isnull", "__gte", "__lt")


class Guarded(ModelAdmin):  # type: ignore[type-arg]
    """Rows are switched off rather than deleted: what hangs on them is the audit log and people's connections."""

    show_full_result_count = False
    list_per_page = 50

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Only what a filter of the page asks. Django would let a URL ask about any column, so also about sealed texts
        and hashes, letter by letter.
        """
        filters = [one for one in self.get_list_filter(request) if isinstance(one, str)]
        return lookup in {name + ending for name in filters for ending in _ENDINGS}


class ReadOnly(Guarded):
    """To look at."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class Inside(TabularInline):  # type: ignore[type-arg]
    """What belongs to a row, on its page, to look at."""

    extra = 0

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
