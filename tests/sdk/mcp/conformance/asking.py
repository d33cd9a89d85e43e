"""What the suite calls that asks the client something, by the library's own means."""

from typing import Annotated

from mcp.server.mcpserver import Context, Elicit, ListRoots, MCPServer, Resolve, Sample
from mcp.types import (
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    InputRequiredResult,
    ListRootsResult,
    SamplingMessage,
    TextContent,
)
from pydantic import BaseModel


class Name(BaseModel):
    name: str


def sample(text: str) -> Sample:
    return Sample([SamplingMessage(role="user", content=TextContent(type="text", text=text))], max_tokens=50)


def ask_model() -> Sample:
    return sample("What is the capital of France?")


def ask_prompt(prompt: str) -> Sample:
    return sample(prompt)


def ask_name() -> Elicit[Name]:
    return Elicit("What is your name?", Name)


def ask_roots() -> ListRoots:
    return ListRoots()


def ask_name_if_possible(context: Context) -> Elicit[Name] | Name:
    can = context.client_capabilities
    return ask_name() if can and can.elicitation else Name(name="nobody")


Sampled = Annotated[CreateMessageResult, Resolve(ask_model)]
Prompted = Annotated[CreateMessageResult, Resolve(ask_prompt)]
Named = Annotated[Name, Resolve(ask_name)]
NamedIfPossible = Annotated[Name, Resolve(ask_name_if_possible)]
Roots = Annotated[ListRootsResult, Resolve(ask_roots)]


def asking(key: str, message: str, name: str) -> InputRequiredResult:
    """A question under a key that the suite wants."""
    schema = {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}
    params = ElicitRequestFormParams(message=message, requested_schema=schema)
    return InputRequiredResult(input_requests={key: ElicitRequest(params=params)})


def add_asking(app: MCPServer) -> None:
    @app.tool()
    def test_sampling(prompt: str, answer: Prompted) -> str:
        """Has the client's model answer."""
        return f"The model says: {answer.content.text}"

    @app.tool()
    def test_missing_capability(answer: Sampled) -> str:
        """Needs a client with a model."""
        return f"The model says: {answer.content.text}"

    app.add_tool(test_missing_capability, name="test_input_required_result_sampling")

    @app.tool()
    def test_input_required_result_list_roots(roots: Roots) -> str:
        """Lists the client's roots."""
        return ", ".join(str(root.uri) for root in roots.roots)

    @app.tool()
    def test_input_required_result_multiple_inputs(name: Named, answer: Sampled, roots: Roots) -> str:
        """Asks for three things at once."""
        return f"{name.name}, {answer.content.text}, {len(roots.roots)} roots"

    @app.tool()
    def test_input_required_result_capabilities(name: NamedIfPossible, answer: Sampled) -> str:
        """Asks for no more than the client can do."""
        return f"{name.name}: {answer.content.text}"

    @app.tool()
    def test_streaming_elicitation(name: Named) -> str:
        """Asks for a name."""
        return f"Hello, {name.name}!"

    @app.tool(structured_output=False)
    def test_input_required_result_elicitation(context: Context) -> str | InputRequiredResult:
        """Asks for a name until it has one."""
        answer = (context.input_responses or {}).get("user_name")
        return f"Hello, {answer.content['name']}!" if answer else asking("user_name", "What is your name?", "name")

    @app.prompt()
    def test_input_required_result_prompt(context: Context) -> str | InputRequiredResult:
        """A prompt that asks what it is about."""
        answer = (context.input_responses or {}).get("user_context")
        return answer.content["context"] if answer else asking("user_context", "What is it about?", "context")
