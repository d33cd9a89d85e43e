"""``my_app`` of docs/how-to/frameworks/claude-agent-sdk.md: the program of the SDK, with a model of ours behind it.

The model is a server of Anthropic's Messages API in this process. It calls the tools in one turn, those again that
it is told to, and then repeats the answers.
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


Block = tuple[dict[str, Any], dict[str, Any]]  # how it begins, and what is added to it


def reply(messages: list[dict[str, Any]]) -> tuple[str, list[Block]]:
    """Why it stops, and what it says."""
    parts = [part for one in messages if isinstance(one["content"], list) for part in one["content"]]
    results = [one for one in parts if one["type"] == "tool_result"]
    calls = {f"toolu_{call}": (name, given) for call, name, given in TOLD["calls"]}
    calls |= {f"{call}_again": said for call, said in calls.items()}
    told = {one["tool_use_id"]: json.dumps(one["content"]) for one in results}
    again = [f"{call}_again" for call, text in told.items() if "Call this tool again" in text]
    wanted = [call for call in again if call not in told] if told else [f"toolu_{call}" for call, _, _ in TOLD["calls"]]
    if not wanted:
        return "end_turn", [({"type": "text", "text": ""}, {"type": "text_delta", "text": " | ".join(told.values())})]
    said = []
    for call in wanted:
        name, given = calls[call]
        block = {"type": "tool_use", "id": call, "name": f"mcp__files__{name}", "input": {}}
        said.append((block, {"type": "input_json_delta", "partial_json": json.dumps(given)}))
    return "tool_use", said


class Api(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_error(404)

    do_HEAD = do_GET

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if not body.get("stream"):
            self.send_error(404)
            return
        stop, blocks = reply(body["messages"])
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {
            "id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "content": [],
            "stop_reason": None, "stop_sequence": None, "usage": usage,
        }  # fmt: skip
        events: list[dict[str, Any]] = [{"type": "message_start", "message": message}]
        for index, (block, delta) in enumerate(blocks):
            events += [
                {"type": "content_block_start", "index": index, "content_block": block},
                {"type": "content_block_delta", "index": index, "delta": delta},
                {"type": "content_block_stop", "index": index},
            ]
        events += [
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
