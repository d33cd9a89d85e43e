"""One INSERT, one SELECT, below /v1 as the agents' API; no authentication, no transaction, no validation."""

from __future__ import annotations

import json
from datetime import timedelta

from django.http import HttpRequest, JsonResponse
from django.urls import path
from django.views.decorators.csrf import csrf_exempt

from bench.bare.models import Row
from elicit_flows.api.health import readyz
from elicit_flows.lib import clock, ids


@csrf_exempt
def insert(request: HttpRequest) -> JsonResponse:
    body, now = json.loads(request.body), clock.now()
    row = Row.objects.create(
        id=ids.name("ro"),
        owner=body["subject"]["sub"],
        message=body["message"],
        data=body["params"],
        created_at=now,
        expires_at=now + timedelta(minutes=15),
    )
    return JsonResponse({"id": row.pk, "message": row.message, "data": row.data}, status=201)


@csrf_exempt
def select(request: HttpRequest, pk: str) -> JsonResponse:
    row = Row.objects.get(pk=pk)
    return JsonResponse({"id": row.pk, "message": row.message, "data": row.data})


urlpatterns = [path("v1/rows", insert), path("v1/rows/<str:pk>", select), path("readyz", readyz)]
