"""One call of a tool, with one interface for ``mcp`` 1.30, ``mcp`` 2.x and FastMCP, whose contexts differ."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import asdict
from typing import Any, cast

import anyio
from mcp import types
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.shared import exceptions

from elicit_flows.domain.values import Json
from elicit_flows.sdk.mcp.messages import NotRun, Words, refused, waiting_for
from elicit_flows.sdk.mcp.settings import Settings
from elicit_flows.sdk.mcp.task_attempt import current
from elicit_flows.sdk.shapes import Elicitation
from elicit_flows.wires import mcp_2025_11_25, mcp_2026_07_28
from elicit_flows.wires.reply import Reply

MODERN = mcp_2026_07_28.VERSION
INVALID_PARAMS = -32602
NOT_RUN = -32000  # of those that JSON-RPC leaves to servers
TOOL = "tools/call"
# Renamed in mcp 2.
LIBRARY_ERROR: Any = getattr(exceptions, "MCPError", None) or exceptions.McpError  # type: ignore[attr-defined]
GONE = (anyio.ClosedResourceError, anyio.BrokenResourceError, LIBRARY_ERROR)
TWO, ONE, FASTMCP = LIBRARIES = ("mcp.server.mcpserver", "mcp.server.fastmcp", "fastmcp")  # modules of the contexts
SWALLOWS_REFUSALS = FASTMCP  # as of 4.1 it turns each -32042 into a tool error without links
UNNAMED = re.compile("(mcp-server|FastMCP(-[0-9a-f]{4})?)?")  # the libraries' default names
NAME_IT = (
    "This server has no name, so its users' answers could not be told from those for another server with the same "
    'API key. Give it one, MCPServer("…") or FastMCP("…"), or say McpFlows(server="…").'
)


class Call:
    """One call of a tool. ``context``: the object that the library passes to the tool."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self._session = context.session
        self._awaited_since: float | None = None
        self._progress = 0
        self.attempt = current()
        self.begun = False  # whether the tool itself was called

    @property
    def modern(self) -> bool:
        """Whether the call may be answered with a request for input. If not, the server sends requests of its own."""
        return (getattr(self._session, "protocol_version", None) or "") >= MODERN

    @property
    def method(self) -> str:
        """``tools/call``, ``prompts/get`` or ``resources/read``. ``mcp`` 1 does not say: there only tools are
        guarded.
        """
        known = self._context.request_context
        return str(getattr(getattr(known, "_srctx", known), "method", TOOL))  # FastMCP wraps the one of mcp

    @property
    def token(self) -> Any:
        """The caller's verified access token, or None."""
        return get_access_token()

    def server(self, settings: Settings) -> list[str]:
        """What tells this server from others, the same in all of its processes. Raises NotRun if nothing does."""
        if settings.server is not None:
            return [settings.server]
        app = getattr(self._context, "mcp_server" if self._library == TWO else "fastmcp")
        auth = app.auth if self._library == FASTMCP else app.settings.auth
        address = getattr(auth, "base_url" if self._library == FASTMCP else "resource_server_url", None)
        name = "" if UNNAMED.fullmatch(app.name) else app.name
        if not name and not address:
            raise NotRun(refused(NAME_IT, "no_server_name"))
        return [name, str(address or "")]

    @property
    def who(self) -> str:
        """The client: from its verified access token, or else the name that it gives itself."""
        return self.token.client_id if self.token else self.client

    @property
    def client(self) -> str:
        """The name that the client gives itself; not verified."""
        return str(getattr(self._client_info, "name", ""))

    @property
    def client_version(self) -> str:
        return str(getattr(self._client_info, "version", ""))

    @property
    def _client_info(self) -> Any:
        params = self._session.client_params
        return params and (getattr(params, "client_info", None) or getattr(params, "clientInfo", None))

    @property
    def opens_links(self) -> bool:
        """Whether the client declared URL mode: for the session, or with 2026-07-28 in this request."""
        known = getattr(self._session, "client_capabilities", None)
        if known is None and (params := self._session.client_params):
            known = params.capabilities
        return bool(known and known.elicitation and known.elicitation.url is not None)

    @property
    def session_id(self) -> str:
        """The session's id in revision 2025-11-25; "" if the transport has only one client."""
        request = getattr(self._context.request_context, "request", None)
        return (request.headers.get("mcp-session-id") if request is not None else None) or ""

    def left(self, settings: Settings) -> float:
        """Seconds for which this call may still wait for its user. The time begins with the first call of ``left``."""
        now = time.monotonic()
        if self._awaited_since is None:
            self._awaited_since = now
        return max(0.0, settings.hold - (now - self._awaited_since))

    @asynccontextmanager
    async def awaited(self, settings: Settings) -> AsyncIterator[None]:
        """Within the block, a client that gave a progress token is sent progress notifications."""
        telling = asyncio.ensure_future(self._tell_progress(settings.progress_every))
        try:
            yield
        finally:
            telling.cancel()
            await asyncio.gather(telling, return_exceptions=True)

    async def _tell_progress(self, seconds: float) -> None:
        with suppress(*GONE):
            while True:
                await asyncio.sleep(seconds)
                self._progress += 1
                await self._context.report_progress(self._progress, None, "Waiting for the user.")

    def answer(self, words: Words, *, text: bool, structured: bool) -> Any:
        """The tool's result with these ``words``, whatever type the tool returns. Raises the library's error for a
        prompt or resource, whose results are for what was asked for alone.

        ``text``: the tool returns text, so the words are no error. ``structured``: the tool has no schema that would
        forbid the machine-readable mark in the result's content.
        """
        if self.method != TOOL:
            raise error(NOT_RUN, words.text, words.meta)
        result: Json = {
            "content": [{"type": "text", "text": words.text}],
            "isError": words.error or not (text or structured),
            "_meta": words.meta,
        }
        if structured:
            result["structuredContent"] = words.mark
        elif text and not words.error:
            result["structuredContent"] = {"result": words.text, **words.mark}
        made = types.CallToolResult.model_validate(result)
        if self._library == ONE and "structuredContent" not in result:
            raise _Response(made)
        return made

    # Revision 2026-07-28: the call is answered with a request for input, and sent again.

    @property
    def state(self) -> Json | None:
        """The state that this server sent with its last answer; None in the first round. Raises the library's error."""
        if self.attempt.goes_on:
            return self.attempt.state
        text = getattr(self._context, "request_state", None) if self.modern else None
        if text is None:
            return None
        try:
            found = json.loads(text)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise self.bad_state()
        return found

    def bad_state(self) -> Exception:
        """The library's own error, which does not tell the caller what was wrong."""
        return error(INVALID_PARAMS, "Invalid or expired requestState")

    def reply(self, key: str) -> Reply | None:
        """What the client answered under ``key``."""
        if self.attempt.goes_on:
            return mcp_2026_07_28.reply(self.attempt.replies, key)
        given = {name: answer.model_dump() for name, answer in (self._context.input_responses or {}).items()}
        return mcp_2026_07_28.reply(given, key)

    def ask(self, questions: Iterable[Elicitation], state: Json) -> Any:
        """The result that asks the client."""
        asked = {one.id: mcp_2026_07_28.input_request(asdict(one)) for one in questions}
        message = mcp_2026_07_28.waiting(json.dumps(state)) | {"inputRequests": asked}
        return types.InputRequiredResult.model_validate(message)

    def put_off(self, state: Json) -> Any:
        """The result that asks nothing, because the user is still busy: the client calls again."""
        return types.InputRequiredResult.model_validate(mcp_2026_07_28.waiting(json.dumps(state)))

    def leave(self) -> Any:
        """End an attempt whose result no client sees."""
        self.attempt.left = True
        return self.put_off({})

    # Revision 2025-11-25: the server asks the client, or refuses the call.

    async def push(self, body: Json) -> Reply:
        """Send ``elicitation/create`` and wait for the client's answer. Its accept is only consent to open the link."""
        asked = mcp_2025_11_25.params(body)
        answer = await self._session.elicit_url(
            asked["message"], asked["url"], asked["elicitationId"], related_request_id=self._context.request_id
        )
        return mcp_2025_11_25.reply(answer.model_dump(by_alias=True, exclude_none=True))

    def required(self, bodies: Iterable[Json]) -> Exception:
        """The error -32042, which names all that the call needs; as plain text for libraries that would lose
        its links.
        """
        asked = mcp_2025_11_25.required(bodies)
        params = [types.ElicitRequestURLParams.model_validate(one) for one in asked["data"]["elicitations"]]
        refusal = exceptions.UrlElicitationRequiredError(params, asked["message"])
        return refusal if self._refusals_arrive else self._in_words(refusal)

    async def tools_changed(self) -> None:
        """Notify the client that the list of tools may have changed."""
        if self._library == FASTMCP and self.modern:
            return  # it has no streams of 2026-07-28 that could tell a client
        if self.modern:
            await self._context.notify_tools_changed()
        else:
            await self._session.send_tool_list_changed()

    async def tell(self, elicitation: Elicitation, *, within: bool) -> None:
        """Send the notification that the elicitation is over: ``within`` this call, or apart from it if the call has
        ended.
        """
        related = self._context.request_id if within else None
        await self._session.send_elicit_complete(elicitation.id, related_request_id=related)

    def no_links(self) -> Exception:
        """The error for a client that did not declare URL mode."""
        needed = mcp_2026_07_28.missing_capability()
        if not self.modern:
            return NotRun(refused(needed["message"], "no_links"))
        return error(needed["code"], needed["message"], needed["data"])

    @property
    def _refusals_arrive(self) -> bool:
        return not self.modern and self._library != SWALLOWS_REFUSALS

    def _in_words(self, refusal: Any) -> NotRun:
        return NotRun(waiting_for(str(refusal), [one.url for one in refusal.elicitations]))

    @contextmanager
    def no_legacy_refusal(self) -> Iterator[None]:
        """Around the author's own code: a client of 2026-07-28 must never see -32042, which the libraries would let
        through.
        """
        try:
            yield
        except exceptions.UrlElicitationRequiredError as refusal:
            if self._refusals_arrive:
                raise
            raise self._in_words(refusal) from refusal

    @property
    def _library(self) -> str:
        module = type(self._context).__module__
        return next(one for one in LIBRARIES if module == one or module.startswith(f"{one}."))


class _Response(exceptions.UrlElicitationRequiredError):
    """A whole result for ``mcp`` 1.

    That version checks each result that a tool returns against the schema of its successes, and adds words of its own
    to errors. It lets this exception through, and sends its ``error``.
    """

    def __init__(self, result: Any) -> None:
        super().__init__([])
        self.error = cast(Any, types).ServerResult(result)


def error(code: int, message: str, data: Json | None = None) -> Exception:
    """The error of ``mcp`` 2 that becomes a JSON-RPC error with this code. With ``mcp`` 1 nothing needs it."""
    return cast(Exception, LIBRARY_ERROR(code, message, data))
