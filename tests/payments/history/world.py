"""The world that a history happens in: a service of several processes, the Stripe double, three agents, a book."""

from __future__ import annotations

import json
import os
import re
import secrets
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import httpx2
import psycopg

from tests.cast import Program, program
from tests.faults.supervisor import STARTED, WORKER
from tests.payments.history.checker import Json
from tests.payments.history.stories import AGENTS
from tests.support import box_config
from tests.support.box import Box
from tests.support.op import Op
from tests.support.process import Process
from tests.support.sink import Sink
from tests.support.stripe_control import KEY, SECRET, StripeControl, StripeSandbox

HOOKED = 1  # how many of the agents have a webhook
LONG_AGO = "2020-01-01 00:00:00+00:00"


class Book:
    """What was seen, as it was seen: in memory, and as JSON lines in a file."""

    def __init__(self, path: Path) -> None:
        self.path, self.lines = path, list[Json]()
        self._file = path.open("w", encoding="utf-8")
        self._lock = threading.Lock()
        self._began = time.monotonic()

    @property
    def now(self) -> float:
        """Seconds since the first line."""
        return round(time.monotonic() - self._began, 3)

    def write(self, op: str, **fields: Any) -> None:
        line = {"op": op, "at": self.now, **fields}
        with self._lock:
            self.lines.append(line)
            self._file.write(json.dumps(line) + "\n")

    def close(self) -> None:
        self._file.close()


class World:
    """``box`` has two web processes and maybe a worker, not yet started; they are started under supervisors."""

    def __init__(self, box: Box, corp: Op, sink: Sink, book: Book) -> None:
        self.box, self.corp, self.sink, self.book = box, corp, sink, book
        roles = dict(zip(box.webs, map(str, box.ports), strict=True)) | {"worker": WORKER}
        self.mortal = [name for name in box.processes if name in roles]
        for name in self.mortal:
            box.processes[name].command = [sys.executable, "-m", "tests.faults.supervisor", roles[name]]
        self.sandbox = StripeSandbox(box.url)
        self.stripe: StripeControl = self.sandbox.control
        self.stripe.http = httpx2.Client(base_url=self.sandbox.url, trust_env=False, verify=False, timeout=60)
        self.agents: list[httpx2.Client] = []
        self.slugs: list[str] = []

    def start(self) -> World:
        self.sandbox.start()
        account = {
            "slug": "sandbox", "provider": "stripe", "secret_key": KEY, "webhook_secrets": [SECRET],
            "api_base": self.sandbox.url, "livemode": False, "allow_save": True, "allow_mandates": True,
        }  # fmt: skip
        run = secrets.token_hex(3)
        who = [program(f"history-{run}-{number}") for number in range(AGENTS)]
        tables = [self._agent(one, hooked=number < HOOKED) for number, one in enumerate(who)]
        self.box.apply({"payment_account": [account], "agent": tables})
        self.box.start()
        self.slugs = [one.slug for one in who]
        for one in who:
            headers = {"authorization": f"Bearer {one.api_key}"}
            self.agents.append(httpx2.Client(headers=headers, trust_env=False, verify=False, timeout=40))
        return self

    def _agent(self, who: Program, *, hooked: bool) -> Json:
        url = self.sink.url(f"/{who.slug}") if hooked else None
        return box_config.agent(who, url, payment_accounts=["sandbox"])

    @property
    def hooked(self) -> list[str]:
        return self.slugs[:HOOKED]

    def kill(self, name: str) -> None:
        """The supervisor starts it again."""
        os.kill(self._pid(self.box.processes[name]), signal.SIGKILL)

    def _pid(self, process: Process) -> int:
        return int(re.findall(rf"{STARTED} (\d+)", process.output())[-1])

    def sql(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.box.database_url, autocommit=True) as connection:
            cursor = connection.execute(statement.encode(), values)
            return cursor.fetchall() if cursor.description else []

    def let_time_pass(self) -> None:
        """Every lease has run out, and whatever was put off is due; what came of money that came is left alone."""
        columns = {"checkout": "look_at", "inbound": "try_at", "refund": "try_at", "cancellation": "try_at"}
        for table, column in columns.items():
            waits = f"{column} > now()" + (" AND status != 'paid'" if table == "checkout" else "")
            self._hurry(table, f"{column} = now()", waits)
        self._hurry("delivery", "lease_until = NULL, next_at = now()", "status = 'pending'")

    def _hurry(self, table: str, change: str, waits: str) -> None:
        """What somebody has in hand at this moment is left to them: time takes no locks, and waits for none."""
        table = f"elicit_flows_{table}"
        free = f"SELECT id FROM {table} WHERE {waits} ORDER BY id FOR UPDATE SKIP LOCKED"
        self.sql(f"UPDATE {table} SET {change} WHERE id IN ({free})")

    def let_months_pass(self, refs: list[str]) -> None:
        """What came of the money that was paid there is to be looked at."""
        self.sql("UPDATE elicit_flows_checkout SET look_at = now() WHERE status = 'paid' AND ref = ANY(%s)", refs)

    def close(self) -> None:
        for agent in self.agents:
            agent.close()
        self.sandbox.remove()
        self.book.close()
