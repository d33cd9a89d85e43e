"""``my_app`` of docs/how-to/frameworks/langgraph.md: a chat model that calls the tool as often as it is told to."""

import json
import os
from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult

TOLD = json.loads(os.environ["TOLD"])
run, user = TOLD["run"], TOLD["user"]


def send_to_user(url: str) -> None:
    print(url)


class Model(BaseChatModel):
    def _generate(self, messages: list[BaseMessage], *args: Any, **options: Any) -> ChatResult:
        answers = [one.content for one in messages if isinstance(one, ToolMessage)]
        calls = [] if answers else [{"name": name, "args": args, "id": call} for call, name, args in TOLD["calls"]]
        said = AIMessage(" | ".join(map(str, answers)), tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=said)])

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> "Model":
        return self

    @property
    def _llm_type(self) -> str:
        return "scripted"


model = Model()
