"""What goes wrong while a history happens, drawn from the seed: processes die, webhooks stray, the provider fails."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

from tests.payments.history.world import World

EVERY = 4  # payments, from one fault to the next
RETRY = [0.3] * 40  # how often Stripe's double sends a webhook again; in life it does so for days
CREATE, EXPIRE = "POST /v1/checkout/sessions", "POST /v1/checkout/sessions/*/expire"
CHARGE, CHARGES = "POST /v1/payment_intents", "GET /v1/payment_intents*"
CALLS = [
    CREATE, CREATE, CREATE, EXPIRE, "GET /v1/checkout/sessions/*", "POST /v1/refunds", "GET /v1/refunds", "*",
    CHARGE, CHARGE, CHARGES, "POST /v1/payment_intents/*/cancel", "POST /v1/subscriptions/*", "GET /v1/subscriptions/*",
    "POST /v1/payment_methods/*/detach",
]  # fmt: skip
ANSWERS = ["lose_reply", "lose_request", "429", "500", "500_executed", "503", "should_retry", "should_not_retry"]
IN_VAIN = {"retry_seconds": [0.3]}  # each try would be refused like the first
WEATHERS: list[dict[str, Any]] = [
    {"drop": True}, {"delay": 0.7}, {"duplicate": 3}, {"hold": True}, {"wrong_secret": True, **IN_VAIN},
    {"signature_age": 400, **IN_VAIN}, {"signature_age": -400, **IN_VAIN}, {"timing": "after"}, {"livemode": True},
    {"types": ["checkout.session.completed"], "hold": True}, {"types": ["refund.created"], "drop": True},
    {"types": ["invoice.paid", "invoice.payment_failed"], "hold": True}, {"types": ["invoice.paid"], "duplicate": 3},
]  # fmt: skip
BENT: list[dict[str, Any]] = [{"amount": 1}, {"currency": "chf"}, {"livemode": True}]
FAULTS = {"answer": 46, "weather": 28, "kill": 5, "bend": 4, "time": 3, "slow": 5, "deaf": 5, "clock": 4}


class Nemesis:
    """``met`` counts what it did, by kind. ``begun`` says how many payments were begun: it keeps pace with them."""

    def __init__(self, world: World, seed: str, begun: Callable[[], int]) -> None:
        self.world, self.dice, self.met, self.begun = world, Random(f"{seed}/nemesis"), Counter[str](), begun
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="nemesis")
        self.failure: BaseException | None = None

    def start(self) -> None:
        self.world.stripe.weather(retry_seconds=RETRY)
        self.world.stripe.fault("hang", CREATE, hang=20.0)  # longer than anybody waits for an answer
        self.met["hang"] += 1
        self._thread.start()

    def stop(self) -> None:
        """Fair weather from here on."""
        self._over.set()
        self._thread.join(30)
        self.world.stripe.calm()
        self.world.stripe.weather(retry_seconds=RETRY)
        self.world.stripe.release("random")
        if self.failure:
            raise self.failure

    def _run(self) -> None:
        due = EVERY
        try:
            while not self._over.wait(0.02):
                if self.begun() >= due:
                    self._act()
                    due += EVERY
        except Exception as error:
            self.failure = error

    def _act(self) -> None:
        kind = self.dice.choices(list(FAULTS), list(FAULTS.values()))[0]
        self.met[kind] += 1
        self.world.book.write("fault", kind=kind, said=getattr(self, kind)())

    def answer(self) -> Any:
        """The provider answers the next calls otherwise than they deserve, or not at all."""
        name, on, times = self.dice.choice(ANSWERS), self.dice.choice(CALLS), self.dice.choice([1, 1, 1, 2, 4])
        self.world.stripe.fault(name, on, times)
        return [name, on, times]

    def slow(self) -> Any:
        name, on = self.dice.choice(["hang", "late_reply"]), self.dice.choice(CALLS)
        self.world.stripe.fault(name, on, hang=1.0)
        return [name, on]

    def weather(self) -> Any:
        """Another one; what was held until now comes in some order."""
        usual = {"types": [], "drop": False, "delay": 0.0, "duplicate": 0, "hold": False, "wrong_secret": False}
        usual |= {"signature_age": 0, "livemode": False, "timing": "before", "retry_seconds": RETRY}
        chosen = self.dice.choice([*WEATHERS, {}, {}, {}])
        self.world.stripe.weather(**{**usual, **chosen})
        self.world.stripe.release(self.dice.choice(["fifo", "lifo", "random"]))
        return chosen

    def bend(self) -> Any:
        """For a moment payments are not what was asked for."""
        chosen = self.dice.choice(BENT)
        self.world.stripe.bend(**chosen)
        self._over.wait(0.25)
        self.world.stripe.bend()
        return chosen

    def kill(self) -> Any:
        name = self.dice.choice(self.world.mortal)
        self.world.kill(name)
        return name

    def time(self) -> Any:
        """Every lease runs out at once, as if a minute had gone by; those who hold one do not know."""
        return self.world.let_time_pass()

    def clock(self) -> Any:
        self.world.stripe.forward(120)
        return 120

    def deaf(self) -> Any:
        """An agent's webhook fails for a while."""
        self.world.sink.status(f"/{self.world.hooked[0]}", self.dice.choice([500, 503, 404]), times=5)
        return 5
