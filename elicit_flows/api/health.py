"""For anybody: alive, ready, and the keys of our receipts. No auth, no ids, no secrets."""

from __future__ import annotations

from django.conf import settings
from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse

from elicit_flows import vault


def healthz(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"status": "ok"})


def readyz(request: HttpRequest) -> JsonResponse:
    """200 when the database answers; says so while development settings are on."""
    try:
        connection.ensure_connection()
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return JsonResponse({"status": "unavailable", "database": "does not answer"}, status=503)
    return JsonResponse({"status": "ready", "allow_loopback": settings.ELICIT_ALLOW_LOOPBACK})


def jwks(request: HttpRequest) -> JsonResponse:
    """The keys of our receipts (RFC 7517): whoever has a receipt can check it."""
    return JsonResponse(vault.public_keys())
