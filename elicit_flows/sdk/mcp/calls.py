"""One call of a tool, in the same words for ``mcp`` 1.30, ``mcp`` 2.x and FastMCP, whose contexts differ."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, cast

from mcp import types
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.shared import exceptions

from elicit_flows.sdk.mcp.attempt import current
from elicit_flows.sdk.shapes import Elicitation
from elicit_flows.values import Json
from elicit_flows.wires import mcp_2025_11_25, mcp_2026_07_28
from elicit_flows.wires.reply import Reply

MODERN = mcp_2026_07_28.VERSION
INVALID_PARAMS = -32602
# mcp 2 renamed it.
LIBRARY_ERROR: Any = getattr(exceptions, "MCPError", None) or exceptions.McpError  # type: ignore[attr-defined]
# Where the contexts come from, and beside them the error whose text reaches the model as it is.
LIBRARIES = ("mcp.server.mcpserver", "mcp.server.fastmcp", "fastmcp")
SWALLOWS_REFUSALS = "fastmcp"  # as of 4.1 it makes a tool's error without links of each -32042


class Call:
    """``context``: what the library hands to a tool."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self._session = context.session
        self.attempt = current()

    @property
    def modern(self) -> bool:
        """Whether the call may be answered with what is needed; else the server has a channel of its own to ask by."""
        return (getattr(self._session, "protocol_version", None) or "") >= MODERN

    @property
    def token(self) -> Any:
        """The caller's verified access token, or None."""
        return get_access_token()

    @property
    def client(self) -> str:
        """What the client says that it is; not verified."""
        params = self._session.client_params
        about = params and (getattr(params, "client_info", None) or getattr(params, "clientInfo", None))
        return about.name if about else ""

    @property
    def opens_links(self) -> bool:
        """Whether the client declared URL mode: for the session, or in the modern era on this very request."""
        known = getattr(self._session, "client_capabilities", None)
        if known is None and (params := self._session.client_params):
            known = params.capabilities
        return bool(known and known.elicitation and known.elicitation.url is not None)

    @property
    def session_id(self) -> str:
        """Which session of the older era this is; "" where a transport has no more than one client."""
        request = getattr(self._context.request_context, "request", None)
        return (request.headers.get("mcp-session-id") if request is not None else None) or ""

    # The modern era: the call is answered with what is needed, and comes again.

    @property
    def state(self) -> Json | None:
        """What this server gave with the answer before; None on the first round. Raises the library's error."""
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
        """In the library's own words: nobody learns from them what was wrong."""
        return error(INVALID_PARAMS, "Invalid or expired requestState")

    def reply(self, key: str) -> Reply | None:
        """What the client answered under ``key``."""
        if self.attempt.goes_on:
            return mcp_2026_07_28.reply(self.attempt.replies, key)
        given = {name: answer.model_dump() for name, answer in (self._context.input_responses or {}).items()}
        return mcp_2026_07_28.reply(given, key)

    def ask(self, body: Json, state: Json) -> Any:
        """The answer that asks for it."""
        return _input_required(mcp_2026_07_28.message(body) | {"requestState": json.dumps(state)})

    def put_off(self, state: Json) -> Any:
        """The answer that asks nothing, while the user is at it."""
        return _input_required(mcp_2026_07_28.waiting(json.dumps(state)))

    def leave(self) -> Any:
        """End an attempt whose answer no client sees."""
        self.attempt.left = True
        return self.put_off({})

    # The older era: the server asks, or refuses.

    async def push(self, body: Json) -> Reply:
        """Send ``elicitation/create`` and wait for the client's answer, which is consent at most."""
        asked = mcp_2025_11_25.params(body)
        answer = await self._session.elicit_url(
            asked["message"], asked["url"], asked["elicitationId"], related_request_id=self._context.request_id
        )
        return mcp_2025_11_25.reply(answer.model_dump(by_alias=True, exclude_none=True))

    def required(self, bodies: Iterable[Json]) -> Exception:
        """The refusal -32042, which names all that is needed before the call can succeed; in words where it is lost."""
        asked = mcp_2025_11_25.required(bodies)
        params = [types.ElicitRequestURLParams.model_validate(one) for one in asked["data"]["elicitations"]]
        refusal = exceptions.UrlElicitationRequiredError(params, asked["message"])
        return refusal if self._refusals_arrive else self._in_words(refusal)

    async def tools_changed(self) -> None:
        """Say that the list of tools may be another now, to whoever listens."""
        if self.modern:
            await self._context.notify_tools_changed()
        else:
            await self._session.send_tool_list_changed()

    async def tell(self, elicitation: Elicitation, *, within: bool) -> None:
        """Send the notification that it is over; ``within`` this call, or apart from it when the call has ended."""
        related = self._context.request_id if within else None
        await self._session.send_elicit_complete(elicitation.id, related_request_id=related)

    def no_links(self) -> Exception:
        """For a client that did not declare what is needed."""
        needed = mcp_2026_07_28.missing_capability()
        if not self.modern:
            return self.tool_error(needed["message"])
        return error(needed["code"], needed["message"], needed["data"])

    @property
    def _refusals_arrive(self) -> bool:
        return not self.modern and self._library != SWALLOWS_REFUSALS

    def _in_words(self, refusal: Any) -> Exception:
        links = ", ".join(str(one.url) for one in refusal.elicitations)
        return self.tool_error(f"waiting: {refusal} {links}")

    @contextmanager
    def no_legacy_refusal(self) -> Iterator[None]:
        """Around the author's own code: a modern client must never see -32042, which libraries let through."""
        try:
            yield
        except exceptions.UrlElicitationRequiredError as refused:
            if self._refusals_arrive:
                raise
            raise self._in_words(refused) from refused

    def tool_error(self, text: str) -> Exception:
        """The library's error that becomes a tool's answer with this text, marked as an error."""
        return import_module(f"{self._library}.exceptions").ToolError(text)  # type: ignore[no-any-return]

    @property
    def _library(self) -> str:
        module = type(self._context).__module__
        return next(one for one in LIBRARIES if module == one or module.startswith(f"{one}."))


def error(code: int, message: str, data: Json | None = None) -> Exception:
    """The error of ``mcp`` 2, whose era alone needs it, that becomes the JSON-RPC error with this code."""
    return cast(Exception, LIBRARY_ERROR(code, message, data))


def _input_required(message: Json) -> Any:
    return types.InputRequiredResult.model_validate(message)
