"""The operator's pictures, and the style sheet with the brand's colours. Their addresses change with their content."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from elicit_flows.brands import theme
from elicit_flows.models import Picture

FOR_EVER = "public, max-age=31536000, immutable"
# An SVG can be opened on its own, as a page of this service: it may have colours, and nothing else (threat T52).
PICTURE_CSP = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"


@require_safe
def picture(request: HttpRequest, digest: str) -> HttpResponse:
    row = Picture.objects.filter(pk=digest).first()
    if row is None:
        return HttpResponse("There is no such picture.", content_type="text/plain", status=404)
    headers = {"Cache-Control": FOR_EVER, "Content-Security-Policy": PICTURE_CSP}
    return HttpResponse(bytes(row.content), content_type=row.media_type, headers=headers)


@require_safe
def style(request: HttpRequest, name: str, digest: str) -> HttpResponse:
    """The name holds the colours, so every process can make it, an older or newer one of ours too."""
    content = theme.sheet(name)
    if content is None:
        return HttpResponse("There is no such style sheet.", content_type="text/plain", status=404)
    # Another version of this service made the address: this is not the sheet that it meant.
    headers = {"Cache-Control": FOR_EVER} if digest == theme.sheet_digest(name) else {}
    return HttpResponse(content, content_type="text/css; charset=utf-8", headers=headers)
