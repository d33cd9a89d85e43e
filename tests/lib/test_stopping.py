"""A server that is told to stop answers every request that has reached it."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
import uvicorn
import uvloop

from elicit_flows.lib import http_server, wsgi_bridge
from elicit_flows.lib.http_server import GracefulServer

REQUEST = b"POST / HTTP/1.1\r\nhost: here\r\ncontent-length: 2\r\n\r\nhi"

Run = Callable[[Callable[[], Coroutine[Any, Any, None]]], None]


async def app(scope: wsgi_bridge.Scope, receive: wsgi_bridge.Receive, send: wsgi_bridge.Send) -> None:
    await wsgi_bridge.respond(send, 200, [], b"here")


@pytest.fixture(params=[uvloop.new_event_loop, asyncio.new_event_loop], ids=["uvloop", "asyncio"])
def run(request: pytest.FixtureRequest) -> Run:
    """Runs a test's coroutine. The service is on uvloop, or on asyncio's loop where uvloop cannot be installed."""

    def run_now(play: Callable[[], Coroutine[Any, Any, None]]) -> None:
        with asyncio.Runner(loop_factory=request.param) as runner:
            runner.run(play())

    return run_now


@pytest.fixture
def server() -> GracefulServer:
    return GracefulServer(
        uvicorn.Config(
            app, port=0, http=http_server.LimitedHeadProtocol, lifespan="off", log_level="error", ws="none", backlog=64
        )
    )


async def started(server: uvicorn.Server) -> asyncio.Task[None]:
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    return task


def connected(server: uvicorn.Server) -> socket.socket:
    client = socket.create_connection(server.servers[0].sockets[0].getsockname())
    client.setblocking(False)
    return client


async def accepted(server: uvicorn.Server) -> socket.socket:
    client = connected(server)
    while not server.server_state.connections:
        await asyncio.sleep(0.01)
    return client


async def rest(client: socket.socket) -> bytes:
    """Everything that still comes on this connection."""
    received = b""
    with client:
        while piece := await asyncio.wait_for(asyncio.get_running_loop().sock_recv(client, 65536), 10):
            received += piece
    return received


async def answer_of(client: socket.socket) -> bytes:
    answer = await rest(client)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.endswith(b"here")
    return answer


@pytest.mark.parametrize("count", [1, 40])
def test_connections_in_the_queue_are_answered(run: Run, server: GracefulServer, count: int) -> None:
    """A plain uvicorn resets them."""

    @run
    async def _() -> None:
        server.config.load()
        server.lifespan = server.config.lifespan_class(server.config)
        await server.startup()
        clients = [connected(server) for _ in range(count)]
        for client in clients:
            client.sendall(REQUEST)
        # Nothing has been accepted: the loop has not run since.
        stopping = asyncio.ensure_future(server.shutdown())
        await asyncio.gather(*map(answer_of, clients))
        await asyncio.wait_for(stopping, 15)


def test_after_the_queue_was_emptied_connections_are_refused(run: Run, server: GracefulServer) -> None:
    @run
    async def _() -> None:
        task = await started(server)
        address = server.servers[0].sockets[0].getsockname()
        server.should_exit = True
        await asyncio.wait_for(task, 15)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(address)


def test_a_new_connection_has_time_for_its_first_request(run: Run, server: GracefulServer) -> None:
    @run
    async def _() -> None:
        task = await started(server)
        client = await accepted(server)
        client.sendall(REQUEST[:20])
        server.should_exit = True
        await asyncio.sleep(0.8)  # uvicorn looks ten times a second whether it shall stop
        client.sendall(REQUEST[20:])
        assert b"connection: close" in (await answer_of(client)).lower()
        await asyncio.wait_for(task, 15)


def test_a_connection_without_a_request_does_not_hold_the_server(
    run: Run, server: GracefulServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_server, "LEAVING_SECONDS", 0.3)

    @run
    async def _() -> None:
        task = await started(server)
        client = await accepted(server)
        server.should_exit = True
        began = time.monotonic()
        await asyncio.wait_for(task, 15)
        assert time.monotonic() - began < 8, "it ends before the grace period of waiting requests"
        assert await rest(client) == b""


def test_a_kept_connection_is_closed_at_once(run: Run, server: GracefulServer) -> None:
    @run
    async def _() -> None:
        task = await started(server)
        client = await accepted(server)
        client.sendall(REQUEST)
        answer = await asyncio.get_running_loop().sock_recv(client, 65536)
        assert answer.startswith(b"HTTP/1.1 200 ")
        server.should_exit = True
        assert await rest(client) == b""
        await asyncio.wait_for(task, 15)
