"""What an operator does between the password and the admin: choose a password of their own, show a second factor."""

from __future__ import annotations

from typing import Any

import django_otp
import segno
from django.conf import settings
from django.contrib.admin import AdminSite
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme, urlencode
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _

from elicit_flows.admin.noting import note
from elicit_flows.models import Operator
from elicit_flows.vault import operators

FIRST_PASSWORD, SECOND_FACTOR = "admin:first_password", "admin:second_factor"


def step(request: HttpRequest) -> str | None:
    """The page that comes before all others; None: the admin is open."""
    if Operator.objects.filter(user_id=request.user.pk, given_password=True).exists():
        return FIRST_PASSWORD
    verified = getattr(request.user, "is_verified", bool)()
    return SECOND_FACTOR if settings.ELICIT_ADMIN_SECOND_FACTOR and not verified else None


def go(request: HttpRequest, following: str) -> HttpResponse:
    """To what is still to be done, and from there on to ``following``."""
    name = step(request)
    return HttpResponseRedirect(f"{reverse(name)}?{urlencode({'next': following})}" if name else following)


def wanted(request: HttpRequest) -> str:
    """Where the operator was going: a page of ours."""
    following = request.POST.get("next") or request.GET.get("next") or ""
    ours = url_has_allowed_host_and_scheme(following, allowed_hosts=None) and following.startswith("/admin/")
    return following if ours else reverse("admin:index")


def first_password(site: AdminSite, request: HttpRequest) -> HttpResponse:
    """Instead of the one that was given with the account."""
    if step(request) != FIRST_PASSWORD:
        return go(request, wanted(request))
    form = SetPasswordForm(request.user, request.POST or None)  # type: ignore[type-var]
    if not form.is_valid():
        return _page(site, request, "first_password.html", _("Choose a password of your own"), form=form)
    form.save()
    Operator.objects.filter(user_id=request.user.pk).update(given_password=False)
    update_session_auth_hash(request, form.user)  # type: ignore[arg-type]
    note(request.user, "Chose a password.")
    return go(request, wanted(request))


def second_factor(site: AdminSite, request: HttpRequest) -> HttpResponse:
    """Set it up at the first time, show it at the others."""
    if step(request) != SECOND_FACTOR:
        return go(request, wanted(request))
    row = operators.operator(request.user)  # type: ignore[arg-type]
    code = request.POST.get("code", "")[:40]
    if not row.confirmed:
        return _set_up(site, request, row, code)
    if code and operators.passes(row, code):
        _let_in(request, row)
        note(request.user, "Showed the second factor.")
        return go(request, wanted(request))
    if code:
        note(request.user, "Showed a wrong second factor.")
    title = _("Show your second factor")
    return _page(site, request, "second_factor.html", title, wrong=bool(code), status=403 if code else 200)


def _set_up(site: AdminSite, request: HttpRequest, row: Operator, code: str) -> HttpResponse:
    codes = operators.confirm(row, code) if code else None
    if codes:
        _let_in(request, row)
        note(request.user, "Set up a second factor.")
        title = _("Your recovery codes")
        return _page(site, request, "recovery_codes.html", title, codes=codes, following=wanted(request))
    uri, typed = operators.key_uri(row, settings.SERVICE_NAME)
    title = _("Set up a second factor")
    shown = {"picture": _picture(uri), "typed": typed, "wrong": bool(code)}
    return _page(site, request, "set_up_factor.html", title, status=403 if code else 200, **shown)


def _let_in(request: HttpRequest, row: Operator) -> None:
    """Under a new session key: the one of before could be had with the password alone."""
    request.session.cycle_key()
    django_otp.login(request, row)


def _picture(uri: str) -> SafeString:
    """As an SVG in the page: nothing of it is ever at an address of its own. Dark on white, as scanners want it."""
    drawn = segno.make(uri, error="m", micro=False).svg_inline(scale=5, light="#fff", border=4, omitsize=False)
    return mark_safe(drawn)  # noqa: S308  a path of numbers: nothing of the text stands in it


def _page(
    site: AdminSite, request: HttpRequest, template: str, title: str, *, status: int = 200, **more: Any
) -> HttpResponse:
    known = {**site.each_context(request), "title": title, "next": wanted(request), **more}
    return TemplateResponse(request, f"admin/gate/{template}", known, status=status)


def to_login(request: HttpRequest) -> HttpResponse:
    return redirect_to_login(request.get_full_path(), reverse("admin:login"))
