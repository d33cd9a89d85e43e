"""The ASGI application: requests that wait are held on the event loop, all others are answered by Django in threads.

Pages and the agents' API have thread pools of their own, and each has another for views that may call an outside
server, which are marked with ``@asks_outside``. Health checks queue behind no other request. See docs/adr/0023.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

# ruff: noqa: E402  Django must be set up before its models are imported
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.db import connections
from django.urls import Resolver404, get_resolver, resolve

from elicit_flows.api import auth, responses, routes
from elicit_flows.api.batched_creates import Creates
from elicit_flows.api.fast_path import FastPath
from elicit_flows.api.rate_limits import Counted, RateLimits
from elicit_flows.api.reads import KINDS, Reads
from elicit_flows.api.streaming.api_proxy import ApiProxy
from elicit_flows.api.streaming.app import Waiting, header
from elicit_flows.api.streaming.broker import Broker
from elicit_flows.api.streaming.wakeup_listener import WakeupListener
from elicit_flows.domain.errors import BadRequest, FlowError, TooLarge, TooSlow
from elicit_flows.events import wakeups
from elicit_flows.jobs import hint_listener
from elicit_flows.jobs.metrics_store import MetricsWriter
from elicit_flows.jobs.worker import Embedded
from elicit_flows.lib import counters, gc_tuning, http_answers, telemetry
from elicit_flows.lib.thread_pools import ThreadPool
from elicit_flows.lib.wsgi_bridge import BodyTooLarge, BodyTooSlow, Message, Receive, Scope, Send, WsgiBridge, respond
from elicit_flows.web.middleware import api_headers, log_answer

MAX_BODY = 1_000_000
# The most threads of the agents' pool that one agent may use.
AGENT_SHARE = 4
HEALTH = {"livez", "healthz", "readyz"}
# Prometheus and Kubernetes ask for these at the process's own address, so any Host is accepted.
INSIDE = HEALTH | {"metrics", "incidents"}
LONGEST_KEPT = 256  # characters of a path


class View:
    """What the choice of a thread pool needs to know of a view. ``route``: its URL pattern, "" if there is no view."""

    def __init__(self, route: str, view: Callable[..., Any] | None) -> None:
        self.route = route
        admin = getattr(view, "model_admin", None)
        self._outside = getattr(view, "asks_outside", False) or getattr(admin, "asks_outside", False)
        self.operations = routes.operations_of(view)
        asking = [one for one in self.operations if getattr(one.view_func, "asks_outside", False)]
        self._methods = {method for one in asking for method in one.methods}
        some = (one for one in asking if getattr(one.view_func, "for_some_agents", False))
        self._for_some = {method for one in some for method in one.methods}

    def asks_outside(self, method: str, *, managed: bool = True) -> bool:
        """``managed``: whether it may be a request of an agent with managed access."""
        return self._outside or (method in self._methods and (managed or method not in self._for_some))


def resolved(path: str) -> View:
    """The view of a path. Finding it takes about 50 microseconds, so the latest are cached, except for long paths."""
    return _latest(path) if len(path) <= LONGEST_KEPT else _look(path)


def _look(path: str) -> View:
    try:
        found = resolve(path)
    except Resolver404:
        return View("", None)
    return View(found.route, found.func)


_latest = lru_cache(maxsize=4096)(_look)


def _address(scope: Scope) -> str:
    return str((scope.get("client") or ("",))[0])


class Sent:
    """Passes on what is sent and remembers the status."""

    __slots__ = ("_send", "status")

    def __init__(self, send: Send) -> None:
        self._send, self.status = send, 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = int(message["status"])
        await self._send(message)


class Service:
    """Chooses what answers each request, and starts and stops what runs beside that."""

    def __init__(self) -> None:
        scheme = settings.ELICIT_PUBLIC_URL.partition(":")[0]
        self._django = WsgiBridge(get_wsgi_application(), max_body=MAX_BODY, scheme=scheme)
        idle: Any = {"let_go": connections.close_all, "idle": float(settings.ELICIT_DATABASE_IDLE)}
        # A server that hangs can block three pages' shares: the button, the callback and the sign-in.
        self._pages = ThreadPool("pages", threads=4, share=4, outside=False, **idle)
        self._pages_outside = ThreadPool("pages-outside", threads=16, share=4, outside=True, **idle)
        self._agents = ThreadPool("agents", threads=AGENT_SHARE + 1, share=AGENT_SHARE, outside=False, **idle)
        self._agents_outside = ThreadPool("agents-outside", threads=16, share=4, outside=True, **idle)
        self._health = ThreadPool("health", threads=len(HEALTH), share=1, outside=False, **idle)
        self._reading = ThreadPool("reads", threads=KINDS, share=1, outside=False, **idle)
        self._reads = Reads(self._reading)
        self._fast_path = FastPath(self._reads, Creates(self._agents), api_headers(scheme), log_answer)
        self._api_proxy = ApiProxy(self._reads, self._agents_outside, api_headers(scheme), log_answer)
        self._limits = RateLimits(settings.ELICIT_AGENT_IN_FLIGHT)
        self._waiting = Waiting()
        self._listener = WakeupListener()
        self._metrics: MetricsWriter | None = MetricsWriter()
        self._worker = None if settings.CELERY_BROKER_URL else Embedded()
        self._stopping = threading.Event()

    def do_jobs(self, names: list[str]) -> None:
        """Do these background jobs, instead of all if no broker is set and none otherwise. Before the start."""
        self._worker = Embedded(names) if names else None

    @property
    def pools(self) -> list[ThreadPool]:
        return [
            self._pages, self._pages_outside, self._agents, self._agents_outside, self._reading, self._health,
        ]  # fmt: skip

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            # No more calls one within the other than needed: each takes 0.3 kB of a request that waits.
            began, sent = time.monotonic(), Sent(send)
            try:
                await self._answer(scope, receive, sent)
            finally:
                if sent.status:
                    http_answers.add(self._route(scope), scope["method"], sent.status, time.monotonic() - began)
        elif scope["type"] == "websocket":
            # ``serve`` offers none; under another server they are refused, which is 403 to the client.
            await receive()
            await send({"type": "websocket.close", "code": 1000})

    def _route(self, scope: Scope) -> str:
        """The label under which the answer is counted."""
        if ApiProxy.wants(scope):
            return http_answers.PROXIED
        if self._waiting.wants(scope):
            return http_answers.WAITS
        if scope["path"].startswith(settings.STATIC_URL):
            return http_answers.STATIC
        return resolved(scope["path"]).route or (http_answers.NONE if scope["path"] != "/" else "")

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        counted = None
        if scope["path"].startswith("/v1/"):
            send = counted = self._limits.counted(auth.presented(header(scope, b"authorization")), send)
        try:
            # PostgreSQL refuses a text with NUL, even to look for, and no address of ours has one.
            if "\0" in scope["path"] or b"%00" in scope["query_string"]:
                raise BadRequest("An address has no NUL.")
            if counted:
                counted.check()
                if self._waiting.wants(scope):
                    await self._waiting(scope, receive, counted)
                else:
                    await self._agent_api(scope, receive, counted)
            else:
                await self._page(scope, receive, send)
        except BodyTooLarge:
            await respond(send, *responses.raw(TooLarge(f"A request may have {MAX_BODY} bytes.")))
        except BodyTooSlow:
            await respond(send, *responses.raw(TooSlow()))
        except FlowError as error:
            await respond(send, *responses.raw(error))

    async def _page(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pages share their pool by the client's address. Those that may call an outside server share theirs by route,
        or by path if that names the server.
        """
        view = resolved(scope["path"])
        pool, key = self._pages, _address(scope)
        if view.route in INSIDE:  # these build no URL from the Host
            headers = [(name, value) for name, value in scope["headers"] if name != b"host"]
            scope = {**scope, "headers": [*headers, (b"host", b"localhost")]}
        if view.route in HEALTH:
            pool, key = self._health, view.route
        elif view.asks_outside(scope["method"]):
            pool, key = self._pages_outside, scope["path"] if "<slug:" in view.route else view.route
        await self._django(scope, receive, send, pool=pool, key=key)

    async def _agent_api(self, scope: Scope, receive: Receive, send: Counted) -> None:
        """Agents share the pools. A request whose key is not known yet counts for the client's address."""
        if ApiProxy.wants(scope):
            await self._api_proxy(scope, receive, send)
            return
        view, method = resolved(scope["path"]), scope["method"]
        outside = view.asks_outside(method)
        if outside and not view.asks_outside(method, managed=False):
            # Only some agents' requests may ask outside, so the others must not queue behind them.
            is_managed = partial(auth.is_managed, send.key_hash)
            outside = is_managed() if send.agent_id else await self._agents.run(_address(scope), is_managed)
        pool = self._agents_outside if outside else self._agents
        if send.agent_id is None:
            await self._django(scope, receive, send, pool=pool, key=_address(scope))
            return
        with self._limits.in_flight(send.agent_id):
            left = receive if telemetry.ON else await self._fast_path(scope, receive, send)  # spans are Django's
            if left:
                await self._django(scope, left, send, pool=pool, key=str(send.agent_id))

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
        get_resolver().url_patterns  # noqa: B018  imports the views, so that the first request need not wait for it
        hub = self._waiting.hub = Broker(self._reads)
        wakeups.feed_listeners.append(hub.ring)
        self._listener.start(hub)
        self._api_proxy.start()
        counters.gauges["waiters"] = lambda: self._waiting.admission.waiting
        counters.pools.update({pool.name: pool.load for pool in self.pools})
        if self._worker:
            self._worker.start()
            hint_listener.follow_in_thread(self._worker.threads, self._stopping)
        if self._metrics:
            self._metrics.start()
        gc_tuning.freeze()
        self._collecting = asyncio.ensure_future(gc_tuning.collect_periodically())

    async def _stop(self) -> None:
        self._collecting.cancel()
        self._listener.stop()
        self._stopping.set()
        if self._worker:
            self._worker.stop()
        await self._api_proxy.stop()
        if self._metrics:
            self._metrics.stop()
        if self._waiting.hub:
            await self._waiting.hub.close()


application = Service()
