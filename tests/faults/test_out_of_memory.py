"""F22: a process runs out of memory. Nothing acknowledged is lost, and it works again or is restarted."""

from __future__ import annotations

import json
import resource
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from tests.cast import ALICE
from tests.faults.crashing import Crashing
from tests.journey.stage import Stage
from tests.payments.history import collecting
from tests.support.box import AgentClient, Box, answers_ready
from tests.support.http_user import HttpUser
from tests.support.op import Op
from tests.support.process import until
from tests.support.sink import Sink

pytestmark = pytest.mark.slow

LARGE = 900_000  # bytes of a body: a request may have a megabyte
CALLERS, EACH = 12, 8
HEADROOM = 0  # bytes


def limit(pid: int, headroom: int | None) -> None:
    """It gets so much more memory than it has now, or as much as there is."""
    hard = resource.prlimit(pid, resource.RLIMIT_AS)[1]
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:  # noqa: PTH123  a file of the kernel's
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.prlimit(pid, resource.RLIMIT_AS, (resource.RLIM_INFINITY if headroom is None else now + headroom, hard))


@pytest.fixture
def starved(new_crashing: Callable[[str], Crashing]) -> Iterator[Crashing]:
    """Under a supervisor, as in production; it has its memory back in the end."""
    crashing = new_crashing("postgresql")
    crashing.renew()
    yield crashing
    until(lambda: answers_ready(crashing.box.url), "it serves again")


class Load:
    """Agents that ask with large bodies, all at once."""

    def __init__(self, box: Box, agent: AgentClient, issuer: str) -> None:
        self.url, self.headers = box.url, agent.headers
        note = {"detail": "May I?"}
        self.body = {
            "kind": "confirm", "subject": ALICE.subject(issuer), "message": "May I?", "params": note,
            "metadata": {"large": "x" * 3000},
        }  # fmt: skip
        self.answers: Counter[str] = Counter()
        self.kept: dict[str, str] = {}

    def ask(self, key: str) -> httpx2.Response | None:
        headers = {**self.headers, "idempotency-key": key}
        try:
            with httpx2.Client(base_url=self.url, headers=headers, trust_env=False, timeout=30) as client:
                answer = client.post("/v1/elicitations", json=self.body)
        except httpx2.TransportError:
            self.answers["cut"] += 1
            return None
        self.answers[str(answer.status_code)] += 1
        if answer.is_success:
            self.kept[key] = answer.json()["id"]
        return answer

    def burden(self, _: int) -> None:
        """A body that is refused in the end, and has to be read before that."""
        text = json.dumps({**self.body, "metadata": {"large": "x" * LARGE}})
        headers = {**self.headers, "content-type": "application/json"}
        try:
            with httpx2.Client(base_url=self.url, headers=headers, trust_env=False, timeout=30) as client:
                self.answers[str(client.post("/v1/elicitations", content=text).status_code)] += 1
        except httpx2.TransportError:
            self.answers["cut"] += 1

    def wave(self, name: str) -> None:
        with ThreadPoolExecutor(CALLERS) as pool:
            large = [pool.submit(self.burden, number) for number in range(CALLERS * EACH)]
            small = [pool.submit(self.ask, f"{name}-{number}") for number in range(CALLERS * EACH)]
            for one in [*large, *small]:
                one.result()


@pytest.mark.limit(180)
def test_f22_a_process_without_memory_loses_nothing_that_it_acknowledged_and_comes_back(
    starved: Crashing, corp: Op, http_user: HttpUser, sink: Sink
) -> None:
    box, agent = starved.box, starved.box.fresh_agent()
    stage, load = Stage(box, agent, corp, corp), Load(box, agent, corp.issuer)
    load.ask("warm")
    load.burden(0)
    assert set(load.answers) == {"201", "413"}
    pid = starved.pid
    limit(pid, HEADROOM)
    for number in range(3):
        load.wave(f"starved-{number}")
    if starved.pid == pid:
        limit(pid, None)
    until(lambda: answers_ready(box.url), "it serves again")

    for key in [f"starved-{number}-{one}" for number in range(3) for one in range(CALLERS * EACH)]:
        first = load.kept.get(key)
        again = load.ask(key)
        assert again is not None
        assert again.is_success, again.text
        assert first in {None, again.json()["id"]}
    listed = [one["id"] for one in collecting.pages(agent, "/v1/elicitations")]
    assert sorted(listed) == sorted(load.kept.values()), "each key once, and nothing that was acknowledged is gone"
    asked = stage.ask(kind="confirm", params={}, reuse="never")
    http_user.open(asked["url"])
    http_user.carry_on("signin", "alice", "submit")
    assert http_user.page_status == "completed"
    sink.wait_for_event(f"/{agent.slug}", "elicitation.completed", asked["id"], timeout=60)
    assert load.answers["cut"] + load.answers["500"] + load.answers["503"] > 0, f"it never ran short: {load.answers}"
