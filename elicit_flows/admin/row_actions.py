"""What an operator can do on a page about one thing: the actions of Django's admin, with their rights and their log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib.admin import AdminSite
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest

MAX_ROWS = 500  # that one press acts on


@dataclass(frozen=True, slots=True)
class RowAction:
    """One button. ``action`` is done to ``row``, or to all rows of the page if that is "". ``about``: what it is done
    to, for those who hear the page. ``warning``: what is said before it is done; without one, it is done at once.
    """

    action: str
    row: str
    label: Any
    about: str = ""
    warning: Any = ""


def allowed(site: AdminSite, request: HttpRequest, model: type[Model], action: str) -> bool:
    """Whether this operator may do the action of the model's admin page."""
    page: Any = site.get_model_admin(model)
    return bool(page.has_view_permission(request)) and action in page.get_actions(request)


def perform(site: AdminSite, request: HttpRequest, action: str, rows: QuerySet[Any]) -> None:
    """Do the action to ``rows``; it says what came of it, and writes into the audit log. Raises PermissionDenied, and
    Http404 if there are none.
    """
    if not allowed(site, request, rows.model, action):
        raise PermissionDenied
    page: Any = site.get_model_admin(rows.model)
    found = page.get_queryset(request).filter(pk__in=list(rows.values_list("pk", flat=True)[:MAX_ROWS]))
    if not found:
        raise Http404
    page.get_actions(request)[action][0](page, request, found)
