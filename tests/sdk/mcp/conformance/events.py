"""What the suite reads again after a stream was cut: a store of events in memory, and a tool that cuts its stream."""

import asyncio
import itertools

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.streamable_http import EventCallback, EventMessage, EventStore
from mcp_types import JSONRPCMessage

RETRY_MS = 100


class Events(EventStore):
    """For one client at a time: the library says of which request an event is, and not of which session."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._stored: dict[str, tuple[str, JSONRPCMessage | None]] = {}

    async def store_event(self, stream_id: str, message: JSONRPCMessage | None) -> str:
        event = str(next(self._numbers))
        self._stored[event] = (stream_id, message)
        return event

    async def replay_events_after(self, last_event_id: str, send_callback: EventCallback) -> str | None:
        if last_event_id not in self._stored:
            return None
        stream = self._stored[last_event_id][0]
        for event, (of, message) in list(self._stored.items()):
            if of == stream and int(event) > int(last_event_id) and message is not None:
                await send_callback(EventMessage(message, event))
        return stream


def add_reconnection(app: MCPServer) -> None:
    @app.tool()
    async def test_reconnection(context: Context) -> str:
        """Cuts the stream of its call, and answers when the client may have come again."""
        # The library sends the id to come again with in a task of its own, which a stream that is cut at once ends.
        await asyncio.sleep(RETRY_MS / 1000)
        await context.close_sse_stream()
        await asyncio.sleep(RETRY_MS / 1000)
        return "Reconnected."
