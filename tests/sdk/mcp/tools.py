"""A server for the tests, on whichever library runs it: its tools write a line for each time they really run.

TOOLS says how: ``name``, ``port``, ``ran`` (the file for those lines), ``user`` or ``people`` by token, ``settings`` of
McpFlows, ``retry_for`` of the client, ``security``: False leaves ``requestState`` as the library has it.
"""

import asyncio
import json
import os
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.shared.exceptions import UrlElicitationRequiredError
from mcp.types import ElicitRequestURLParams, TextContent, ToolAnnotations
from pydantic import BaseModel

from elicit_flows.sdk import Answered, Completed, Elicit, Question
from elicit_flows.sdk.mcp import McpFlows, state_key
from elicit_flows.sdk.mcp.calls import LIBRARY_ERROR

TWO, ONE, FASTMCP = "mcp.server.mcpserver", "mcp.server.fastmcp", "fastmcp"
LIBRARY = next(name for name in (FASTMCP, TWO, ONE) if find_spec(name))

TOLD = json.loads(os.environ["TOOLS"])
ISSUER = TOLD.get("issuer", "https://issuer.test")
PLAN = {"type": "object", "properties": {"plan": {"type": "string", "enum": ["free", "pro"]}}, "required": ["plan"]}


class Known:
    async def verify_token(self, token):
        if token not in TOLD["people"]:
            return None
        client, subject = TOLD["people"][token]
        claims = {"iss": ISSUER}
        return AccessToken(token=token, client_id=client, scopes=[], subject=subject, claims=claims)


def ran(what):
    with Path(TOLD["ran"]).open("a") as log:
        log.write(f"{what}\n")
    return f"done: {what}"


def make():
    more = {}
    if TOLD.get("people"):
        auth = AuthSettings(issuer_url=ISSUER, resource_server_url=f"http://127.0.0.1:{TOLD['port']}/mcp")
        more = {"token_verifier": Known(), "auth": auth}
    if LIBRARY == ONE:
        more |= {"host": "127.0.0.1", "port": TOLD["port"]}
    elif TOLD.get("security", True):
        security = import_module("mcp.server.request_state").RequestStateSecurity
        more["request_state_security"] = security(keys=[state_key()], ttl=TOLD.get("ttl", 600))
    library = import_module(LIBRARY)
    return (library.MCPServer if LIBRARY == TWO else library.FastMCP)(TOLD.get("name", "tools"), **more)


app = make()
user = TOLD.get("user")
client = Elicit(retry_for=TOLD["retry_for"]) if "retry_for" in TOLD else None
flows = McpFlows(user=tuple(user) if user else None, elicit=client, **TOLD.get("settings", {}))


@app.tool()
@flows.confirm("Wipe it?")
async def wipe(disk: str = "a") -> str:
    return ran(f"wiped {disk}")


@flows.tool(app)
@flows.confirm("Burn it?")
async def burn(disk: str = "a") -> str:
    return ran(f"burnt {disk}")


@flows.tool(app, description="Counts.")
@flows.form(PLAN, message="Which?")
def count(chosen: Completed) -> int:
    """Not a coroutine function, and no text."""
    ran("counted")
    return len(chosen.result["content"]["plan"])


class Report(BaseModel):
    pages: int


@app.tool()
@flows.confirm("As a dict?")
async def as_dict() -> dict[str, int]:
    return {ran("dict"): 1}


@app.tool()
@flows.confirm("As a model?")
async def as_model() -> Report:
    ran("model")
    return Report(pages=1)


@app.tool()
@flows.confirm("As a list?")
async def as_content() -> list[TextContent]:
    return [TextContent(type="text", text=ran("content"))]


@app.tool()
@flows.confirm("As it comes?")
async def as_it_comes():
    return ran("untyped")


@app.tool()
@flows.confirm("One?")
@flows.confirm("Two?")
@flows.confirm("Three?")
async def thrice(disk: str = "a") -> str:
    return ran(f"thrice {disk}")


@app.tool()
@flows.confirm("Look it up?")
async def looks_up() -> str:
    async with Elicit("http://127.0.0.1:9", "key", retry_for=0) as away:
        return str(await away.get("el_1"))


@flows.tool(app, annotations=ToolAnnotations(title="Both", destructiveHint=False))
@flows.form(PLAN, message="Which?")
@flows.confirm("Really?")
async def both(first: Completed, second: Completed, name: str = "") -> str:
    return ran(f"{first.elicitation.kind} {second.elicitation.kind}")


async def unless_small(size: int) -> Question | None:
    return None if size < 10 else Question("confirm", {}, f"Delete {size} files?", {"expires_in": 60})


@app.tool()
@flows.ask(unless_small)
async def delete(size: int) -> str:
    return ran(f"deleted {size}")


def hook(done: Completed) -> None:
    ran(f"hooked {done.elicitation.kind}")


@app.tool()
@flows.having(
    after=lambda done: ran(f"hooked {done.elicitation.kind}"), say=lambda outcome: "declined: as told"
).confirm("Hook?")
async def hooked() -> str:
    return ran("after the hook")


@app.tool()
@flows.confirm("Raise?")
async def raises() -> str:
    asked = ElicitRequestURLParams.model_validate(
        {"mode": "url", "message": "m", "url": "https://elsewhere.test/x", "elicitationId": "own"}
    )
    raise UrlElicitationRequiredError([asked])


@app.tool()
@flows.confirm("Take long?")
async def slow(seconds: float) -> str:
    ran("slow began")
    await asyncio.sleep(seconds)
    return ran("slow ended")


@app.tool()
@flows.confirm("Say much?")
async def much(size: int) -> str:
    ran("much")
    return "x" * size


@app.tool()
@flows.confirm("Fail?")
async def fails(how: str) -> str:
    ran("failed")
    raise ValueError(how) if how == "tool" else LIBRARY_ERROR(-32000, how)


@app.tool()
@flows.oauth("acme")
async def files() -> str:
    return ran("listed")


class Plan(BaseModel):
    plan: Literal["free", "pro"]


def found(folder: str) -> str:
    """What is in a folder, which a test may change."""
    there = Path(TOLD["ran"]).with_name(folder)
    return there.read_text() if there.exists() else "12"


@app.tool()
@flows.guard
async def tidy(folder: str) -> str:
    ran(f"looked {folder}")
    try:
        await flows.confirm(f"Delete {found(folder)} files of {folder}?")
        chosen = await flows.form(Plan, message="Which plan?")
    except Exception:
        return ran("went on without an answer")
    return ran(f"tidied {folder} {chosen.data.plan}")


@app.tool()
@flows.confirm("Begin?")
async def paid(first: Completed, folder: str) -> str:
    await flows.ask(Question("confirm", {}, f"Go on with {found(folder)}?", {}))
    return ran(f"paid {folder} {first.elicitation.id}")


@app.tool()
@flows.guard
async def careful(folder: str) -> str:
    outcome = await flows.confirm(f"Touch {folder}?").outcome()
    return ran(f"touched {folder}" if outcome else f"kept {folder}: {outcome.elicitation.status}")


def after_the_form(answer: Answered[Plan], folder: str) -> Question:
    return Question("confirm", {}, f"Take {answer.data.plan} for {folder}?", {})


@app.tool()
@flows.form(Plan, message="Which?")
@flows.ask(after_the_form)
async def chosen(folder: str, answer: Answered[Plan], sure: Completed) -> str:
    return ran(f"{sure.elicitation.message} {answer.data.plan}")


def about_both(first: Completed, second: Answered[Plan], house: str) -> Question | None:
    return Question("confirm", {}, f"Really sell {house} for {second.data.plan}?", {}) if house == "castle" else None


at_once = flows.having(together=True)


@app.tool()
@at_once.confirm("Sell it?")
@at_once.form(Plan, message="Which plan?")
@at_once.ask(about_both)
async def sells(yes: Completed, answer: Answered[Plan], house: str) -> str:
    return ran(f"sold {house} {yes.elicitation.message} {answer.data.plan}")


@flows.confirm("Show it?")
async def shown(name: str) -> str:
    return ran(f"shown {name}")


if LIBRARY != ONE:
    app.tool("shown")(shown)
    app.prompt("shown")(shown)
    app.resource("files://{name}")(shown)


@app.tool()
async def unguarded() -> str:
    try:
        await flows.confirm("Who asks?")
    except RuntimeError as error:
        return str(error)
    return ran("unguarded")


if LIBRARY == TWO:
    app.middleware.append(flows.hidden_until("acme", "files"))
    app.middleware.append(flows.tasks())
elif LIBRARY == FASTMCP:
    app.add_middleware(flows.hidden_until("acme", "files"))
    if TOLD.get("tasks"):
        app.add_middleware(flows.tasks())


@app.tool()
async def plain() -> str:
    return ran("plain")


if __name__ == "__main__":
    address = {} if LIBRARY == ONE else {"host": "127.0.0.1", "port": TOLD["port"]}
    app.run("streamable-http", **address)
    sys.exit(0)
