"""``my_app`` of docs/how-to/frameworks/pydantic-ai.md: a model that calls the tool as often as it is told to."""

import json
import os

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

TOLD = json.loads(os.environ["TOLD"])
run, user = TOLD["run"], tuple(TOLD["user"])


def send_to_user(url: str) -> None:
    print(url)


def scripted(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    answers = [str(part.content) for one in messages for part in one.parts if isinstance(part, ToolReturnPart)]
    calls = [ToolCallPart(name, given, call) for call, name, given in TOLD["calls"]]
    return ModelResponse(parts=[TextPart(" | ".join(answers))] if answers else [*calls])


model = FunctionModel(scripted)
