"""What holds for a worker in a process of its own, whether it is Celery's or ``manage.py work``."""

from __future__ import annotations

import time

from tests.cast import ALICE
from tests.support.box import AgentClient, Box
from tests.support.op import Op
from tests.support.sink import Mode, Sink

BUSY = 5.0  # seconds that a busy machine may take on top
LONG_AGO = "2020-01-01T00:00:00Z"
GRACE = 30.0  # seconds, stop_grace_period in docker-compose.yml


def ask(agent: AgentClient, corp: Op) -> str:
    body = {"kind": "confirm", "subject": ALICE.subject(corp.issuer), "message": "May I?", "params": {}}
    answer = agent.post("/v1/elicitations", json=body)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def expired(full: Box, asked: str) -> bool:
    """As the database has it: an agent that looks would expire it itself."""
    found = full.manage("shell", "-c", f"""
from elicit_flows.models import Elicitation
print("status:", Elicitation.objects.get(pk={asked!r}).status)
""").stdout  # fmt: skip
    return "status: expired" in found


def make_overdue(full: Box, asked: str) -> None:
    full.manage("shell", "-c", f"""
from elicit_flows.models import Elicitation
Elicitation.objects.filter(pk={asked!r}).update(expires_at={LONG_AGO!r})
""")  # fmt: skip


def check_stops_with_its_work_done(full: Box, agent: AgentClient, corp: Op, sink: Sink) -> None:
    """Within its time of grace, though one endpoint hangs; the other's answer comes late, and is recorded."""
    hanging, hook = full.fresh_agent(), f"/{agent.slug}"
    sink.hang(f"/{hanging.slug}")
    ask(hanging, corp)
    sink.behave(hook, Mode(drip=True))  # the answer's body takes as long as the deadline lets it
    asked = ask(agent, corp)
    sink.wait_for(hook, 1)
    sink.wait_for(f"/{hanging.slug}", 1)
    began = time.monotonic()
    assert full.processes["worker"].stop(GRACE) == 0
    assert time.monotonic() - began < GRACE - BUSY
    found = agent.get("/v1/webhooks/deliveries").json()["data"]
    assert [len(one["log"]) for one in found] == [1], "what was sent is written down"
    sink.ok(hook)
    sink.ok(f"/{hanging.slug}")
    full.restart("worker")
    sink.wait_for_event(hook, "elicitation.created", asked)
