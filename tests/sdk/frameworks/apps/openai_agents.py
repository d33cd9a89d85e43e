"""``my_app`` of docs/how-to/frameworks/openai-agents.md: a model that calls the tool as often as it is told to."""

import json
import os
from collections.abc import AsyncIterator
from typing import Any

from agents import Model, ModelResponse, Usage
from openai.types.responses import (
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseStreamEvent,
)

TOLD = json.loads(os.environ["TOLD"])
run, user = TOLD["run"], TOLD["user"]


def send_to_user(url: str) -> None:
    print(url)


class Scripted(Model):
    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **options: Any) -> ModelResponse:
        answers = [one["output"] for one in input if one.get("type") == "function_call_output"]
        calls = [
            ResponseFunctionToolCall(arguments=json.dumps(given), call_id=call, name=name, type="function_call")
            for call, name, given in TOLD["calls"]
        ]
        text = ResponseOutputText(annotations=[], text=" | ".join(answers), type="output_text")
        said = ResponseOutputMessage(id="msg_1", content=[text], role="assistant", status="completed", type="message")
        return ModelResponse(output=[said] if answers else [*calls], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **options: Any) -> AsyncIterator[ResponseStreamEvent]:
        raise NotImplementedError


model = Scripted()
