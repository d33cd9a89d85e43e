// An ACP client, on the protocol's own library. Its user is whoever writes to its standard input.
//
//   node acp_client.mjs ws://127.0.0.1:PORT/acp
//   node acp_client.mjs PROGRAM ARGUMENT…        (the agent, on stdio)
//
// In:  {"request": METHOD, "params": {}, "as": NAME}    a request to the agent; its end comes back under NAME
//      {"notify": METHOD, "params": {}}
//      {"answer": ID, "result": {}} or {"answer": ID, "error": {"code": -1, "message": "…"}}    to elicitation/create
//      {"pid": true}                                    the agent's, on stdio
// Out: every message of the wire as {"sent": …} or {"received": …}, {"end": NAME, "result" or "error": …} for
//      requests, {"asked": ID, "params": …} for elicitation/create as the library read it, {"pid": …}, {"closed": true}

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";
import { createWebSocketStream } from "@agentclientprotocol/sdk/experimental/ws-client";

const [target, ...rest] = process.argv.slice(2);
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
let child = null;

function overStdio() {
  child = spawn(target, rest, { stdio: ["pipe", "pipe", "inherit"] });
  return acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
}

function overheard(stream) {
  const tap = (name) => new TransformStream({
    transform(message, controller) {
      say({ [name]: message });
      controller.enqueue(message);
    },
  });
  const sent = tap("sent");
  sent.readable.pipeTo(stream.writable).catch(() => {});
  return { writable: sent.writable, readable: stream.readable.pipeThrough(tap("received")) };
}

const unanswered = new Map();
let asked = 0;

function ask({ params }) {
  const id = ++asked;
  say({ asked: id, params });
  return new Promise((resolve, reject) => unanswered.set(id, { resolve, reject }));
}

function answer({ answer: id, result, error }) {
  const { resolve, reject } = unanswered.get(id);
  if (error) reject(new acp.RequestError(error.code, error.message));
  else resolve(result);
}

const app = acp.client({ name: "the tests" })
  .onRequest(acp.methods.client.elicitation.create, ask)
  .onNotification(acp.methods.client.elicitation.complete, () => {})
  .onNotification(acp.methods.client.session.update, () => {});

const stream = target.startsWith("ws:") ? createWebSocketStream(target) : overStdio();
const connection = app.connect(overheard(stream));
connection.closed.then(() => say({ closed: true }));

for await (const line of createInterface({ input: process.stdin })) {
  const said = JSON.parse(line);
  if (said.pid) say({ pid: child.pid });
  else if (said.answer) answer(said);
  else if (said.notify) connection.agent.notify(said.notify, said.params);
  else {
    connection.agent.request(said.request, said.params).then(
      (result) => say({ end: said.as, result }),
      (error) => say({ end: said.as, error: { code: error.code, message: String(error.message) } }),
    );
  }
}
child?.kill();
process.exit(0);
