"""What every page knows."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest
from django.utils.translation.trans_real import parse_accept_lang_header


def service(request: HttpRequest) -> dict[str, object]:
    return {
        "service_name": settings.SERVICE_NAME,
        "allow_loopback": settings.ELICIT_ALLOW_LOOPBACK,
        "reader_locale": _reader(request),
    }


def _reader(request: HttpRequest) -> str:
    """The language tag that the browser asks for first (RFC 9110, section 12.5.4); "" when it asks for none."""
    wanted = parse_accept_lang_header(request.headers.get("accept-language", ""))
    return next((tag for tag, _ in wanted if tag != "*"), "")
