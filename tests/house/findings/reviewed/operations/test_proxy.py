"""F3 and F4: the proxy that the product ships takes no form on a port of its own, and few who wait."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import httpx2
import pytest

from tests.journey.stage import Stage
from tests.reviewed.operations.proxy import Nginx
from tests.support.box import Box
from tests.support.fixtures import configure_box
from tests.support.http_user import HttpUser
from tests.support.op import Op
from tests.support.ports import free_port
from tests.support.process import until
from tests.support.sink import Sink

# A worker of nginx as it comes has 1024 connections, two for each request that it passes on.
WAITERS = 700


class BehindProxy(Box):
    """Its public address is the proxy's."""

    def __init__(self, port: int) -> None:
        self.public = f"http://127.0.0.1:{port}"
        super().__init__("embedded")

    @property
    def url(self) -> str:
        return self.public


@pytest.fixture(scope="module")
def proxied(corp_server: Op, drive_server: Op, sink: Sink) -> Iterator[tuple[Box, Nginx]]:
    box = BehindProxy(free_port())
    proxy = Nginx(f"127.0.0.1:{box.ports[0]}", int(box.public.rpartition(":")[2]))
    box.migrate()
    configure_box(box, corp_server, drive_server, sink)
    try:
        box.start()
        yield box, proxy.start()
    finally:
        for one in (proxy, box):
            one.remove()


@pytest.fixture
def stage(proxied: tuple[Box, Nginx], corp: Op, drive: Op) -> Stage:
    return Stage(proxied[0], proxied[0].fresh_agent(), corp, drive)


def test_a_flow_goes_to_its_end_on_a_port_of_its_own(stage: Stage, http_user: HttpUser) -> None:
    """The first press of the person is refused, as every press of everybody."""
    http_user.open(stage.ask()["url"])
    assert http_user.page_name == "signin"
    http_user.press("signin", provider="corp")
    assert http_user.page_name != "refused", http_user.text


def test_more_agents_wait_through_it_than_nginx_holds_by_itself(stage: Stage, proxied: tuple[Box, Nginx]) -> None:
    box, proxy = proxied
    agents = [stage.agent, *(box.fresh_agent() for _ in range(3))]
    asked = [stage.ask(kind="confirm", params={}, agent=one)["id"] for one in agents]
    heads = [
        f"GET /v1/elicitations/{pk}?wait=50 HTTP/1.1\r\nHost: 127.0.0.1:{proxy.port}\r\n"
        f"Authorization: Bearer {one.api_key}\r\nConnection: close\r\n\r\n"
        for pk, one in zip(asked, agents, strict=True)
    ]

    def waiters() -> int:
        page = httpx2.get(f"{box.urls[0]}/metrics", trust_env=False, timeout=30).text
        found = re.search(r"^elicit_waiters (\d+)", page, re.M)
        return int(found[1]) if found else 0

    with ExitStack() as stack:
        for number in range(WAITERS):
            one = stack.enter_context(socket.create_connection(("127.0.0.1", proxy.port)))
            one.sendall(heads[number % len(heads)].encode())
            if number + 1 == WAITERS // 2:  # as many as it holds
                until(lambda: waiters() == WAITERS // 2, "half of them wait", timeout=20)
        until(lambda: waiters() == WAITERS, "all of them wait", timeout=20)
