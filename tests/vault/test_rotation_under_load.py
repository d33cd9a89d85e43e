"""T78 with real processes: all secrets are encrypted again while agents fetch tokens, and the command is killed."""

from __future__ import annotations

import base64
import os
import random
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import httpx2
import pytest
from django.conf import LazySettings
from django.db import connections
from pytest_django import DjangoDbBlocker

from elicit_flows import vault
from elicit_flows.models import Agent, Connection
from elicit_flows.vault import connections as kept
from tests.doubles.provider import Provider
from tests.support import rows
from tests.support.box import Box
from tests.support.in_process import default_database
from tests.support.process import PROJECT, clean_env, until
from tests.support.rows import Known
from tests.support.services import Postgres

pytestmark = pytest.mark.slow

ROWS = int(os.environ.get("RESEAL_ROWS", "200"))
USED, CALLERS, PAUSE = 20, 4, 0.08  # four callers with that pause are about 50 calls a second


def key(name: str) -> str:
    return f"{name}:{base64.b64encode(name.encode().ljust(32, b'.')).decode()}"


@pytest.fixture
def box(
    new_box: Callable[..., Box], postgres: Postgres, settings: LazySettings, django_db_blocker: DjangoDbBlocker
) -> Iterator[Box]:
    """It starts with a new key in front of the one under which the test has sealed everything."""
    settings.ELICIT_VAULT_KEYS = key("old")
    keys = {"ELICIT_VAULT_KEYS": f"{key('new')},{key('old')}"}
    box = new_box("embedded", database_url=postgres.database(), settings=keys)
    with default_database(box.database_url, django_db_blocker):
        yield box


@dataclass
class Load:
    """Agents that fetch tokens which have sometimes just run out. ``answers`` counts statuses, ``dead`` the tokens
    that the provider does not know any more.
    """

    url: str
    known: Known
    held: list[Connection]
    double: Provider
    answers: Counter[int] = field(default_factory=Counter)
    dead: int = 0
    over: threading.Event = field(default_factory=threading.Event)

    def call(self, number: int) -> None:
        """Each caller has connections of its own, so that what it is given is the newest there is."""
        chance, mine = random.Random(number), self.held[number::CALLERS]
        with self.known.client(self.url) as client:
            while not self.over.wait(PAUSE):
                self.one(client, chance.choice(mine), expired=chance.random() < 0.3)
        connections.close_all()

    def one(self, client: httpx2.Client, row: Connection, *, expired: bool) -> None:
        if expired:
            rows.expire(row)
        answer = client.post(f"/v1/connections/{row.pk}/token")
        self.answers[answer.status_code] += 1
        self.dead += answer.status_code == 200 and not self.double.live(answer.json()["access_token"])


@pytest.mark.limit(900 if ROWS > 1000 else 120)
def test_t78_no_error_and_no_lost_token_while_everything_is_sealed_anew_and_the_command_dies(
    box: Box, double: Provider, settings: LazySettings
) -> None:
    agent = box.fresh_agent()
    known = Known(Agent.objects.get(slug=agent.slug), box.programs[agent.slug])
    drive = rows.provider(double, slug="resealed")
    used = [rows.connection(known, drive, rows.grant(double, account=f"used-{n}")) for n in range(USED)]
    for number in range(ROWS - USED):
        rows.connection(known, drive, rows.grant(account=f"idle-{number}"))
    settings.ELICIT_VAULT_KEYS = box.env["ELICIT_VAULT_KEYS"]
    load, total = Load(box.url, known, used, double), vault.left_to_rotate()
    assert total >= 2 * ROWS

    with ThreadPoolExecutor(CALLERS) as pool:
        callers = [pool.submit(load.call, number) for number in range(CALLERS)]
        killed = subprocess.Popen(
            [sys.executable, "manage.py", "rotate"], cwd=PROJECT, env=clean_env(box.env), stdout=subprocess.DEVNULL
        )
        until(lambda: vault.left_to_rotate() <= total * 0.7, "30 % are sealed anew", timeout=300, every=0.03)
        killed.kill()
        assert killed.wait() < 0, "it was not through before it was killed"
        assert vault.left_to_rotate() > 0
        again = box.manage("rotate").stdout
        load.over.set()
        for caller in callers:
            caller.result()

    assert "re-encrypted" in again
    assert load.answers.keys() == {200}
    assert load.dead == 0
    assert load.answers.total() > 20
    assert vault.left_to_rotate() == 0
    settings.ELICIT_VAULT_KEYS = key("new")
    for row in Connection.objects.filter(agent=known.row):
        assert kept.opened(row, "access_token")
        assert kept.opened(row, "refresh_token")
    with known.client(box.url) as client:
        for row in used:
            load.one(client, row, expired=True)
    assert (load.answers.keys(), load.dead) == ({200}, 0)
    print(f"{ROWS} rows, {total} texts; {load.answers.total()} calls, of them {double.calls['token']} refreshed")
