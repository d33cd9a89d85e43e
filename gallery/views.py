"""Shows every page and component by the service's own templates, with fixed contexts. Nothing on them does anything."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import urlencode

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.template import engines
from django.template.loader import get_template
from django.utils import translation
from django.views.decorators.http import require_safe

from elicit_flows.brands.page_brand import PageBrand
from elicit_flows.lib import locales
from elicit_flows.web import languages
from gallery import mails
from gallery.brands import BRANDS
from gallery.components import COMPONENTS
from gallery.everywhere import Context, everywhere
from gallery.states import PAGES

HERE = Path(__file__).parent
# As on the pages themselves, but no form is sent and no script runs: the pages are only looked at.
CSP = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
# A mail program takes the styles of a mail, which are in its text.
MAIL_CSP = CSP.replace("style-src 'self'", "style-src 'unsafe-inline'")


def slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def addresses() -> list[str]:
    """Of every page, component and e-mail, after ``/_gallery/``."""
    return [*map(slug, PAGES), *(f"part-{slug(name)}" for name in COMPONENTS), *mails.ADDRESSES]


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    asked = {key: request.GET[key] for key in ("lang", "brand") if request.GET.get(key)}
    said = f"?{urlencode(asked)}" if asked else ""
    context = {
        **everywhere(),
        "languages": [],
        "pages": _links(PAGES, "", said),
        "parts": _links(COMPONENTS, "part-", said),
        "mails": _links(mails.ADDRESSES, "", said),
        "switches": [*_switches(asked, "lang", dict(settings.LANGUAGES)), *_switches(asked, "brand", BRANDS)],
    }
    return _answer(_own("index.html", context), "en")


@require_safe
def show(request: HttpRequest, slug: str) -> HttpResponse:
    """``?lang=``: the language; ``?brand=``: the name of one of BRANDS."""
    language = locales.supported(request.GET.get("lang", "")) or translation.get_language() or "en"
    brand = BRANDS.get(request.GET.get("brand", ""))
    with translation.override(language), locales.reading(locales.of(language)):
        if slug in mails.ADDRESSES:
            return _mail(slug, brand, language)
        return _answer(_rendered(slug, {"brand": brand} if brand else {}, request), language)


def _rendered(wanted: str, more: Context, request: HttpRequest) -> str:
    for name, (template, _, make) in PAGES.items():
        if slug(name) == wanted:
            return get_template(template).render(_offering(make() | more, request))
    for name, (template, make) in COMPONENTS.items():
        if f"part-{slug(name)}" == wanted:
            own = {"part_name": name, "part": template, "of_account": template.startswith("account/")}
            context = everywhere() | make() | own | more
            return _own("component.html", _offering(context, request))
    raise Http404


def _mail(address: str, brand: PageBrand | None, language: str) -> HttpResponse:
    parts = mails.mail(address.removesuffix(mails.TEXT), brand)
    if address.endswith(mails.TEXT):
        return _answer(_own("text.html", everywhere() | {"name": address, "text": parts["email.txt"]}), language)
    return _answer(parts["email.html"], language, MAIL_CSP)


def _offering(context: Context, request: HttpRequest) -> Context:
    """With every language in the switch, where the page has one."""
    return context | {"languages": languages.offered(request)} if "languages" in context else context


def _own(name: str, context: Context) -> str:
    """A template of the gallery's, which is in no folder that the service's loader knows."""
    source = (HERE / name).read_text(encoding="utf-8")
    return engines["django"].from_string(source).render(context)


def _answer(page: str, language: str, csp: str = CSP) -> HttpResponse:
    return HttpResponse(page, headers={"Content-Security-Policy": csp, "Content-Language": language})


def _links(names: Iterable[str], prefix: str, said: str) -> list[Context]:
    return [{"name": name, "url": f"/_gallery/{prefix}{slug(name)}{said}"} for name in names]


def _switches(asked: dict[str, str], key: str, values: Iterable[str]) -> list[Context]:
    return [{"name": f"{key}={one}", "url": f"/_gallery?{urlencode(asked | {key: one})}"} for one in values]
