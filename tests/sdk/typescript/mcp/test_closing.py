"""What a server does of itself while nobody calls, against a service that never answers who waits."""

from __future__ import annotations

import subprocess

import pytest

from tests.sdk.typescript.conftest import TypeScript

pytestmark = [pytest.mark.slow, pytest.mark.limit(120)]

PROGRAM = """
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { Elicit } from "elicit-flows";
import { McpFlows } from "elicit-flows/mcp";

const asked = {
  id: "el_1", kind: "confirm", status: "pending", url: "https://flows.example/c/el_1", message: "m", seq: 1,
  subject: { iss: "i", sub: "s" }, created_at: "2026-11-21T10:00:00Z", expires_at: "2099-11-21T10:00:00Z",
};
const waits = [];
const answer = (_, { method, signal }) => {
  if (method === "POST") return Promise.resolve(Response.json(asked));
  waits.push(signal);
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
};
const server = new McpServer({ name: "closing", version: "1" });
let closed = 0;
server.server.onclose = () => (closed += 1);
const elicit = new Elicit({ apiKey: "k", fetch: answer });
const flows = new McpFlows(server, { elicit, user: ["i", "s"], hold: 0.2 });
flows.registerTool("wipe", {}, flows.confirm("Wipe?")(() => ({ content: [{ type: "text", text: "done" }] })));

const client = new Client({ name: "c", version: "1" }, { capabilities: { elicitation: { url: {} } } });
client.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept" }));
const [one, other] = InMemoryTransport.createLinkedPair();
await Promise.all([server.connect(one), client.connect(other)]);
for (let call = 0; call < 2; call += 1) {
  const [{ text }] = (await client.callTool({ name: "wipe" })).content;
  console.log(text.slice(0, 8));
}
console.log(waits.length, waits[0].aborted, closed);
await client.close();
console.log(waits.length, waits[0].aborted, closed);
"""


def test_a_server_waits_once_for_a_question_and_stops_when_its_client_has_gone(typescript: TypeScript) -> None:
    """Otherwise a server on stdio would live on until the question expires."""
    command = [str(typescript.node), "--input-type=module", "-e", PROGRAM]
    ran = subprocess.run(command, cwd=typescript.home, capture_output=True, text=True, check=False, timeout=60)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines() == ["waiting:", "waiting:", "1 false 0", "1 true 1"]
    assert ran.stderr == ""
