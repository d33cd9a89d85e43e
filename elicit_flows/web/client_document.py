"""The document that our ``client_id`` names at providers that read it there, instead of registering us."""

from __future__ import annotations

from django.conf import settings
from django.http import Http404, HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from elicit_flows import vault
from elicit_flows.kinds.oauth.registering import document
from elicit_flows.models import Provider


@require_safe
def show(request: HttpRequest, slug: str) -> JsonResponse:
    """For anybody; nothing in it is secret."""
    row = Provider.objects.filter(slug=slug, registration="document", enabled=True).first()
    if row is None:
        raise Http404
    said = document(vault.oauth(row), f"{settings.ELICIT_PUBLIC_URL}/callback/{slug}")
    return JsonResponse(said, headers={"Cache-Control": "public, max-age=300"})
