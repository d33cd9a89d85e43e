"""Which language, locale and time zone a page is in, and the switch that a person sets.

The language is the person's own choice (a cookie), else what the agent suggested for the link, else what the browser
asks for, else the operator's default. All of these are input: each is compared with the languages that there are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC
from typing import Any

from django.conf import settings
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from django.utils import timezone, translation
from django.utils.cache import patch_vary_headers
from django.utils.translation import get_language_info
from django.utils.translation.trans_real import parse_accept_lang_header
from django.views.decorators.http import require_POST

from elicit_flows import elicitations
from elicit_flows.lib import locales
from elicit_flows.web import pages

_LINK = re.compile(r"/c/(el_[\w-]{1,60})(?:/.*)?")
# The pages that the switch leads back to; from any other it leads to the front page. Only the catalogue and the admin
# keep their query: that of a callback contains a code and a state, which no page may repeat.
_PAGE = re.compile(
    r"/(?:(?:c|account|code|device|invitation)(?:/[\w/-]*)?|unsubscribe/[\w.-]+|login/[\w-]+/passkey"
    r"|catalogue(?:\?[\w=&%.+-]*)?"
    r"|admin/(?!logout/)[\w/-]*(?:\?[\w=&%.+/-]*)?)?"
)
ASKING = ("/account/delete", "/account/passkeys")  # of the account, those that are shown and take a form
YEAR = 365 * 24 * 3600


class Languages:
    """Renders each page in its reader's language, locale and time zone, and says so in its headers."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        language = chosen(request)
        wanted = parse_accept_lang_header(request.headers.get("accept-language", ""))
        locale = locales.of(language, (tag for tag, _ in wanted))
        zone = None if _is_admin(request) else locales.zone(request.COOKIES.get(settings.ELICIT_TIMEZONE_COOKIE, ""))
        with translation.override(language), timezone.override(zone or UTC), locales.reading(locale):
            response = self._get_response(request)
        response.setdefault("Content-Language", language)
        patch_vary_headers(response, ("Accept-Language", "Cookie"))
        return response


def chosen(request: HttpRequest, link: str = "") -> str:
    """The language of the page. ``link``: the id in the link that it is about."""
    known = _known(request)
    wishes = (*_wishes(request, link or _link(request)), settings.ELICIT_LANGUAGE)
    return next((one for one in wishes if one in known), "en")


def _is_admin(request: HttpRequest) -> bool:
    """Whether it is a page for operators. Their times are UTC, as in the log, whatever the zone of the browser."""
    return request.path.startswith("/admin/")


def _known(request: HttpRequest) -> list[str]:
    """The languages of the page, in the order of the settings. The admin has fewer of them."""
    codes = [code for code, _ in settings.LANGUAGES]
    return [code for code in codes if code in settings.ELICIT_ADMIN_LANGUAGES] if _is_admin(request) else codes


def _wishes(request: HttpRequest, link: str) -> Iterator[str]:
    own = locales.supported(request.COOKIES.get(settings.LANGUAGE_COOKIE_NAME, ""))
    yield own
    if link and not own:
        with suppress(DatabaseError):  # the page itself says that the service is not available
            yield locales.supported(elicitations.suggested_locale(link))
    for wanted, _ in parse_accept_lang_header(request.headers.get("accept-language", "")):
        yield locales.supported(wanted)


def _link(request: HttpRequest) -> str:
    """The id in the link that the page belongs to; "" if there is none."""
    found = _LINK.fullmatch(request.path)
    return found[1] if found else ""


@require_POST
def switch(request: HttpRequest) -> HttpResponse:
    """Keep the person's choice, and show the same page again. "" ends the choice."""
    following = request.POST.get("here", "")
    response = pages.SeeOther(following if _is_ours(following) else "/")
    language = request.POST.get("language", "")
    name = settings.LANGUAGE_COOKIE_NAME
    if language in dict(settings.LANGUAGES):
        response.set_cookie(
            name,
            language,
            max_age=YEAR,
            secure=settings.LANGUAGE_COOKIE_SECURE,
            httponly=settings.LANGUAGE_COOKIE_HTTPONLY,
            samesite="Lax",
        )
    elif not language:
        response.delete_cookie(name, samesite="Lax")
    return response


def offered(request: HttpRequest) -> list[dict[str, Any]]:
    """The languages to choose from, under their own names."""
    current = translation.get_language()
    return [
        {
            "code": code,
            "name": get_language_info(code)["name_local"],
            "right_to_left": get_language_info(code)["bidi"],
            "current": code == current,
        }
        for code in _known(request)
    ]


def same_page(request: HttpRequest) -> str:
    """The address at which the page that is shown can be opened again, or "/". One that a form led to has its own."""
    shown = request.method in ("GET", "HEAD")
    link = "" if shown else _link(request)
    addresses = (f"/c/{link}" if link else "", request.get_full_path() if shown else "", request.path)
    if not shown and request.path.startswith("/account/") and request.path not in ASKING:
        return "/account"
    return next((one for one in addresses if one and _is_ours(one)), "/")


def _is_ours(address: str) -> bool:
    return bool(_PAGE.fullmatch(address)) and "//" not in address
