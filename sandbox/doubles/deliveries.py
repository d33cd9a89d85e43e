"""Webhooks that are repeated until they are answered with 200."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2

TIMEOUT = 15.0  # seconds that a receiver has to answer
PAUSES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 120.0)


@dataclass(slots=True, eq=False)
class Delivery:
    """``id`` is of what it is about. ``state``: waiting, dropped, delivered or given_up. ``tries``: HTTP statuses, None
    if no answer came.
    """

    url: str
    id: str
    content: bytes = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    state: str = "waiting"
    tries: list[int | None] = field(default_factory=list)

    def shown(self) -> dict[str, Any]:
        return {"url": self.url, "id": self.id, "state": self.state, "tries": list(self.tries)}


class Deliveries:
    """Uses a thread for each delivery, which is enough for tests. ``drop``: webhooks are lost from now on."""

    def __init__(self) -> None:
        self.drop = False
        self.sent: list[Delivery] = []
        self.ended = threading.Event()
        self.http = httpx2.Client(trust_env=False, timeout=TIMEOUT)

    def send(self, delivery: Delivery) -> None:
        """Send without waiting."""
        self.sent.append(delivery)
        if self.drop:
            delivery.state = "dropped"
        else:
            threading.Thread(target=self.deliver, args=(delivery, self.ended), daemon=True).start()

    def deliver(self, delivery: Delivery, ended: threading.Event) -> None:
        for pause in (*PAUSES, None):
            if self.received(delivery):
                delivery.state = "delivered"
                return
            if pause is None or ended.wait(pause):
                break
        delivery.state = "given_up"

    def received(self, delivery: Delivery) -> bool:
        try:
            answer = self.http.post(delivery.url, content=delivery.content, headers=dict(delivery.headers))
        except httpx2.HTTPError:
            delivery.tries.append(None)
            return False
        delivery.tries.append(answer.status_code)
        return answer.status_code == 200

    def forget(self) -> None:
        self.ended.set()
        self.ended = threading.Event()
        self.sent = []
