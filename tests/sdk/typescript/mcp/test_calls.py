"""Calls at odd times and with odd settings: what the client is asked, and for how long it is waited for."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sdk.typescript.source import printed

pytestmark = pytest.mark.limit(120)

# A server of the 1.x library as guards see it. The question is never answered, and the client never says anything.
SERVER = """
const { Elicit } = await import("SRC/client.ts");
const { McpFlows } = await import("SRC/mcp/index.ts");
const asked = {
  id: "el_1", kind: "confirm", status: "pending", url: "https://flows.example/c/el_1", message: "m", seq: 1,
  subject: { iss: "i", sub: "s" }, created_at: "2026-11-21T10:00:00Z", expires_at: "2099-11-21T10:00:00Z",
};
const over = { ...asked, status: "completed", action: "accept", seq: 2, result: { confirmed: true } };
const said = { asks: 0, progress: 0, waits: 0 };
let created = () => undefined;
let ended = null;
const answer = async (address, { method, signal }) => {
  if (String(address).endsWith("/consume")) return Response.json({ ...over, consumed_at: "2026-11-21T10:01:00Z" });
  if (method === "POST") {
    created();
    return Response.json(asked);
  }
  said.waits += 1;
  signal.throwIfAborted();
  if (ended) return Response.json(ended);
  return await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
};
const tools = {};
const server = {
  registerTool: (name, _, callback) => (tools[name] = callback),
  server: {
    _serverInfo: { name: "calls" },
    getClientCapabilities: () => ({ elicitation: { url: {} } }),
    getClientVersion: () => ({ name: "c" }),
    notification: async () => undefined,
  },
};
const flows = new McpFlows(server, { elicit: new Elicit({ apiKey: "k", fetch: answer }), user: ["i", "s"], GIVEN });
flows.registerTool("wipe", {}, flows.confirm("Wipe?")(() => ({ content: [{ type: "text", text: "done:" }] })));
const called = async (signal) => {
  const context = {
    signal, _meta: { progressToken: 1 },
    sendNotification: async () => void (said.progress += 1),
    sendRequest: () => {
      said.asks += 1;
      return new Promise(() => undefined);
    },
  };
  const tool = tools.wipe(context);
  const late = new Promise((resolve) => setTimeout(() => resolve(null), 2000));
  return (await Promise.race([tool, late]))?.content[0].text.split(":")[0] ?? "waits";
};
"""


def test_a_call_that_was_taken_back_before_its_question_was_there_asks_nobody() -> None:
    program = """
    const taking = new AbortController();
    created = () => taking.abort();
    console.log(JSON.stringify([await called(taking.signal), said.asks]));
    process.exit();
    """
    assert printed(SERVER.replace("GIVEN", "hold: 45") + program) == ["waiting", 0]


@pytest.mark.parametrize("given", ["hold: Infinity", "hold: 1e7", "hold: 45, progressEvery: Infinity"])
def test_a_time_that_no_timer_can_have_is_a_long_one(given: str) -> None:
    program = """
    console.log(JSON.stringify([await called(new AbortController().signal), said.progress]));
    process.exit();
    """
    assert printed(SERVER.replace("GIVEN", given) + program) == ["waits", 0]


def test_a_server_that_is_connected_again_follows_its_questions() -> None:
    program = """
    const first = await called(new AbortController().signal);
    server.server.onclose();
    ended = over;
    console.log(JSON.stringify([first, await called(new AbortController().signal)]));
    process.exit();
    """
    said: Any = printed(SERVER.replace("GIVEN", "hold: 0.2") + program)
    assert said == ["waiting", "done"]
