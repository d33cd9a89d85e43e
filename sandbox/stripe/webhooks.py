"""Sends events: at least once, signed, with growing pauses, and with the faults that the weather sets."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

import httpx2

from sandbox.stripe import signing
from sandbox.stripe.endpoints import FORMS, Endpoint, Weather
from sandbox.stripe.store import Account, Thing

TIMEOUT = 10.0  # seconds that an endpoint has to answer
WRONG_SECRET = "whsec_not_the_secret_of_this_endpoint"
ORDERS = ("fifo", "lifo", "random")


@dataclass(frozen=True, slots=True)
class Try:
    """``status`` is the HTTP status, None without an answer; ``error`` then says why. ``at``: real time, in seconds."""

    at: float
    status: int | None
    error: str | None = None


@dataclass(slots=True, eq=False)
class Delivery:
    """One event to one endpoint. ``state``: waiting, held, dropped, delivered, or given_up."""

    event: Thing
    endpoint: Endpoint
    form: str
    weather: Weather
    state: str = "waiting"
    tries: list[Try] = field(default_factory=list)
    tried: threading.Event = field(default_factory=threading.Event)  # set after the first try, whatever came of it


class Sender:
    """Uses a thread for each delivery, which is enough for tests."""

    def __init__(self) -> None:
        self.endpoints: list[Endpoint] = []
        self.weather = Weather()
        self.deliveries: list[Delivery] = []
        self.ended = threading.Event()  # stops retries when everything is forgotten
        self.http = httpx2.Client(trust_env=False, timeout=TIMEOUT)

    def send(self, account: Account, event: Thing) -> None:
        """Send without waiting. Records the number of endpoints in the event, and changes its livemode if the weather
        says so.
        """
        concerned = self.weather.concerns(event["type"])
        weather = self.weather if concerned else Weather(retry_seconds=self.weather.retry_seconds)
        if weather.livemode:
            event["livemode"] = True
        wanted = [one for one in self.endpoints if one.wants(event, account.id, account.platform)]
        event["pending_webhooks"] = len(wanted)
        for endpoint in wanted:
            for form in FORMS[endpoint.form]:
                for _ in range(1 + weather.duplicate):
                    self.begin(Delivery(event, endpoint, form, weather))

    def again(self, event: Thing, times: int = 1) -> list[Delivery]:
        """Send the event again to all that got it, whatever the weather. Returns after the first attempts."""
        known = {(one.endpoint, one.form): one for one in self.deliveries if one.event is event}
        fresh = [Delivery(event, one.endpoint, one.form, Weather()) for one in known.values() for _ in range(times)]
        return self.each(fresh)

    def begin(self, delivery: Delivery) -> None:
        self.deliveries.append(delivery)
        weather = delivery.weather
        delivery.state = "dropped" if weather.drop else "held" if weather.hold else "waiting"
        if delivery.state == "waiting":
            threading.Thread(target=self.deliver, args=(delivery, weather.delay), daemon=True).start()
        else:
            delivery.tried.set()

    def deliver(self, delivery: Delivery, delay: float) -> None:
        ended = self.ended
        for pause in (delay, *delivery.weather.retry_seconds):
            if ended.wait(pause) if pause else ended.is_set():
                return
            if self.attempt(delivery):
                return
        delivery.state = "given_up"

    def attempt(self, delivery: Delivery) -> bool:
        """One attempt. Returns whether it was accepted."""
        try:
            status = self.http.post(
                delivery.endpoint.url, content=body(delivery), headers=headers(delivery)
            ).status_code
        except httpx2.HTTPError as error:
            delivery.tries.append(Try(time.time(), None, type(error).__name__))
        else:
            delivery.tries.append(Try(time.time(), status))
            if 200 <= status < 300:
                delivery.state = "delivered"
        delivery.tried.set()
        return delivery.state == "delivered"

    def release(self, order: str) -> list[Delivery]:
        """Send everything that is held, one after the other. What is not accepted is retried later."""
        held = [one for one in self.deliveries if one.state == "held"]
        if order == "lifo":
            held.reverse()
        elif order == "random":
            random.SystemRandom().shuffle(held)
        return self.each(held)

    def each(self, deliveries: list[Delivery]) -> list[Delivery]:
        for one in deliveries:
            if one not in self.deliveries:
                self.deliveries.append(one)
            one.state = "waiting"
            if not self.attempt(one):
                pauses = one.weather.retry_seconds
                threading.Thread(target=self.deliver, args=(one, pauses[0] if pauses else 0), daemon=True).start()
        return deliveries

    def wait_tried(self, event: Thing, seconds: float) -> None:
        """Wait until every endpoint was tried once, at most that long."""
        deadline = time.monotonic() + seconds
        for one in [one for one in self.deliveries if one.event is event]:
            one.tried.wait(max(0.0, deadline - time.monotonic()))

    def forget(self) -> None:
        self.ended.set()
        self.ended = threading.Event()
        self.deliveries = []
        self.weather = Weather()


def body(delivery: Delivery) -> bytes:
    return signing.payload(delivery.event, delivery.form)


def headers(delivery: Delivery) -> dict[str, str]:
    """The headers. The signature uses the real clock, because receivers have no other."""
    secrets: Iterable[str] = [WRONG_SECRET] if delivery.weather.wrong_secret else delivery.endpoint.secrets
    timestamp = int(time.time()) - delivery.weather.signature_age
    return {
        "Content-Type": "application/json; charset=utf-8",
        "User-Agent": "Stripe/1.0 (SANDBOX double)",
        "Stripe-Signature": signing.header(body(delivery), secrets, timestamp),
    }
