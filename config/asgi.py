"""The two planes in one process: what waits goes to the waiting plane, everything else to Django in a few threads."""

from __future__ import annotations

import asyncio
import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

# ruff: noqa: E402  Django must be set up before its models are imported
from django.conf import settings
from django.core.wsgi import get_wsgi_application

from elicit_flows.api import problems
from elicit_flows.api.waiting.app import Waiting
from elicit_flows.api.waiting.ears import Ears
from elicit_flows.api.waiting.hub import Hub
from elicit_flows.errors import BadRequest, TooLarge, TooSlow
from elicit_flows.lib import garbage, tally
from elicit_flows.lib.pooled import BodyTooLarge, BodyTooSlow, Pooled, Receive, Scope, Send, respond
from elicit_flows.queue import bell
from elicit_flows.tallies import Keeper
from elicit_flows.worker import Embedded

MAX_BODY = 1_000_000
# Requests that may ask an outside server get threads of their own, so that a slow provider holds up nobody else.
QUICK_THREADS, AWAY_THREADS = 4, 32
_AWAY = ("/callback/", "/login", "/switch", "/c/", "/payments/", "/v1/connections/")


class Service:
    """Sends each request to its plane, and starts and stops what runs beside them."""

    def __init__(self) -> None:
        wsgi = get_wsgi_application()
        scheme = settings.ELICIT_PUBLIC_URL.partition(":")[0]
        self._quick = Pooled(wsgi, threads=QUICK_THREADS, max_body=MAX_BODY, scheme=scheme, name="quick")
        self._away = Pooled(wsgi, threads=AWAY_THREADS, max_body=MAX_BODY, scheme=scheme, name="away")
        self._waiting = Waiting()
        self._ears = Ears()
        self._keeper: Keeper | None = Keeper()
        self._worker = None if settings.CELERY_BROKER_URL else Embedded()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        # PostgreSQL refuses a text with NUL, even to look for, and no address of ours has one.
        if "\0" in scope["path"] or b"%00" in scope["query_string"]:
            await respond(send, *problems.raw(BadRequest("An address has no NUL.")))
            return
        if self._waiting.wants(scope):
            await self._waiting(scope, receive, send)
            return
        plane = self._away if scope["path"].startswith(_AWAY) else self._quick
        try:
            await plane(scope, receive, send)
        except BodyTooLarge:
            await respond(send, *problems.raw(TooLarge(f"A request may have {MAX_BODY} bytes.")))
        except BodyTooSlow:
            await respond(send, *problems.raw(TooSlow()))

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                self._start()
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                await self._stop()
                await send({"type": "lifespan.shutdown.complete"})
                return

    def _start(self) -> None:
        hub = self._waiting.hub = Hub()
        bell.feed_listeners.append(hub.ring)
        self._ears.start(hub)
        tally.gauges["waiters"] = lambda: self._waiting.admission.waiting
        if self._worker:
            self._worker.start()
        if self._keeper:
            self._keeper.start()
        garbage.set_aside()
        self._collecting = asyncio.ensure_future(garbage.collect_now_and_then())

    async def _stop(self) -> None:
        self._collecting.cancel()
        self._ears.stop()
        if self._worker:
            self._worker.stop()
        if self._keeper:
            self._keeper.stop()
        if self._waiting.hub:
            await self._waiting.hub.close()


application = Service()
