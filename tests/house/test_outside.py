"""T124: every view that may ask an outside server is marked, so that it runs in threads that may wait."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from django.urls import URLPattern, URLResolver, get_resolver, resolve

from config.asgi import View
from elicit_flows import http
from elicit_flows.lib import thread_pools
from tests.house.reach import Reach

ASKS = "elicit_flows.http.client.send"


def views() -> Iterator[tuple[str, str, Callable[..., Any], View]]:
    """Route, method, the function that was written for it, and what the server knows of it."""
    for route, callback in _patterns(get_resolver(), ""):
        known = View(route, callback)
        for operation in known.operations:
            yield from ((route, method, operation.view_func, known) for method in operation.methods)
        if not known.operations:
            yield route, "GET", callback, known


def _patterns(resolver: URLResolver, before: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    for one in resolver.url_patterns:
        route = before + str(one.pattern)
        if isinstance(one, URLResolver):
            yield from _patterns(one, route)
        elif isinstance(one, URLPattern):
            yield route, one.callback


def name_of(view: Callable[..., Any]) -> str:
    inner = inspect.unwrap(view)
    while isinstance(inner, partial):
        inner = inner.func
    return f"{inner.__module__}.{inner.__qualname__}"


@pytest.fixture(scope="module")
def reach() -> Reach:
    return Reach()


def test_t124_every_view_that_can_ask_outside_says_so(reach: Reach) -> None:
    asking = reach.to(ASKS)
    seen = set()
    for route, method, view, known in views():
        name = name_of(view)
        seen.add(name)
        if name in asking:
            way = " > ".join(reach.path(name, ASKS))
            assert known.asks_outside(method), f"{method} /{route} can ask outside, by {way}: add @asks_outside"
    assert {"elicit_flows.api.token_exchange.create", "elicit_flows.web.signin.callback"} <= seen & asking


def test_t124_what_does_not_ask_outside_does_not_wait_with_those_that_do(reach: Reach) -> None:
    """A declaration is superfluous if the analysis finds no call."""
    asking = reach.to(ASKS)
    declared = {name_of(view) for _, method, view, known in views() if known.asks_outside(method)}
    # Only Stripe charges later and has subscriptions. Its library makes the calls, which the analysis does not follow.
    only_stripe = {"mandates.charge", "mandates.end", "subscriptions.cancel"}
    assert declared - asking == {f"elicit_flows.api.{name}" for name in only_stripe}


def test_t124_one_page_of_the_admin_asks_outside_and_says_so(reach: Reach) -> None:
    """The views are Django's and call our methods and forms. One that asked outside would declare its class."""
    asking = {name for name in reach.to(ASKS) if name.startswith("elicit_flows.admin.")}
    assert asking == {"elicit_flows.admin.provider_page.test", "elicit_flows.admin.site.OperatorsSite.get_urls"}
    declared = {
        name
        for name, at in {"test": "/admin/provider/drive/test/", "page": "/admin/provider/drive/"}.items()
        if getattr(resolve(at).func, "asks_outside", False)
    }
    assert declared == {"test"}


def test_the_analysis_follows_chosen_kinds_caches_and_packages(reach: Reach) -> None:
    asking = reach.to(ASKS)
    for known in (
        "vault.tokens.token",
        "identity.jwks.signing_keys",
        "elicitations.callback.submit",
        "elicitations.connect.begin",
    ):
        assert f"elicit_flows.{known}" in asking, known
    for quick in (
        "elicitations.creation.create",
        "payments.refunds.ask",
        "api.health.livez",
    ):
        assert f"elicit_flows.{quick}" not in asking, quick


def test_t124_a_quick_thread_asks_nobody() -> None:
    before = getattr(thread_pools._local, "outside", True)
    thread_pools.mark(outside=False)
    try:
        with pytest.raises(thread_pools.WrongThread, match="@asks_outside"):
            http.send("GET", "https://example.com/")
    finally:
        thread_pools.mark(before)
