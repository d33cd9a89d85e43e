"""``my_app`` of docs/how-to/frameworks/smolagents.md: a model that calls the tool until it knows what came of it."""

import json
import os
from pathlib import Path
from typing import Any

from smolagents import ChatMessage, MessageRole, Model
from smolagents.models import ChatMessageToolCall, ChatMessageToolCallFunction

TOLD = json.loads(os.environ["TOLD"])
run, user = TOLD["run"], tuple(TOLD["user"])


def send_to_user(url: str) -> None:
    print(url)


class Scripted(Model):
    def generate(self, messages: list[ChatMessage], *args: Any, **options: Any) -> ChatMessage:
        answers = [str(one.content) for one in messages if one.role == MessageRole.TOOL_RESPONSE]
        told = json.loads(Path("told.json").read_text())  # the model is to call the tools of this run again
        calls = [("call_end", "final_answer", {"answer": answers[-1]})] if answers else told["calls"]
        made = [
            ChatMessageToolCall(
                id=call, type="function", function=ChatMessageToolCallFunction(name=name, arguments=given)
            )
            for call, name, given in calls
        ]
        return ChatMessage(role=MessageRole.ASSISTANT, content="", tool_calls=made)


model = Scripted()
