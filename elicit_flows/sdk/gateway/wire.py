"""What differs between the two eras of MCP in messages that are passed on as they are."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import httpx2
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    encode_header_value,
)
from mcp_types import INTERNAL_ERROR
from mcp_types.version import LATEST_HANDSHAKE_VERSION, LATEST_MODERN_VERSION
from pydantic import BaseModel, ConfigDict, RootModel

from elicit_flows.domain.values import Json
from elicit_flows.wires.mcp_2026_07_28 import VERSION as MODERN

CALL = "tools/call"
MCP_SESSION_ID = "mcp-session-id"
RESERVED = "io.modelcontextprotocol/"
VERSION_META = f"{RESERVED}protocolVersion"
CLIENT_META = f"{RESERVED}clientInfo"
CAPABILITIES_META = f"{RESERVED}clientCapabilities"
LOG_LEVEL_META = f"{RESERVED}logLevel"
OF_2026 = ("resultType", "ttlMs", "cacheScope")
CACHED = frozenset({"tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read"})
REMOVED = "[removed]"
SHORTEST = 4  # what is shorter would be found by chance


class Message(BaseModel):
    """A request or notification that is passed on; the library's senders take any model with a method."""

    method: str
    params: Json | None = None


class Answer(RootModel[Json]):
    """A result that is passed on."""

    model_config = ConfigDict(strict=False)


@dataclass(frozen=True, slots=True)
class Client:
    """On whose behalf a server is talked to: what that client says of itself."""

    info: Json
    capabilities: Json
    modern: bool

    @property
    def version(self) -> str:
        """The latest of its era."""
        return LATEST_MODERN_VERSION if self.modern else LATEST_HANDSHAKE_VERSION


def is_modern(version: str | None) -> bool:
    return (version or "") >= MODERN


def asks_for_input(result: Mapping[str, Any]) -> bool:
    return result.get("resultType") == "input_required"


def result_for(version: str, method: str, result: Json) -> Json:
    """A server's result, as a client of ``version`` has to get it."""
    if not is_modern(version):
        return {name: value for name, value in result.items() if name not in OF_2026}
    cached = {"ttlMs": 0, "cacheScope": "private"} if method in CACHED else {}
    return {"resultType": "complete", **cached, **result}


def request_for(version: str, params: Json, client: Json, capabilities: Json) -> Json:
    """A client's parameters, as a server of ``version`` has to get them."""
    given = params.get("_meta") or {}
    meta = {name: value for name, value in given.items() if not name.startswith(RESERVED)}
    meta.pop("progressToken", None)  # the request to the server has one of its own
    if is_modern(version):
        level = {LOG_LEVEL_META: given[LOG_LEVEL_META]} if LOG_LEVEL_META in given else {}
        meta |= {VERSION_META: version, CLIENT_META: client, CAPABILITIES_META: capabilities, **level}
    rest = {name: value for name, value in params.items() if name != "_meta"}
    return {**rest, "_meta": meta} if meta else rest


def headers_for(version: str, method: str, params: Json) -> dict[str, str]:
    """The HTTP headers that repeat what a request says; other transports ignore them."""
    headers = {MCP_PROTOCOL_VERSION_HEADER: version}
    if is_modern(version):
        headers[MCP_METHOD_HEADER] = method
        named = params.get(NAME_BEARING_METHODS.get(method, ""))
        if isinstance(named, str):
            headers[MCP_NAME_HEADER] = encode_header_value(named)
    return headers


def well_formed(message: Json) -> Json:
    """An answer with a result or an error, whatever the server sent."""
    error = message.get("error")
    if isinstance(error, dict) and type(error.get("code")) is int and isinstance(error.get("message"), str):
        return {"error": error}
    if isinstance(message.get("result"), dict):
        return {"result": message["result"]}
    return {"error": {"code": INTERNAL_ERROR, "message": "The server's answer is no answer of JSON-RPC."}}


def result_of(answer: Json) -> Json:
    """The result in an answer. Raises MCPError for an error."""
    if "error" in answer:
        error = answer["error"]
        raise MCPError(error["code"], error["message"], error.get("data"))
    result: Json = answer["result"]
    return result


def without(secrets: Iterable[str], value: Any) -> Any:
    """``value`` with no secret in any of its texts and names."""
    known = sorted((one for one in secrets if len(one) >= SHORTEST), key=len, reverse=True)  # one may contain another
    if not known:
        return value
    spelled = {one: json.dumps(one)[1:-1] for one in known}

    def clean(one: Any) -> Any:
        if isinstance(one, str):
            for secret in known:
                one = one.replace(secret, REMOVED).replace(spelled[secret], REMOVED)
            return one
        if isinstance(one, dict):
            return {clean(name): clean(inner) for name, inner in one.items()}
        return [clean(inner) for inner in one] if isinstance(one, list) else one

    return clean(value)


def unknown_session(response: httpx2.Response) -> str:
    """The session that a request named and its server does not know (Streamable HTTP: 404); else an empty text."""
    named = response.request.headers.get(MCP_SESSION_ID, "")
    return str(named) if response.status_code == HTTPStatus.NOT_FOUND else ""


def why(failed: BaseException) -> str:
    """What ended a connection, in words."""
    while isinstance(failed, ExceptionGroup):
        failed = failed.exceptions[0]
    return f"{type(failed).__name__}: {failed}"
