"""What every page knows."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest


def service(request: HttpRequest) -> dict[str, object]:
    return {"service_name": settings.SERVICE_NAME, "allow_loopback": settings.ELICIT_ALLOW_LOOPBACK}
