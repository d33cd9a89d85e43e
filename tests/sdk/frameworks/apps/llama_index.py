"""``my_app`` of docs/how-to/frameworks/llama-index.md: a model that calls the tool as often as it is told to."""

import json
import os
from collections.abc import Sequence
from typing import Any

from llama_index.core.base.llms.types import ToolCallBlock
from llama_index.core.llms import ChatMessage, MessageRole
from llama_index.core.llms.mock import MockFunctionCallingLLM

TOLD = json.loads(os.environ["TOLD"])
run, user = TOLD["run"], tuple(TOLD["user"])


def send_to_user(url: str) -> None:
    print(url)


def scripted(messages: Sequence[ChatMessage], **options: Any) -> ChatMessage:
    answers = [str(one.content) for one in messages if one.role == MessageRole.TOOL]
    calls = [ToolCallBlock(tool_call_id=call, tool_name=name, tool_kwargs=given) for call, name, given in TOLD["calls"]]
    if answers:
        return ChatMessage(role=MessageRole.ASSISTANT, content=" | ".join(answers))
    return ChatMessage(role=MessageRole.ASSISTANT, blocks=calls)


model = MockFunctionCallingLLM(response_generator=scripted)
