"""What the suite calls that answers with a task: guarded tools, whose user is the one who takes the time."""

from mcp.server.mcpserver import Context, MCPServer, require_client_extension
from mcp.server.mcpserver.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from mcp.types import InputRequiredResult

from elicit_flows.sdk import Question
from elicit_flows.sdk.mcp import McpFlows
from elicit_flows.wires.mcp_tasks import EXTENSION
from tests.sdk.mcp.conformance.asking import asking

COMPUTE, DELETE, FAIL, BREAK, GREET, ONE, OTHER = ANSWERED = (
    "May it compute?", "May it delete?", "May it fail?", "May it break?", "May it greet?", "May it do one thing?",
    "May it do the other?",
)  # fmt: skip
LATE = {DELETE, ONE, OTHER}
LONG = 60  # seconds


def computing(seconds: int, label: str = "") -> Question | None:
    """Nothing where it takes no time; what takes long nobody answers."""
    message = COMPUTE if seconds < LONG else f"{COMPUTE} It takes long."
    return Question("confirm", {}, message, {}) if seconds else None


def add_at_once(app: MCPServer, flows: McpFlows) -> None:
    @app.tool()
    @flows.confirm(ONE)
    @flows.confirm(OTHER)
    async def multi_input() -> str:
        """Asks for two things at once."""
        return "did both"


def add_tasks(app: MCPServer, flows: McpFlows) -> None:
    @app.tool()
    def greet(name: str) -> str:
        """Greets."""
        return f"Hello, {name}!"

    @app.tool()
    @flows.ask(computing)
    async def slow_compute(seconds: int, label: str = "") -> str:
        """Computes once the user lets it."""
        return f"computed {label}"

    @app.tool()
    @flows.confirm(DELETE)
    async def confirm_delete(filename: str) -> str:
        """Deletes once the user says yes."""
        return f"deleted {filename}"

    @flows.confirm(FAIL)
    async def fail(context: Context) -> str:
        raise ToolError("It fails.")

    @app.tool()
    async def failing_job(context: Context) -> str:
        """Fails, and that for clients that take tasks alone."""
        require_client_extension(context.request_context, EXTENSION)
        return await fail(context=context)

    @app.tool()
    @flows.confirm(BREAK)
    async def protocol_error_job() -> str:
        """Breaks."""
        raise MCPError(-32603, "It breaks.")

    @flows.confirm(GREET)
    async def greeted(name: str, context: Context) -> str:
        return f"Hello, {name}!"

    add_at_once(app, flows.having(together=True))

    @app.tool(structured_output=False)
    async def test_tool_with_task(context: Context) -> str | InputRequiredResult:
        """Asks the client for a name, by rounds, and then its user for a yes."""
        answer = (context.input_responses or {}).get("user_name")
        if not answer:
            return asking("user_name", "What is your name?", "name")
        return await greeted(name=answer.content["name"], context=context)
