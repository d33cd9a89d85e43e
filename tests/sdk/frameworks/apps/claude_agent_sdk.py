"""``my_app`` of docs/how-to/frameworks/claude-agent-sdk.md: the program of the SDK, with a model of ours behind it.

The model is a server of Anthropic's Messages API in this process, which calls the tool once and repeats its answer.
"""

import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOLD = json.loads(os.environ["TOLD"])
user = tuple(TOLD["user"])


def send_to_user(url: str) -> None:
    print(url)


def reply(messages: list[dict[str, Any]]) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """Why it stops, the block that it begins with, and what is added to it."""
    parts = [part for one in messages if isinstance(one["content"], list) for part in one["content"]]
    results = [one for one in parts if one["type"] == "tool_result"]
    if results:
        text = {"type": "text_delta", "text": json.dumps(results[-1]["content"])}
        return "end_turn", {"type": "text", "text": ""}, text
    [[call, name, given]] = TOLD["calls"]
    block = {"type": "tool_use", "id": f"toolu_{call}", "name": f"mcp__files__{name}", "input": {}}
    return "tool_use", block, {"type": "input_json_delta", "partial_json": json.dumps(given)}


class Api(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_error(404)

    do_HEAD = do_GET

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if not body.get("stream"):
            self.send_error(404)
            return
        stop, block, delta = reply(body["messages"])
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {
            "id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "content": [],
            "stop_reason": None, "stop_sequence": None, "usage": usage,
        }  # fmt: skip
        events: list[dict[str, Any]] = [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage},
            {"type": "message_stop"},
        ]
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for one in events:
            self.wfile.write(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode())

    def log_message(self, *args: object) -> None:
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Api)
threading.Thread(target=server.serve_forever, daemon=True).start()
settings: dict[str, Any] = {
    "env": {
        "ANTHROPIC_API_KEY": "key-of-the-tests",
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.server_port}",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    },
    "setting_sources": [],
}
