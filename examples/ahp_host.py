"""A small AHP host: `python examples/ahp_host.py --port 8010 --user ISS SUB`, then connect to ws://127.0.0.1:8010/ahp.

It has one session with two chats. A message that names a tool (list_files, buy_report, store_api_key, wipe_files,
choose_plan, accept_terms) opens an input request; the turn's answer begins with `done:`, `declined:`, `cancelled:` or
`waiting:`. ELICIT_URL and ELICIT_API_KEY say where the service is; the default is the one of `make run`. Every
connection is taken for the user's; a host with several users signs its clients in at the handshake.
"""

from __future__ import annotations

import argparse
import asyncio
from http import HTTPStatus

from ahp.channels import Channels
from ahp.chat import Chat
from ahp.connection import Connection
from ahp.state import Json, new_chat, new_session
from ahp.tools import tools
from websockets.asyncio.server import ServerConnection, serve
from websockets.http11 import Request, Response

from elicit_flows.sdk import Claim, Elicit

SANDBOX = "http://127.0.0.1:8001"
SESSION = "ahp-session:/example"
CHATS = {"ahp-chat:/one": "One", "ahp-chat:/two": "Two"}


def ahp_only(socket: ServerConnection, request: Request) -> Response | None:
    return None if request.path == "/ahp" else socket.respond(HTTPStatus.NOT_FOUND, "It is at /ahp.\n")


async def main(port: int, user: Claim, sandbox: str, keep: int) -> None:
    states = {uri: new_chat(uri, title) for uri, title in CHATS.items()}
    channels = Channels({"ahp-root://": {"agents": []}, SESSION: new_session(list(states.values())), **states}, keep)
    async with Elicit() as elicit:
        chats = {uri: Chat(uri, SESSION, channels, elicit, user, tools(sandbox)) for uri in CHATS}
        for chat in chats.values():
            await chat.resume()

        async def dispatched(channel: str, action: Json, origin: Json) -> None:
            if channel in chats:
                await chats[channel].take(action, origin)

        async def connected(socket: ServerConnection) -> None:
            await Connection(socket, channels, dispatched).serve()

        # Any web page could connect, so refuse pages, which send Origin.
        async with serve(connected, "127.0.0.1", port, origins=[None], process_request=ahp_only) as server:
            print(f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/ahp", flush=True)
            await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=8010, help="default: %(default)s")
    parser.add_argument("--user", nargs=2, metavar=("ISS", "SUB"), default=(SANDBOX, "alice"))
    parser.add_argument("--sandbox-url", default=SANDBOX, help="where Acme Drive is; default: %(default)s")
    parser.add_argument("--keep", type=int, default=1000, help="actions kept for clients that come back")
    args = parser.parse_args()
    asyncio.run(main(args.port, Claim(*args.user), args.sandbox_url, args.keep))
