"""What the suite calls that asks by way of Elicit Flows: guarded tools, and forms whose questions the client asks.

The suite's client declares form mode alone, and takes links all the same in revision 2026-07-28; ``clients`` says so.
"""

from dataclasses import asdict

from mcp.server.mcpserver import Context, MCPServer

from elicit_flows.domain.values import Json
from elicit_flows.sdk import Elicit
from elicit_flows.sdk.mcp import McpFlows
from elicit_flows.wires import forms, mcp_2025_11_25
from tests.sdk.mcp.conformance import tasks
from tests.sdk.mcp.conformance.tasks import add_tasks

CLIENT = "conformance-test-client"
GO_ON, BEGIN, END = "May the suite go on?", "May the suite begin?", "May the suite end?"
ANSWERED = {GO_ON, BEGIN, END, *tasks.ANSWERED}
LATE = tasks.LATE
ASKED_WITH_DEFAULTS, ASKED_FOR_CHOICES = "Is this right?", "Which do you like?"
DONE = "state-ok"

PERSON = {
    "type": "object",
    "properties": {"username": {"type": "string"}, "email": {"type": "string", "format": "email"}},
    "required": ["username", "email"],
}
DEFAULTS = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    },
}
PLAIN = [f"option{place}" for place in (1, 2, 3)]
LEGACY = [f"opt{place}" for place in (1, 2, 3)]
TITLED = [{"const": f"value{place}", "title": f"The {name} value"} for place, name in ((1, "first"), (2, "second"))]
ENUMS = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": PLAIN},
        "titledSingle": {"type": "string", "oneOf": TITLED},
        "legacyEnum": {"type": "string", "enum": LEGACY, "enumNames": [name.title() for name in LEGACY]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": PLAIN}},
        "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
    },
}


def add_flows(app: MCPServer, user: tuple[str, str]) -> None:
    elicit = Elicit()
    flows = McpFlows(elicit, user=user, clients={CLIENT: "url"})
    add_tasks(app, flows)

    @app.tool()
    @flows.confirm(GO_ON)
    async def test_input_required_result_request_state() -> str:
        """Asks for a yes."""
        return DONE

    @app.tool()
    @flows.confirm(BEGIN)
    @flows.confirm(END)
    async def test_input_required_result_multi_round() -> str:
        """Asks for one yes after the other."""
        return DONE

    @app.tool()
    @flows.confirm("Nobody answers this.")
    async def test_input_required_result_tampered_state() -> str:
        """Asks for a yes that is never given."""
        return DONE

    async def in_the_client(context: Context, schema: Json, message: str) -> str:
        """A form of the service, whose questions the client asks itself."""
        form = await elicit.create("form", user, {"schema": schema}, message=message)
        asked = mcp_2025_11_25.message(asdict(form), form=True)["params"]
        answer = await context.session.elicit_form(asked["message"], asked["requestedSchema"], context.request_id)
        reply = mcp_2025_11_25.reply(answer.model_dump(by_alias=True, exclude_none=True))
        done = await elicit.complete(form, forms.submitted(reply.content or {}))
        return f"{done.status}: {done.result['content']}"

    @app.tool()
    async def test_elicitation(context: Context, message: str) -> str:
        """Asks who the user is."""
        return await in_the_client(context, PERSON, message)

    @app.tool()
    async def test_elicitation_sep1034_defaults(context: Context) -> str:
        """Asks with defaults."""
        return await in_the_client(context, DEFAULTS, ASKED_WITH_DEFAULTS)

    @app.tool()
    async def test_elicitation_sep1330_enums(context: Context) -> str:
        """Asks for choices of all kinds."""
        return await in_the_client(context, ENUMS, ASKED_FOR_CHOICES)
