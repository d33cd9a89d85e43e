"""What the suite reads and calls that asks nobody anything: tools, resources, prompts and completions."""

import asyncio
import io
import json
import struct
import wave
import zlib
from typing import Annotated

from mcp.server.mcpserver import Audio, Context, Image, MCPServer, UserMessage
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import Completion, EmbeddedResource, TextResourceContents
from pydantic import Field

from elicit_flows.domain.values import Json


def one_pixel() -> bytes:
    """A PNG."""
    parts = {b"IHDR": struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0), b"IDAT": zlib.compress(b"\0\xff\0\0"), b"IEND": b""}
    chunks = [
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts.items()
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def one_sample() -> bytes:
    """A WAV."""
    written = io.BytesIO()
    with wave.open(written, "wb") as sound:
        sound.setparams((1, 1, 8000, 1, "NONE", ""))
        sound.writeframes(b"\x80")
    return written.getvalue()


PIXEL, SAMPLE = Image(data=one_pixel(), format="png"), Audio(data=one_sample(), format="wav")


# What revision 2026-07-28 allows in the schema of a tool's arguments, and a function's signature cannot say.
SCHEMA: Json = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def embedded(uri: str, text: str, mime_type: str = "text/plain") -> EmbeddedResource:
    return EmbeddedResource(type="resource", resource=TextResourceContents(uri=uri, text=text, mime_type=mime_type))


def add_contents(app: MCPServer) -> None:
    add_tools(app)
    add_telling_tools(app)
    add_resources(app)
    add_prompts(app)


def add_tools(app: MCPServer) -> None:
    @app.tool(structured_output=False)
    def test_simple_text() -> str:
        """Text."""
        return "A simple text."

    @app.tool(structured_output=False)
    def test_image_content() -> Image:
        """An image."""
        return PIXEL

    @app.tool(structured_output=False)
    def test_audio_content() -> Audio:
        """A sound."""
        return SAMPLE

    @app.tool(structured_output=False)
    def test_embedded_resource() -> EmbeddedResource:
        """A resource."""
        return embedded("test://embedded-resource", "An embedded resource.")

    @app.tool(structured_output=False)
    def test_multiple_content_types() -> list[str | Image | EmbeddedResource]:
        """Text, image and resource."""
        return ["Three of them.", PIXEL, embedded("test://mixed-content-resource", '{"value": 1}', "application/json")]

    @app.tool()
    def test_error_handling() -> str:
        """Always fails."""
        raise ToolError("This tool always fails.")

    @app.tool()
    def test_header_parameter(region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})]) -> str:
        """An argument that clients repeat as the header Mcp-Param-Region."""
        return region

    @app.tool()
    def json_schema_2020_12_tool(name: str = "", phone: str = "", email: str = "") -> str:
        """A tool whose schema was written by hand."""
        return name or phone or email

    # The library has no public way to give one.
    app._tool_manager._tools["json_schema_2020_12_tool"].parameters = SCHEMA


def add_telling_tools(app: MCPServer) -> None:
    @app.tool()
    async def test_tool_with_logging(context: Context) -> str:
        """Three lines of the log, 50 ms apart."""
        for step in ("started", "going on", "done"):
            await context.info(f"The tool is {step}")
            await asyncio.sleep(0.05)
        return "Logged."

    app.add_tool(test_tool_with_logging, name="test_logging_tool")

    @app.tool()
    async def test_tool_with_progress(context: Context) -> str:
        """From 0 to 100, 50 ms apart."""
        for done in (0, 50, 100):
            await context.report_progress(done, 100)
            await asyncio.sleep(0.05)
        return "Finished."

    @app.tool()
    async def test_trigger_tool_change(context: Context) -> str:
        """Says that the tools are others now."""
        await context.notify_tools_changed()
        return "Told."

    @app.tool()
    async def test_trigger_prompt_change(context: Context) -> str:
        """Says that the prompts are others now."""
        await context.notify_prompts_changed()
        return "Told."


def add_resources(app: MCPServer) -> None:
    @app.resource("test://static-text", mime_type="text/plain")
    def static_text() -> str:
        """Text."""
        return "A static text."

    @app.resource("test://static-binary", mime_type="image/png")
    def static_binary() -> bytes:
        """An image."""
        return one_pixel()

    @app.resource("test://watched-resource", mime_type="text/plain")
    def watched_resource() -> str:
        """Text that somebody may subscribe to."""
        return "A watched text."

    @app.resource("test://template/{id}/data", mime_type="application/json")
    def of_template(id: str) -> str:
        """What belongs to an id."""
        return json.dumps({"id": id})


def add_prompts(app: MCPServer) -> None:
    @app.prompt()
    def test_simple_prompt() -> str:
        """A prompt."""
        return "A simple prompt."

    @app.prompt()
    def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
        """A prompt with two arguments."""
        return f"Of {arg1} and {arg2}."

    @app.prompt()
    def test_prompt_with_embedded_resource(resourceUri: str) -> list[UserMessage]:  # noqa: N803  the suite calls it so
        """A prompt about a resource."""
        return [UserMessage(embedded(resourceUri, "An embedded resource.")), UserMessage("What does it say?")]

    @app.prompt()
    def test_prompt_with_image() -> list[UserMessage]:
        """A prompt about an image."""
        return [UserMessage(PIXEL), UserMessage("What does it show?")]

    @app.completion()
    async def complete(ref: object, argument: object, context: object) -> Completion:
        return Completion(values=["testing"], total=1, has_more=False)
