"""How operators sign in: the password form with its rate limits, the first password, and the second factor."""

from __future__ import annotations

import logging
from typing import Any

import django_otp
import segno
from django.conf import settings
from django.contrib.admin import AdminSite
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.models import User
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.core.signing import BadSignature, TimestampSigner
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme, urlencode
from django.utils.safestring import mark_safe
from django.utils.translation import gettext_lazy as _

from elicit_flows.admin.audit_log import record
from elicit_flows.lib import ids, rate_limits
from elicit_flows.models import Operator
from elicit_flows.vault import two_factor

log = logging.getLogger(__name__)

DEVICE_COOKIE = settings.SESSION_COOKIE_NAME.replace("sessionid", "operator")  # keeps the "__Host-" prefix
DEVICE_LIFE = 180 * 24 * 3600  # seconds
FIRST_PASSWORD, SECOND_FACTOR = "admin:first_password", "admin:second_factor"


class ThrottledLogin(AdminAuthenticationForm):
    """Counts each try by user name and by address, before the password is checked (threat T112).

    A browser in which this operator has signed in before has a limit of its own. So nobody can lock an operator out by
    trying their name elsewhere (threat T128; OWASP, "Slow down online guessing attacks with device cookies").
    """

    error_messages = {
        **AdminAuthenticationForm.error_messages,
        "throttled": _("Too many tries. Wait five minutes and try again."),
    }

    def clean(self) -> dict[str, Any]:
        name = self.cleaned_data.get("username", "")
        device = _device(self.request, name)
        if device and rate_limits.OPERATOR_BY_DEVICE.hit(device):
            return super().clean()
        address = self.request.META.get("REMOTE_ADDR", "") if self.request else ""
        # Always count both: otherwise a name that is at its limit would not count against the address.
        by_address = rate_limits.OPERATOR_BY_ADDRESS.hit_from(address)
        by_name = rate_limits.OPERATOR_BY_NAME.hit(ids.digest(name))
        if not (by_address and by_name):
            raise ValidationError(self.error_messages["throttled"], code="throttled")
        return super().clean()


def _device(request: HttpRequest | None, name: str) -> str:
    """The id in the device cookie if this operator signed in with this browser before, else ""."""
    try:
        value = _signer().unsign(request.COOKIES.get(DEVICE_COOKIE, ""), max_age=DEVICE_LIFE) if request else ""
    except BadSignature:
        return ""
    whose, _dot, device = value.partition(".")
    return device if whose == ids.digest(name) else ""


def _signer() -> TimestampSigner:
    return TimestampSigner(salt="elicit_flows.admin.device")


def remember_device(request: HttpRequest, response: HttpResponse) -> None:
    """Set the device cookie. It grants no access: it only gives this browser its own count of tries."""
    name = request.user.get_username()
    device = _device(request, name) or ids.token()
    response.set_cookie(
        DEVICE_COOKIE,
        _signer().sign(f"{ids.digest(name)}.{device}"),
        max_age=DEVICE_LIFE,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def record_try(request: HttpRequest, form: Any) -> None:
    """Log a sign-in, successful if ``form`` is None.

    A failed one is in the audit log only if the name is an operator's: people type passwords into the wrong field.
    """
    address = request.META.get("REMOTE_ADDR", "")
    if form is None:
        record(request.user, f"Signed in from {address}.")
        return
    log.warning("a sign-in to the admin failed, from %s", address)
    known = User.objects.filter(username=form.cleaned_data.get("username", "")).first()
    if known and not form.has_error(NON_FIELD_ERRORS, code="throttled"):
        record(known, f"A sign-in failed, from {address}.")


def pending_step(request: HttpRequest) -> str | None:
    """The page that the operator has to complete after the password; None if the admin is open to them."""
    if Operator.objects.filter(user_id=request.user.pk, given_password=True).exists():
        return FIRST_PASSWORD
    verified = getattr(request.user, "is_verified", bool)()
    return SECOND_FACTOR if settings.ELICIT_ADMIN_SECOND_FACTOR and not verified else None


def next_page(request: HttpRequest) -> str:
    """The page of the admin that the operator wanted. Addresses of other sites are ignored."""
    url = request.POST.get("next") or request.GET.get("next") or ""
    ours = url_has_allowed_host_and_scheme(url, allowed_hosts=None) and url.startswith("/admin/")
    return url if ours else reverse("admin:index")


def go_on(request: HttpRequest) -> HttpResponse:
    """Redirect to the pending step, or to the page that the operator wanted."""
    name, url = pending_step(request), next_page(request)
    return HttpResponseRedirect(f"{reverse(name)}?{urlencode({'next': url})}" if name else url)


def first_password(site: AdminSite, request: HttpRequest) -> HttpResponse:
    """Replace the password that came with the account."""
    if pending_step(request) != FIRST_PASSWORD:
        return go_on(request)
    form = SetPasswordForm(request.user, request.POST or None)  # type: ignore[type-var]
    if form.is_valid() and request.user.check_password(form.cleaned_data["new_password1"]):
        form.add_error("new_password1", _("This is the password that you were given. Choose another one."))
    if not form.is_valid():
        return _page(site, request, "first_password.html", _("Choose a password"), form=form)
    form.save()
    Operator.objects.filter(user_id=request.user.pk).update(given_password=False)
    update_session_auth_hash(request, form.user)  # type: ignore[arg-type]
    record(request.user, "Chose a password.")
    return go_on(request)


def second_factor(site: AdminSite, request: HttpRequest) -> HttpResponse:
    """Ask for the second factor; at the first sign-in, set it up."""
    if pending_step(request) != SECOND_FACTOR:
        return go_on(request)
    row = two_factor.operator(request.user)  # type: ignore[arg-type]
    code = request.POST.get("code", "")[:40]
    if not row.confirmed:
        return _set_up(site, request, row, code)
    if code and two_factor.verify_code(row, code):
        _verify_session(request, row)
        record(request.user, "Showed the second factor.")
        return go_on(request)
    if code:
        record(request.user, "Showed a wrong second factor.")
    title = _("Second factor")
    return _page(site, request, "second_factor.html", title, wrong=bool(code), status=403 if code else 200)


def _set_up(site: AdminSite, request: HttpRequest, row: Operator, code: str) -> HttpResponse:
    recovery_codes = two_factor.confirm(row, code) if code else None
    if recovery_codes:
        _verify_session(request, row)
        record(request.user, "Set up a second factor.")
        context: dict[str, Any] = {"codes": recovery_codes, "following": next_page(request)}
        return _page(site, request, "recovery_codes.html", _("Your recovery codes"), **context)
    uri, key = two_factor.key_uri(row, settings.SERVICE_NAME)
    # An inline SVG, since an image with an address of its own could end up in a cache. Scanners want dark on white.
    qr_code = segno.make(uri, error="m", micro=False).svg_inline(scale=5, light="#fff", border=4, omitsize=False)
    context = {
        "picture": mark_safe(qr_code),  # noqa: S308  a path of numbers, which contains none of the text
        "typed": key,
        "wrong": bool(code),
    }
    return _page(
        site, request, "set_up_factor.html", _("Set up a second factor"), status=403 if code else 200, **context
    )


def _verify_session(request: HttpRequest, row: Operator) -> None:
    # A new session key, since somebody with only the password could have got the previous one.
    request.session.cycle_key()
    django_otp.login(request, row)


def _page(
    site: AdminSite, request: HttpRequest, template: str, title: Any, *, status: int = 200, **more: Any
) -> HttpResponse:
    context = {**site.each_context(request), "title": title, "next": next_page(request), **more}
    return TemplateResponse(request, f"admin/sign_in/{template}", context, status=status)
