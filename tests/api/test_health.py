"""T115: what the probes for operators show, and what they must not show."""

from __future__ import annotations

import re
from collections.abc import Callable

import httpx2
import pytest
from django.conf import LazySettings

from elicit_flows.events import webhooks
from elicit_flows.jobs import readiness
from elicit_flows.models import Agent, Delivery, Provider
from tests.support import rows
from tests.support.rows import Known, question
from tests.support.serving import Served

LABEL = r'[a-z]+="(?:[a-z0-9/_:<>+. -]+|\+Inf|[1-5]xx|[A-Z]+)"'
SAMPLE = re.compile(rf"(?P<name>[a-z_]+)(?:\{{{LABEL}(?:,{LABEL})*\}})? \d+\.\d+(?:e-?\d+)?")
NO_DEADLINE = "elicit_evidence_due_seconds +Inf"  # the one value that may be no number


@pytest.fixture(autouse=True)
def new_look() -> None:
    readiness.forget()


@pytest.fixture
def probe(served: Served) -> Callable[[str], httpx2.Response]:
    """A GET without any key."""
    return lambda path: httpx2.get(served.url + path, trust_env=False)


def test_t115_probes_need_no_key_and_tell_no_secret_and_no_id(
    api: httpx2.Client, known: Known, drive_row: Provider, probe: Callable[[str], httpx2.Response]
) -> None:
    Agent.objects.filter(pk=known.row.pk).update(webhook_url="http://127.0.0.1:9/hooks")
    asked = api.post("/v1/elicitations", json=question(message="canary message")).json()["id"]
    held = rows.connection(known, drive_row).pk
    said = "".join(probe(path).text for path in ("/livez", "/readyz", "/metrics", "/incidents"))
    for secret in (
        asked,
        held,
        known.who.slug,
        known.who.api_key,
        "canary",
        "alice",
        "drive",
        rows.ISSUER,
        "127.0.0.1",
    ):
        assert secret not in said, secret


def test_metrics_are_numbers_in_prometheus_text_and_true(
    api: httpx2.Client, known: Known, probe: Callable[[str], httpx2.Response]
) -> None:
    Agent.objects.filter(pk=known.row.pk).update(webhook_url="http://127.0.0.1:9/hooks")
    asked = [api.post("/v1/elicitations", json=question()).json()["id"] for _ in range(3)]
    api.post(f"/v1/elicitations/{asked[0]}/cancel")
    Delivery.objects.filter(event__elicitation=asked[1]).update(status="failed", tries=webhooks.SCHEDULE.most)
    answer = probe("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    samples = [line for line in answer.text.splitlines() if not line.startswith("#")]
    assert all(SAMPLE.fullmatch(line) for line in samples if line != NO_DEADLINE), samples
    assert NO_DEADLINE in samples
    assert set(samples) >= {
        "elicit_open_elicitations 2.0", 'elicit_deliveries{status="pending"} 3.0',
        'elicit_deliveries{status="failed"} 1.0',
    }  # fmt: skip


def test_ready_says_so_and_that_development_settings_are_on(
    probe: Callable[[str], httpx2.Response], settings: LazySettings
) -> None:
    for allowed in (True, False):
        settings.ELICIT_ALLOW_LOOPBACK = allowed
        answer = probe("/readyz")
        assert (answer.status_code, answer.json()) == (
            200,
            {
                "status": "ready", "allow_loopback": allowed, "database": "writable", "schema": "current",
                "redis": "not used", "worker": "has not run yet",
            },
        )  # fmt: skip
    for path in ("/livez", "/healthz"):
        assert probe(path).json() == {"status": "ok"}
