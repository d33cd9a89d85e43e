"""What a connection of our server keeps in place of uvicorn's own parts, which are larger."""

from __future__ import annotations

import asyncio

import uvicorn

from elicit_flows.lib.http_server import LimitedHeadProtocol, SmallEvent
from elicit_flows.lib.wsgi_bridge import Receive, Scope, Send

PIECES, PIECE = 64, b"x" * 64 * 1024


async def answered(sent: bytes, pause: float = 0.0) -> bytes:
    """All that comes back from a server that says of each request its address and how much of its body came."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        body, more = 0, True
        while more:
            message = await receive()
            body, more = body + len(message["body"]), message["more_body"]
        said = f"{scope['path']} {body};".encode()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for number in range(PIECES if scope["path"] == "/large" else 1):
            await send({"type": "http.response.body", "body": PIECE if number else said, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    config = uvicorn.Config(app, port=0, http=LimitedHeadProtocol, lifespan="off", log_level="error", ws="none")
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1024)
    for start in range(0, len(sent), 40):
        writer.write(sent[start : start + 40])
        await asyncio.sleep(0)
    await asyncio.sleep(pause)
    told = await asyncio.wait_for(reader.read(), 20)
    writer.close()
    server.should_exit = True
    await serving
    return told


def asked(path: str, body: bytes = b"", last: str = "") -> bytes:
    return f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n{last}\r\n".encode() + body


def test_requests_sent_one_behind_the_other_are_answered_in_their_order() -> None:
    several = [asked("/one", b"a" * 100), asked("/two"), asked("/three", b"b" * 3), asked("/four", b"c")]
    told = asyncio.run(answered(b"".join([*several, asked("/five", last="connection: close\r\n")])))
    places = [told.find(said) for said in (b"/one 100;", b"/two 0;", b"/three 3;", b"/four 1;", b"/five 0;")]
    assert places == sorted(places), told
    assert -1 not in places, told


def test_a_client_that_takes_nothing_for_a_while_gets_all() -> None:
    told = asyncio.run(answered(asked("/large", last="connection: close\r\n"), pause=0.5))
    assert told.count(b"x" * 1024) >= (PIECES - 1) * len(PIECE) // 1024 * 0.99
    assert told.endswith(b"0\r\n\r\n")


def test_an_event_wakes_all_who_wait_for_it() -> None:
    async def run() -> None:
        event = SmallEvent()
        waiting = [asyncio.create_task(event.wait()) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        await asyncio.wait(waiting[:1])
        assert not any(one.done() for one in waiting[1:])
        event.set()
        assert await asyncio.gather(*waiting[1:]) == [True, True]
        assert await event.wait()
        event.clear()
        assert not event.is_set()
        again = asyncio.create_task(event.wait())
        await asyncio.sleep(0)
        assert not again.done()
        event.set()
        assert await again
        assert SmallEvent(is_set=True).is_set()

    asyncio.run(run())
