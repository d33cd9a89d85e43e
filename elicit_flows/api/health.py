"""For anybody: alive, ready, a few numbers, and the keys of our receipts. No auth, no ids, no secrets."""

from __future__ import annotations

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models import Sum
from django.http import HttpRequest, HttpResponse, JsonResponse

from elicit_flows import vault
from elicit_flows.models import Delivery, Elicitation, PaymentAccount
from elicit_flows.models.elicitation import UNFINISHED


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


def metrics(request: HttpRequest) -> HttpResponse:
    """Prometheus text format."""
    lines = [
        "# HELP elicit_open_elicitations Elicitations that are not over.",
        "# TYPE elicit_open_elicitations gauge",
        f"elicit_open_elicitations {Elicitation.objects.filter(UNFINISHED, parent=None).count()}",
        "# HELP elicit_deliveries Webhook deliveries that are not done, by status.",
        "# TYPE elicit_deliveries gauge",
    ]
    for status in ("pending", "failed"):
        count = Delivery.objects.filter(status=status).count()
        lines.append(f'elicit_deliveries{{status="{status}"}} {count}')
    ignored = PaymentAccount.objects.aggregate(sum=Sum("ignored"))["sum"] or 0
    lines += [
        "# HELP elicit_webhooks_ignored_total Payment providers' webhooks of the other mode (livemode).",
        "# TYPE elicit_webhooks_ignored_total counter",
        f"elicit_webhooks_ignored_total {ignored}",
    ]
    return HttpResponse("\n".join(lines) + "\n", content_type="text/plain; version=0.0.4; charset=utf-8")
