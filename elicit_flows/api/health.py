"""/livez, /healthz, /readyz and the public keys of receipts.

They need no authentication, and show no ids and no secrets.
"""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, JsonResponse

from elicit_flows import vault
from elicit_flows.jobs import readiness


def livez(request: HttpRequest) -> JsonResponse:
    """The process answers: it asks nothing and nobody."""
    return JsonResponse({"status": "ok"})


def readyz(request: HttpRequest) -> JsonResponse:
    """200 when the database can be written to and has this version's schema; says so while development settings are on.

    What else is not well is said, and is no reason for 503: see ``readiness.State.ready``.
    """
    found = readiness.state()
    status, word = (200, "ready") if found.ready else (503, "unavailable")
    said = {"status": word, "allow_loopback": settings.ELICIT_ALLOW_LOOPBACK, **found.parts()}
    if found.database == readiness.AWAY:
        del said["schema"], said["worker"]
    return JsonResponse(said, status=status)


def jwks(request: HttpRequest) -> JsonResponse:
    """The public keys of our receipts (RFC 7517), with which anybody can verify a receipt."""
    return JsonResponse(vault.public_keys())
