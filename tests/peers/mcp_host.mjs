// What the MCP clients beside this file have in common: whom they ask, and what they print.
//
// Told, as JSON in the first argument: `urls` (requests take turns among several), `version` of the protocol, `tool`,
// `arguments`, `links` (whether it opens links), `action` (its answer to a link), `held` (it answers when a line comes on
// standard input), `timeout` of a request in ms, `progress` (it wants to hear of it, and each lets it wait on), `patient` (it
// calls again while the answer begins with "waiting:").
//
// Out, a line each: {"version": …} once connected, {"link": URL, "id": …}, {"refused": URL, "id": …} for each link of a
// -32042, {"complete": ID}, {"progress": NUMBER, "message": …}, and last {"text": …, "isError": …} or {"error": …, "code": …}.

import { createInterface } from "node:readline";

export const told = JSON.parse(process.argv[2]);
export const capabilities = told.links ? { elicitation: { url: {} } } : {};
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const hears = { resetTimeoutOnProgress: true, onprogress: ({ progress, message }) => say({ progress, message }) };
export const limits = { ...(told.timeout ? { timeout: told.timeout } : {}), ...(told.progress ? hears : {}) };

const input = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const finished = new Map();
const deed = (id) => {
  if (!finished.has(id)) finished.set(id, Promise.withResolvers());
  return finished.get(id);
};

let turn = 0;
export function takingTurns(url, init) {
  // The address of a transport has one server; a load balancer would send each request to another.
  const next = told.urls[turn++ % told.urls.length];
  return fetch(next, init);
}

export async function elicit({ params }) {
  say({ link: params.url, id: params.elicitationId });
  if (told.held) await input.next();
  return { action: told.action };
}

export function complete({ params }) {
  say({ complete: params.elicitationId });
  deed(params.elicitationId).resolve();
}

async function answer(call, Refusal) {
  for (;;) {
    try {
      const { content, isError } = await call();
      const [{ text }] = content;
      if (!told.patient || !text.startsWith("waiting:")) return { text, isError: Boolean(isError) };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      for (const { url, elicitationId } of error.elicitations) say({ refused: url, id: elicitationId });
      await Promise.all(error.elicitations.map(({ elicitationId }) => deed(elicitationId).promise));
    }
  }
}

export async function play({ version, call, Refusal }) {
  say({ version });
  try {
    say(await answer(call, Refusal));
  } catch (error) {
    say({ error: String(error.message), code: error.code });
  }
  process.exit(0);
}
