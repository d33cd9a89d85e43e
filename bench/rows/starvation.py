"""Starving: what a tenth of the receivers that hangs does to everybody else's work, in the full shape.

PostgreSQL, Redis, Celery's worker and beat. Refreshes, expiry and looks at payments fall due one after the other while
agents ask all the time and their webhooks are delivered.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime
from functools import partial

from bench.findings import Finding, Goal
from bench.ground import BOT, PROVIDER, Ground
from bench.plan import Plan
from bench.rounds import Sample, interleaved, percentile
from bench.rows.create import ask
from bench.talk import Peer

TITLE = "Starvation"
KEY = "key-of-one-of-the-agents-with-a-receiver-%08d"
AGENTS, ONE_IN = 50, 10
DUE = 60  # of each kind
SECONDS = 8.0  # over which they fall due; a worker looks every second
LAST = 3.0  # seconds for what falls due last
KINDS = {"refresh": "refreshes", "expiry": "expiry", "payment": "looks at payments", "webhook": "others' webhooks"}


def measure(ground: Ground, plan: Plan) -> Iterator[Finding]:
    receiver = ground.peer("bench.receiver")
    receiver.call("hang", paths=[f"/ill/{number}" for number in range(0, AGENTS, ONE_IN)])
    sides = {name: Side(ground, receiver, name) for name in ("well", "ill")}
    templates = [ask(ground.provider.issuer, KEY % number) for number in range(AGENTS)]
    once = {name: partial(side.once, ground.client, templates) for name, side in sides.items()}
    for run in once.values():
        run()
    found = interleaved(plan.rounds, **once)
    for side in sides.values():
        side.box.stop()
    for kind, title in KINDS.items():
        beside = f"{found.span('ill', kind, 'ms')} ÷ {found.span('well', kind, 'ms')}"
        if kind == "webhook":
            beside += f"; came of those asked {min(found.values('ill', 'came')):.2f}"
        what = f"p99 of {title}, a tenth of the receivers hanging ÷ none"
        yield Finding(what, found.ratio(kind, "ill", "well"), "", Goal("≤", 1.5), beside)


class Side:
    """A service of web process, worker and beat; every agent asks once a second and is told by webhook."""

    def __init__(self, ground: Ground, receiver: Peer, name: str) -> None:
        self.box, self.receiver, self.prefix = ground.box("full"), receiver, f"/{name}/"
        self.hand = ground.inside(self.box)
        self.receiver_url = f"http://127.0.0.1:{receiver.call('port')}"
        self.agents = self.hand.call("hooked", count=AGENTS, url=f"{self.receiver_url}{self.prefix}%d", key=KEY)
        first = 0 if name == "well" else DUE
        tokens = [ground.provider.grant(number) for number in range(first, first + DUE)]
        self.hand.call("grants", agent=BOT.slug, provider=PROVIDER, tokens=tokens, seconds=3600)

    def once(self, client: Peer, templates: list[str]) -> Sample:
        """Milliseconds by kind, 99 of 100, from when it was due to when it was done.

        It begins with as many webhooks under way to each receiver that may hang as one may have.
        """
        self.hand.call("calm")
        self.hand.call("fill", agents=self.agents[::ONE_IN])
        self.receiver.call("got")
        looks = self.hand.call("fall_due", slug=BOT.slug, count=DUE, seconds=SECONDS, api_base=self.receiver_url)
        told = client.call(
            "load", ports=self.box.ports, templates=templates, callers=AGENTS, seconds=SECONDS + 1.0, every=1.0
        )
        time.sleep(LAST)
        done: dict[str, list[float]] = self.hand.call("was_done", slug=BOT.slug)
        got = self.receiver.call("got")
        seen = {path.rpartition("/")[2].partition("?")[0]: at for path, _, _, at in reversed(got)}
        done["payment"] = [seen.get(ref, time.time()) - due for ref, due in looks.items()]
        done["webhook"] = [at - _epoch(made) for path, _, made, at in got if self._healthy(path) and made]
        came = len(done["webhook"]) / told["count"] / (1 - 1 / ONE_IN)
        return {kind: percentile(took, 0.99) * 1000 for kind, took in done.items()} | {"came": came}

    def _healthy(self, path: str) -> bool:
        return path.startswith(self.prefix) and int(path.removeprefix(self.prefix)) % ONE_IN != 0


def _epoch(moment: str) -> float:
    return datetime.fromisoformat(moment).timestamp()
