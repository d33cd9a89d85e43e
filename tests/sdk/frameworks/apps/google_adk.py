"""``my_app`` of docs/how-to/frameworks/google-adk.md: a model that calls the tool as often as it is told to."""

import json
import os
from collections.abc import AsyncGenerator

from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.genai import types

TOLD = json.loads(os.environ["TOLD"])
run, user = TOLD["run"], tuple(TOLD["user"])


def send_to_user(url: str) -> None:
    print(url)


class Scripted(BaseLlm):
    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        parts = [part for content in llm_request.contents for part in content.parts or []]
        answers = [str(one.function_response.response) for one in parts if one.function_response]
        calls = [
            types.Part(function_call=types.FunctionCall(id=call, name=name, args=given))
            for call, name, given in TOLD["calls"]
        ]
        said = [types.Part(text=" | ".join(answers))] if answers else calls
        yield LlmResponse(content=types.Content(role="model", parts=said))


model = Scripted(model="scripted")
