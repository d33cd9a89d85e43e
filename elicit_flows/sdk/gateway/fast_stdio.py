"""Calls that need nothing, passed on line by line beside the library, which would take most of their time.

Only a call of a tool goes this way that the client was shown, that nothing is asked for, and whose server is connected.
All else is the library's. What is decided about is the decoded message, and what is sent is made from it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from mcp.shared.jsonrpc_dispatcher import cancelled_request_id_from_params, progress_token_from_params
from mcp_types import INTERNAL_ERROR, PARSE_ERROR

from elicit_flows.domain.values import Json
from elicit_flows.sdk.gateway.file_guards import Asked
from elicit_flows.sdk.gateway.lines import Lines, from_client
from elicit_flows.sdk.gateway.peers import LINKS_NEEDED, Exchange, Peers
from elicit_flows.sdk.gateway.posted import Posted
from elicit_flows.sdk.gateway.upstream import Upstream
from elicit_flows.sdk.gateway.wire import CALL, LOG_LEVEL_META, asks_for_input, request_for, result_for, result_of

MEMBERS = {"jsonrpc", "id", "method", "params"}
PARAMS = {"name", "arguments", "_meta"}  # any other is for the guards, or not known here


@dataclass(slots=True, eq=False)
class Passed:
    """A call at a server that is a program. ``reply``: for the library, once it has taken over.

    For what the server says meanwhile, this is the context of the request. There is no id in it, because on stdio all
    goes to the same stream, and the library's own contexts are of requests that it knows.
    """

    request_id: ClassVar[None] = None

    fast_stdio: FastStdio
    message: Json
    peers: Peers
    upstream: Upstream
    owned: tuple[str, str]
    made: Exchange = field(init=False)
    sent: int = 0
    reply: asyncio.Future[Json] | None = None

    def __post_init__(self) -> None:
        self.made = Exchange(self, hand_over=self.hand_over)
        self.peers.begin(self.upstream.name, self.made)

    @property
    def id(self) -> int | str:
        given: int | str = self.message["id"]
        return given

    @property
    def params(self) -> Json:
        params: Json = self.message["params"]
        return params

    @property
    def session(self) -> Any:
        return self.peers.session

    def progressed(self, params: Json) -> None:
        token = progress_token_from_params(self.params)
        if token is not None:
            self.fast_stdio.tell("notifications/progress", {**self.peers.shown(params), "progressToken": token})

    def answered(self, message: Json) -> None:
        """The server has answered, or is gone."""
        if "error" in message:
            library = self.peers.client.modern and message["error"]["code"] == LINKS_NEEDED
        else:
            library = asks_for_input(message["result"])
        if library:
            self.hand_over()
        if self.reply is None:
            self.end()
            self.fast_stdio.answer(self.peers, self.id, message, self.upstream.lines)
        elif not self.reply.done():
            self.reply.set_result(message)

    def hand_over(self) -> None:
        """Have the library go on: the server asks something that its client has to be asked in a result."""
        if self.reply is None:
            self.reply = asyncio.get_running_loop().create_future()
            self.fast_stdio.open.pop(self.id, None)
            self.fast_stdio.handed[self.id] = self
            self.fast_stdio.client.give(self.message)

    async def result(self) -> Json:
        """For the library. Raises MCPError."""
        if self.reply is None:
            raise RuntimeError("The library has not taken over.")
        try:
            message = await self.reply
        except asyncio.CancelledError:
            self.give_up("caller cancelled")
            raise
        return result_of(message)

    def give_up(self, reason: Any) -> None:
        self.upstream.give_up(self.sent, str(reason))

    def end(self) -> None:
        self.fast_stdio.open.pop(self.id, None)
        self.peers.end(self.upstream.name, self.made)


class FastStdio:
    """``known``: a client's connections, by the ``_meta`` of its request, once the library has accepted one like it.
    ``asked``: what is asked before a server's tool runs.
    """

    def __init__(self, known: Callable[[Json], Peers | None], asked: Callable[[str, str], tuple[Asked, ...]]) -> None:
        self._known, self._asked = known, asked
        self.client = Lines(from_client, self._take, self._refuse)
        self.open: dict[int | str, Passed | Posted] = {}
        self.handed: dict[int | str, Passed | Posted] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def tell(self, method: str, params: Json) -> None:
        more = {"params": params} if params else {}
        self.client.send({"jsonrpc": "2.0", "method": method, **more})

    def hear(self, peers: Peers, message: Json) -> bool:
        """A server's notification, which must not come after the answer that it came before."""
        method, params = message.get("method"), message.get("params", {})
        if (
            not self.client.written
            or peers.client.modern
            or "id" in message
            or not isinstance(method, str)
            or not isinstance(params, dict)
        ):
            return False
        self.tell(method, peers.told(method, params))
        return True

    def answer(self, peers: Peers, request: int | str, message: Json, source: Lines | None) -> None:
        """Give the client what a server answered. ``source``: see ``Lines.send``."""
        said: Json = {"jsonrpc": "2.0", "id": request}
        if "error" in message:
            said["error"] = peers.shown(message["error"])
        else:
            said["result"] = result_for(peers.client.version, CALL, peers.shown(message["result"]))
        try:
            self.client.send(said, source)
        except (ValueError, RecursionError) as wrong:
            del said["result"]
            said["error"] = {"code": INTERNAL_ERROR, "message": f"The server's answer is no JSON: {wrong}"}
            self.client.send(said)

    def _take(self, message: Json) -> bool:
        if message.get("method") == "notifications/cancelled":
            return self._cancel(message.get("params"))
        return self._pass_on(message)

    def _pass_on(self, message: Json) -> bool:
        """Whether the message is a call that needs nothing. Then it is at its server."""
        request, params = message.get("id"), plain_call(message)
        if not isinstance(request, int | str) or isinstance(request, bool) or params is None:
            return False
        if request in self.open or request in self.handed:
            return False
        meta = params.get("_meta", {})
        peers = self._known(meta)
        found = peers.beside(params["name"], self._asked) if peers else None
        if peers is None or found is None:
            return False
        (owned, upstream), client = found, peers.client
        sent = request_for(upstream.version, {**params, "name": owned[1]}, client.info, client.capabilities)
        progress = "progressToken" in meta
        if upstream.lines is None:
            posted = self.open[request] = Posted(peers, upstream, owned, sent, progress)
            self._hold(asyncio.create_task(self._serve(posted, message)))
            return True
        passed = self.open[request] = Passed(self, message, peers, upstream, owned)
        try:
            passed.sent = upstream.pass_on(CALL, sent, passed, progress=progress)
        except (ValueError, RecursionError):
            passed.end()
            raise
        return True

    async def _serve(self, posted: Posted, message: Json) -> None:
        """Wait for a server with an address. Nothing is read from a client that takes no answers."""
        request, answer = message["id"], await posted.first
        if self.open.get(request) is not posted:  # it was cancelled
            posted.end()
            return
        del self.open[request]
        if answer is not None:
            posted.end()
            self.answer(posted.peers, request, answer, self.client)
            return
        if posted.lost:
            posted.end()
        else:
            self.handed[request] = posted
        self.client.give(message)

    def _hold(self, task: asyncio.Task[None]) -> None:
        """asyncio itself keeps no task alive."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _cancel(self, params: Any) -> bool:
        request = cancelled_request_id_from_params(params) if isinstance(params, dict) else None
        passed = self.open.get(request) if request is not None else None
        if request is None or passed is None:
            return False
        if isinstance(passed, Posted):
            del self.open[request]
            self._hold(asyncio.create_task(passed.give_up()))
            return True
        passed.end()
        passed.give_up(params.get("reason", "cancelled"))
        return True

    def _refuse(self, wrong: str) -> None:
        error = {"code": PARSE_ERROR, "message": f"This line is no message of JSON-RPC: {wrong}"}
        self.client.send({"jsonrpc": "2.0", "id": None, "error": error})


def plain_call(message: Json) -> Json | None:
    """The parameters of a call of a tool, if it has no more than a name, arguments and a ``_meta`` as most have it."""
    params = message.get("params")
    if message.keys() != MEMBERS or message["method"] != CALL or message["jsonrpc"] != "2.0":
        return None
    if not isinstance(params, dict) or not params.keys() <= PARAMS or not isinstance(params.get("name"), str):
        return None
    meta = params.get("_meta", {})
    known = isinstance(meta, dict) and LOG_LEVEL_META not in meta
    return params if known and isinstance(params.get("arguments", {}), dict) else None
