"""The client ID metadata document, for providers that read it instead of registering us."""

from __future__ import annotations

from django.conf import settings
from django.db.models import Q
from django.http import Http404, HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from elicit_flows import vault
from elicit_flows.kinds.oauth.client_metadata import client_document
from elicit_flows.models import Provider


@require_safe
def show(request: HttpRequest, slug: str) -> JsonResponse:
    """The document, for anybody; it contains no secret."""
    named = Q(slug=slug, mcp="") | Q(client_slug=slug)  # one for all MCP servers of an authorization server
    row = Provider.objects.filter(named, registration="document", enabled=True).first()
    if row is None:
        raise Http404
    callback = f"{settings.ELICIT_PUBLIC_URL}/callback/{slug}"
    said = client_document(vault.oauth(row), callback, managed=vault.is_managed(row))
    return JsonResponse(said, headers={"Cache-Control": "public, max-age=300"})
