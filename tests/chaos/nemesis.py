"""The faults of a run, drawn from the seed: processes are killed, stopped, cut off or answer wrongly."""

from __future__ import annotations

import itertools
import re
import signal
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from tests.chaos.world import World
from tests.support.box import answers_ready
from tests.support.process import until

HANDS = 3  # faults that are there at the same moment, of different targets
OF_OURS = ["web", "web2", "worker", "deliveries", "beat"]
READY = {"worker": r"\bready\.", "deliveries": r"\bready\.", "beat": "beat: Starting"}
ENDPOINTS = {"drive": ["token", "userinfo", "discovery", "authorization"], "corp": ["token", "jwks", "authorization"]}
CREATE = "POST /v1/checkout/sessions"
CALLS = [CREATE, "GET /v1/checkout/sessions/*", "*"]
ANSWERS = ["lose_reply", "lose_request", "429", "500", "500_executed", "503"]
STRAY = [{"drop": True}, {"duplicate": 3}, {"delay": 0.7}, {"hold": True}]
FAIR = {"types": [], "drop": False, "delay": 0.0, "duplicate": 0, "hold": False, "retry_seconds": [0.5] * 40}
# Each cycle of this deck has every kind once, the processes of the service twice.
KINDS = [
    *(f"{what} {name}" for what in ("kill", "terminate") for name in OF_OURS), "kill web", "kill worker",
    "kill deliveries", "terminate web", *(f"freeze {name}" for name in OF_OURS),
    "kill postgres", "restart postgres", "freeze postgres", "cut_connections postgres",
    "kill redis", "flush redis", "freeze redis", "lose redis",
    "slow drive", "refuse drive", "cut drive", "slow corp", "refuse corp", "cut corp", "freeze drive", "freeze corp",
    "answer stripe", "stray stripe", "freeze stripe",
    "hang receiver", "refuse receiver", "cut receiver", "kill receiver", "freeze receiver",
    "reload nginx", "restart nginx", "kill nginx",
]  # fmt: skip


@dataclass(frozen=True)
class Fault:
    """``lasts`` seconds, then it is mended. ``dice`` is a seed for what else has to be chosen."""

    kind: str
    target: str
    lasts: float
    dice: float

    def one_of(self, choices: list[str]) -> str:
        return Random(self.dice).choice(choices)


def drawn(seed: str, count: int) -> list[Fault]:
    """Cycle after cycle of the deck, shuffled each time."""
    dice = Random(f"{seed}/nemesis")
    deck = itertools.chain.from_iterable(dice.sample(KINDS, len(KINDS)) for _ in itertools.count())
    return [_fault(name, dice) for name in itertools.islice(deck, count)]


def _fault(name: str, dice: Random) -> Fault:
    kind, _, target = name.partition(" ")
    lasts = dice.uniform(2.0, 6.0) if kind == "freeze" else dice.uniform(0.1, 3.0)
    return Fault(kind, target, round(lasts, 2), dice.random())


class Nemesis:
    """``met`` counts what it did. ``begun`` says how many flows were begun: it keeps pace with them.

    A process of the service that ends by itself is started again, as ``restart: unless-stopped`` does, and counted in
    ``restarted``: it may end where it cannot begin because the database is away. One that was ready may not.
    """

    def __init__(self, world: World, faults: list[Fault], flows: int, begun: Callable[[], int]) -> None:
        self.world, self.faults, self.begun = world, faults, begun
        self.met, self.restarted = Counter[str](), Counter[str]()
        self._ready: dict[str, int] = {}
        self.failures: list[BaseException] = []
        self._every = flows / max(1, len(faults))
        self._next = itertools.count()
        self._lock, self._over = threading.Lock(), threading.Event()
        self._busy = {one.target: threading.Lock() for one in faults} | {name: threading.Lock() for name in OF_OURS}
        self._hands = [threading.Thread(target=self._run, name=f"nemesis-{n}", daemon=True) for n in range(HANDS)]
        self._keeper = threading.Thread(target=self._keep, name="supervisor", daemon=True)
        processes = world.box.processes | {
            "postgres": world.postgres.process, "redis": world.redis.process, "drive": world.drive.process,
            "corp": world.corp.process, "stripe": world.sandbox.process, "receiver": world.receiver.process,
            "nginx": world.proxy.process,
        }  # fmt: skip
        self._process = processes

    def start(self) -> None:
        self.world.stripe.weather(**FAIR)
        for hand in [*self._hands, self._keeper]:
            hand.start()

    def finish(self) -> None:
        """Waits until every fault has been, and mended; the flows that are left must be enough to meet them."""
        for hand in self._hands:
            hand.join()
        self.world.stripe.calm()
        self.world.stripe.weather(**FAIR)
        self.world.stripe.release("random")

    def stop_keeping(self) -> None:
        """Everything is ready and stays so."""
        until(lambda: self._ready.keys() >= set(OF_OURS), "all are ready")
        self._over.set()
        self._keeper.join()

    def _keep(self) -> None:
        while not self._over.wait(0.5):
            for name in OF_OURS:
                if self._busy[name].acquire(blocking=False):
                    try:
                        self._look_after(name)
                    finally:
                        self._busy[name].release()

    def _look_after(self, name: str) -> None:
        process = self._process[name]
        if process.alive:
            if self._ready.get(name) != process.pid and self._is_ready(name):
                self._ready[name] = process.pid
            return
        if self._ready.pop(name, None) == process.pid:
            self.world.write("died", process=name, said=process.output()[-1000:])
        self.restarted[name] += 1
        process.start()

    def _is_ready(self, name: str) -> bool:
        if name.startswith("web"):
            return answers_ready(self.world.box.urls[self.world.box.webs.index(name)])
        return bool(re.search(READY[name], self._process[name].printed()))

    def _run(self) -> None:
        try:
            while True:
                with self._lock:
                    number = next(self._next)
                if number >= len(self.faults):
                    return
                while self.begun() < number * self._every:
                    self._over.wait(0.02)
                self._meet(self.faults[number])
        except BaseException as error:
            self.failures.append(error)

    def _meet(self, fault: Fault) -> None:
        with self._busy[fault.target]:
            getattr(self, fault.kind)(fault)
        with self._lock:
            self.met[f"{fault.kind} {fault.target}"] += 1
        self.world.write("fault", kind=fault.kind, target=fault.target, lasts=fault.lasts)

    def _wait(self, fault: Fault) -> None:
        self._over.wait(fault.lasts)

    # Each kind: break it, wait, mend it.

    def kill(self, fault: Fault) -> None:
        server = {"postgres": self.world.postgres}.get(fault.target)
        (server or self._process[fault.target]).kill9()
        self._wait(fault)
        self._begin(fault.target)

    def terminate(self, fault: Fault) -> None:
        """As a deployment does, which waits as long as docker-compose.yml says."""
        self._process[fault.target].stop(45)
        self._wait(fault)
        self._begin(fault.target)

    def restart(self, fault: Fault) -> None:
        self._process[fault.target].stop()
        self._begin(fault.target)

    def _begin(self, target: str) -> None:
        self._process[target].start()
        server = {"postgres": self.world.postgres, "redis": self.world.redis, "nginx": self.world.proxy}.get(target)
        if server:
            server.wait_ready()

    def freeze(self, fault: Fault) -> None:
        self._process[fault.target].pause()
        self._wait(fault)
        self._process[fault.target].resume()

    def lose(self, fault: Fault) -> None:
        """Away for longer, and empty when it is back."""
        self._process[fault.target].kill9()
        self._over.wait(2 * fault.lasts)
        self._begin(fault.target)

    def flush(self, fault: Fault) -> None:
        self.world.redis.flush()

    def cut_connections(self, fault: Fault) -> None:
        self.world.postgres.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
            " AND backend_type = 'client backend'"
        )

    def reload(self, fault: Fault) -> None:
        self._process[fault.target].signal(signal.SIGHUP)

    def slow(self, fault: Fault) -> None:
        self._disturb(fault, delay_ms=int(1000 * fault.lasts))

    def refuse(self, fault: Fault) -> None:
        if fault.target == "receiver":
            self._misbehave(fault, fault.one_of(["500", "503", "404"]))
        else:
            self._disturb(fault, status=int(fault.one_of(["500", "502", "503"])))

    def cut(self, fault: Fault) -> None:
        if fault.target == "receiver":
            self._misbehave(fault, fault.one_of(["cut", "drip"]))
        else:
            self._disturb(fault, drop=True)

    def hang(self, fault: Fault) -> None:
        self._misbehave(fault, "hang")

    def _misbehave(self, fault: Fault, mode: str) -> None:
        self.world.receiver.behave(mode)
        self._wait(fault)
        self.world.receiver.behave("200")

    def _disturb(self, fault: Fault, **how: object) -> None:
        server = getattr(self.world, fault.target)
        endpoint = fault.one_of(ENDPOINTS[fault.target])
        server.fault(endpoint, **how)
        self._wait(fault)
        server.fault(endpoint, times=0)

    def answer(self, fault: Fault) -> None:
        """The payment provider answers some calls otherwise than they deserve, or not at all."""
        self.world.stripe.fault(fault.one_of(ANSWERS), fault.one_of(CALLS), 2)
        self._wait(fault)

    def stray(self, fault: Fault) -> None:
        """Its webhooks get lost, come late, in another order, or several times."""
        self.world.stripe.weather(**STRAY[int(fault.dice * len(STRAY))])
        self._wait(fault)
        self.world.stripe.weather(**FAIR)
        self.world.stripe.release("random")
