"""The ``mcp`` 2 library's client, with a person who does something at each link."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp import types
from mcp.client.client import Client

MODERN, LEGACY = "auto", "legacy"
ERAS = [MODERN, LEGACY]
every_era = pytest.mark.parametrize("era", [MODERN, pytest.param(LEGACY, marks=pytest.mark.slow)])


class Host:
    """Answers ``action`` to each link, and has somebody do ``then`` with it meanwhile. ``links`` are those it saw."""

    def __init__(self, then: Callable[[str], object] | None = None, action: str = "accept") -> None:
        self.then, self.action = then, action
        self.links: list[str] = []
        self.completed: list[str] = []
        self._people: list[threading.Thread] = []

    async def elicit(self, context: Any, params: Any) -> types.ElicitResult:
        self.links.append(params.url)
        if self.then:
            person = threading.Thread(target=self.then, args=(params.url,))
            person.start()
            self._people.append(person)
        return types.ElicitResult(action=self.action)

    async def hear(self, message: Any) -> None:
        if isinstance(message, types.ElicitCompleteNotification):
            self.completed.append(message.params.elicitation_id)

    def part(self) -> None:
        for person in self._people:
            person.join(30)


@asynccontextmanager
async def talking(server: Any, mode: str, host: Host | None = None, **options: Any) -> AsyncIterator[Client]:
    """A client of ``server``, an address or what starts one; without a host it declares no elicitation."""
    more = {"elicitation_callback": host.elicit, "message_handler": host.hear} if host else {}
    async with Client(server, mode=mode, **more, **options) as client:
        yield client
    if host:
        host.part()


def text(result: Any) -> str:
    return result.content[0].text
