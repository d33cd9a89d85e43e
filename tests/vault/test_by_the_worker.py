"""The worker refreshes tokens in both set-ups: as a thread inside the server, and with Celery and its beat."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.conf import LazySettings
from pytest_django import DjangoDbBlocker

from elicit_flows.lib import clock
from elicit_flows.models import Agent, Connection
from tests.doubles.provider import Provider
from tests.support import rows
from tests.support.box import Box
from tests.support.in_process import default_database
from tests.support.process import until
from tests.support.rows import Known

pytestmark = pytest.mark.slow


def test_a_token_in_use_is_refreshed_before_it_runs_out_and_before_anybody_asks(
    box: Box, double: Provider, settings: LazySettings, django_db_blocker: DjangoDbBlocker
) -> None:
    settings.ELICIT_VAULT_KEYS = box.env["ELICIT_VAULT_KEYS"]
    agent = box.fresh_agent()
    with default_database(box.database_url, django_db_blocker):
        known = Known(Agent.objects.get(slug=agent.slug), box.programs[agent.slug])
        held = rows.connection(known, rows.provider(double, slug=f"worker-{box.shape}"), rows.grant(double))
        now = clock.now()
        started, ends = now - timedelta(minutes=55), now + timedelta(minutes=5)
        rows_of_it = Connection.objects.filter(pk=held.pk)
        rows_of_it.update(issued_at=started, expires_at=ends, last_used_at=now, refresh_due_at=now)
        until(lambda: rows_of_it.get().generation == 2, "the worker has refreshed it")
    assert double.calls["token"] == 1
    [told] = [one for one in agent.get("/v1/events").json()["data"] if one["type"] == "connection.refreshed"]
    assert (told["data"]["id"], told["data"]["health"]) == (held.pk, "ok")
    assert told["data"]["next_refresh_at"] > told["data"]["expires_at"], "that token has not been used yet"
    given = agent.post(f"/v1/connections/{held.pk}/token").json()
    assert double.live(given["access_token"])
    assert double.calls["token"] == 1
    [said] = agent.get("/v1/connections").json()["data"]
    assert said["next_refresh_at"] < said["expires_at"], "now it has"
